//! Conversion of FAST messages to FIX.

use std::sync::Arc;
use tickwire_fast::{Decimal, MessageBuilder, Program, TemplateSet};
use tickwire_fix::dictionary::shipped;
use tickwire_fix::{DataFields, Dictionary, FixErrorKind, Reader, Tag, Writer};
use tickwire_text::{ConvertError, FixConverter};

fn builder(body: &str) -> MessageBuilder {
    let template = format!("<templates><template name='T' id='1'>{body}</template></templates>");
    let set = TemplateSet::parse(&template).unwrap_or_else(|error| panic!("{error}"));
    let mut builder = MessageBuilder::new(Arc::new(Program::compile(set).expect("compiles")));
    builder.begin(0).expect("a template");
    builder
}

/// Converts a built message and parses the result. Returns the fields between MsgType and CheckSum.
fn converted(mut builder: MessageBuilder) -> Result<String, ConvertError> {
    let converter = FixConverter::new(builder.program());
    let message = builder.finish().expect("whole");
    let mut out = [0; 1000];
    let bytes = converter.encode(message, "FIX.4.4", &mut out)?;
    let mut reader = Reader::new();
    assert_eq!(reader.decode(bytes).expect("whole").fault(), None);
    let text = String::from_utf8_lossy(bytes).replace('\u{1}', "|");
    let (head, rest) = text.split_once("|35=").expect("MsgType");
    assert!(head.starts_with("8=FIX.4.4|9="), "{text}");
    Ok(rest.rsplit_once("10=").expect("CheckSum").0.to_owned())
}

const MSG_TYPE: &str = "<string name='MessageType' id='35'><constant value='X'/></string>";

#[test]
fn groups_and_nested_sequences_are_repeating_groups() {
    let mut builder = builder(&format!(
        "<string name='BeginString' id='8'><constant value='FIXT.1.1'/></string>{MSG_TYPE}
         <uInt32 name='MsgSeqNum' id='34'/><uInt32 name='Unnamed'/>
         <group name='Instrument'><string name='Symbol' id='55'/></group>
         <sequence name='MDEntries'><length name='NoMDEntries' id='268'/>
           <uInt32 name='MDUpdateAction' id='279'/><decimal name='MDEntryPx' id='270' presence='optional'/>
           <sequence name='Parties' id='453' presence='optional'><string name='PartyID' id='448'/></sequence>
         </sequence>
         <sequence name='None' id='146'><string name='x' id='311'/></sequence>
         <string name='Text' id='58' presence='optional'/>"
    ));
    let names: Vec<_> =
        FixConverter::new(builder.program()).untagged().map(str::to_owned).collect();
    assert_eq!(names, ["Unnamed"]);
    builder.set_u64("MsgSeqNum", 7).expect("set");
    builder.set_u64("Unnamed", 1).expect("set");
    builder.begin_group("Instrument").expect("begun");
    builder.set_str("Symbol", "XYZ").expect("set");
    builder.end().expect("ended");
    builder.begin_sequence("MDEntries", 2).expect("begun");
    for (action, price, parties) in [(0, Some((29_850, -2)), 2), (1, None, 0)] {
        builder.begin_entry().expect("begun");
        builder.set_u64("MDUpdateAction", action).expect("set");
        if let Some((mantissa, exponent)) = price {
            builder.set_decimal("MDEntryPx", Decimal { mantissa, exponent }).expect("set");
        }
        if parties > 0 {
            builder.begin_sequence("Parties", parties).expect("begun");
            for id in ["a", "b"] {
                builder.begin_entry().expect("begun");
                builder.set_str("PartyID", id).expect("set");
                builder.end().expect("ended");
            }
            builder.end().expect("ended");
        }
        builder.end().expect("ended");
    }
    builder.end().expect("ended");
    builder.begin_sequence("None", 0).expect("begun");
    builder.end().expect("ended");
    let text = converted(builder).expect("converted");
    let entries = "268=2|279=0|270=298.50|453=2|448=a|448=b|279=1|";
    assert_eq!(text, format!("X|34=7|55=XYZ|{entries}146=0|"));
}

#[test]
fn a_fix_reader_finds_the_entries_again() {
    let mut builder = builder(&format!(
        "{MSG_TYPE}<sequence name='MDEntries'><length name='NoMDEntries' id='268'/>
           <uInt32 name='MDUpdateAction' id='279'/><decimal name='MDEntryPx' id='270'/></sequence>"
    ));
    builder.begin_sequence("MDEntries", 3).expect("begun");
    for mantissa in 1..=3 {
        builder.begin_entry().expect("begun");
        builder.set_u64("MDUpdateAction", 0).expect("set");
        builder.set_decimal("MDEntryPx", Decimal { mantissa, exponent: 1 }).expect("set");
        builder.end().expect("ended");
    }
    builder.end().expect("ended");
    let converter = FixConverter::new(builder.program());
    let mut out = [0; 300];
    let bytes = converter.encode(builder.finish().expect("whole"), "FIX.4.4", &mut out);
    let mut reader = Reader::new();
    let message = reader.decode(bytes.expect("converted")).expect("whole");
    let dictionary = Dictionary::parse_quickfix(&shipped::FIX44).expect("loads");
    let entries = dictionary.entries(&message, Tag(268)).expect("there");
    let prices: Vec<_> = entries
        .map(|entry| entry.field(Tag(270)).expect("there").decimal().expect("a number").to_string())
        .collect();
    assert_eq!(prices, ["10", "20", "30"]);
}

#[test]
fn values_are_written_as_fix_has_them() {
    let mut builder = builder(&format!(
        "{MSG_TYPE}<boolean name='flag' id='141'/>
         <enum name='side' id='54'><element name='Buy' id='1'/><element name='Sell' id='2'/></enum>
         <enum name='plain' id='5001'><element name='A'/><element name='B'/></enum>
         <set name='flags' id='18'><element name='a' id='1'/><element name='b' id='G'/></set>
         <set name='none' id='19'><element name='a' id='1'/></set>
         <int32 name='number' id='5002'/><string name='empty' id='5003'/>
         <string charset='unicode' name='text' id='58'/>
         <timestamp unit='millisecond' name='time' id='60'/>
         <timestamp unit='day' name='day' id='64'/>
         <timestamp unit='second' epoch='today' name='clock' id='5004'/>
         <decimal name='price' id='44'/>"
    ));
    builder.set_u64("flag", 1).expect("set");
    builder.set_u64("side", 1).expect("set");
    builder.set_u64("plain", 1).expect("set");
    builder.set_u64("flags", 3).expect("set");
    builder.set_u64("none", 0).expect("set");
    builder.set_i64("number", -5).expect("set");
    builder.set_str("empty", "").expect("set");
    builder.set_str("text", "\u{e4}").expect("set");
    builder.set_i64("time", 1_767_612_043_125).expect("set");
    builder.set_i64("day", 20_458).expect("set");
    builder.set_i64("clock", 45_296).expect("set");
    builder.set_decimal("price", Decimal { mantissa: i64::MIN, exponent: -20 }).expect("set");
    let times = "60=20260105-11:20:43.125|64=20260105|5004=12:34:56|";
    let price = "44=-0.09223372036854775808|";
    let texts = "141=Y|54=2|5001=B|18=1 G|5002=-5|58=\u{e4}|";
    assert_eq!(converted(builder), Ok(format!("X|{texts}{times}{price}")));
}

#[test]
fn byte_vectors_have_their_lengths_before_them() {
    let mut one = builder(&format!(
        "{MSG_TYPE}<byteVector name='RawData' id='96'/>
         <string charset='unicode' name='EncodedText' id='355'/>"
    ));
    one.set_bytes("RawData", b"a\x01b").expect("set");
    one.set_str("EncodedText", "x").expect("set");
    assert_eq!(converted(one), Ok("X|95=3|96=a|b|354=1|355=x|".to_owned()));
    // A length that is a separate field is not written twice; an empty vector is omitted with its
    // length.
    for (data, wanted) in [("abc", "X|95=3|96=abc|"), ("", "X|")] {
        let mut own = builder(&format!(
            "{MSG_TYPE}<uInt32 name='RawDataLength' id='95'/><byteVector name='RawData' id='96'/>"
        ));
        own.set_u64("RawDataLength", data.len() as u64).expect("set");
        own.set_bytes("RawData", data.as_bytes()).expect("set");
        assert_eq!(converted(own), Ok(wanted.to_owned()));
    }
    // Pairs of length and data with other tags must be added to the data fields.
    let mut other = builder(&format!("{MSG_TYPE}<byteVector name='Blob' id='5001'/>"));
    other.set_bytes("Blob", b"x").expect("set");
    let mut data_fields = DataFields::none();
    data_fields.add(5000, 5001);
    let plain = FixConverter::new(other.program());
    let told = plain.clone().data_fields(&data_fields);
    let message = other.finish().expect("whole");
    let mut out = [0; 300];
    let error = plain.encode(message, "FIX.4.4", &mut out).expect_err("no length");
    assert_eq!(error, ConvertError::LengthTag { name: "Blob".to_owned(), tag: 5001 });
    let bytes = told.encode(message, "FIX.4.4", &mut out).expect("told");
    assert!(String::from_utf8_lossy(bytes).contains("\u{1}5000=1\u{1}5001=x\u{1}"));
}

#[test]
fn what_fix_cannot_say_is_an_error() {
    assert_eq!(
        converted(builder("<string name='a' id='58'><constant value='x'/></string>")),
        Err(ConvertError::MsgType)
    );
    let mut text = builder(&format!("{MSG_TYPE}<string name='a' id='58'/>"));
    text.set_str("a", "x\u{1}49=EVIL").expect("set");
    let error = converted(text).expect_err("a delimiter");
    assert!(
        matches!(error, ConvertError::Fix(error) if error.kind == FixErrorKind::FieldDelimiter)
    );
    for (value, unit) in [(-1, "second"), (i64::MAX, "day")] {
        let kind = format!("<timestamp unit='{unit}' name='t' id='60'/>");
        let mut time = builder(&format!("{MSG_TYPE}{kind}"));
        time.set_i64("t", value).expect("set");
        assert_eq!(converted(time), Err(ConvertError::Value { name: "t".to_owned() }));
    }
    // The second entry begins with another field, so a reader would find only one entry.
    let mut entries = builder(&format!(
        "{MSG_TYPE}<sequence name='s' id='268'><uInt32 name='a' id='279' presence='optional'/>
         <uInt32 name='b' id='270'/></sequence>"
    ));
    entries.begin_sequence("s", 2).expect("begun");
    for has_first in [true, false] {
        entries.begin_entry().expect("begun");
        if has_first {
            entries.set_u64("a", 1).expect("set");
        }
        entries.set_u64("b", 1).expect("set");
        entries.end().expect("ended");
    }
    entries.end().expect("ended");
    assert_eq!(converted(entries), Err(ConvertError::EntryStart { name: "s".to_owned() }));
}

#[test]
fn a_session_takes_the_fields_that_it_does_not_write_itself() {
    let mut builder = builder(&format!(
        "{MSG_TYPE}<uInt32 name='MsgSeqNum' id='34'/><string name='Symbol' id='55'/>"
    ));
    builder.set_u64("MsgSeqNum", 7).expect("set");
    builder.set_str("Symbol", "XYZ").expect("set");
    let converter = FixConverter::new(builder.program());
    let message = builder.finish().expect("whole");
    assert_eq!(converter.msg_type(message), Some("X"));
    let mut out = [0; 300];
    let mut writer = Writer::new(&mut out, "FIX.4.4", "X");
    writer.uint(Tag(34), 1);
    converter.write_fields(message, &mut writer, |tag| tag != 34).expect("written");
    let text = String::from_utf8_lossy(writer.finish().expect("room")).replace('\u{1}', "|");
    assert!(text.contains("|35=X|34=1|55=XYZ|10="), "{text}");
}

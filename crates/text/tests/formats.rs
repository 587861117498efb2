//! One message in every format, with a full header and without a header.

use std::sync::Arc;
use tickwire_fast::{Decoder, Message, Program, TemplateSet};
use tickwire_text::{Csv, CsvColumn, FieldSeparator, Fix, Header, JsonLines, MessageWriter, Plain};

const XML: &str = r#"<templates><template name="T" id="1">
    <uInt32 name="a" id="11"/>
    <string name="b" id="12" presence="optional"/>
    <sequence name="s"><length name="n" id="13"/>
      <decimal name="p" id="14"/>
      <sequence name="i"><length name="m" id="15"/><uInt32 name="q"/></sequence>
    </sequence>
  </template></templates>"#;

/// a = 5, b absent, two entries: p = 1.50 with the inner entries q = 1 and q = 2, and p = 13e1
/// without inner entries.
const BYTES: [u8; 15] =
    [0xc0, 0x81, 0x85, 0x80, 0x82, 0xfe, 0x01, 0x96, 0x82, 0x81, 0x82, 0x81, 0x8d, 0x80, 0x80];

fn program() -> Arc<Program> {
    Arc::new(Program::compile(TemplateSet::parse(XML).unwrap()).unwrap())
}

fn header() -> Header<'static> {
    Header {
        packet: Some(3),
        preamble: Some(&[1, 0xab]),
        offset: Some(2),
        len: Some(14),
        time_ns: Some(1_375_336_800_000_000_001),
        seq_num: Some(9),
        source: Some("10.0.0.1:9000".parse().unwrap()),
        destination: Some("[ff02::1]:8000".parse().unwrap()),
        line: Some("A"),
        channel: None,
    }
}

/// Returns the message in a format, with this header.
fn written<'o, W: MessageWriter>(
    header: &Header<'_>,
    out: &'o mut Vec<u8>,
    writer: impl FnOnce(&'o mut Vec<u8>, &Program) -> W,
) {
    let mut decoder = Decoder::new(program());
    let decoded = decoder.decode(&BYTES).unwrap();
    assert_eq!(decoded.len, BYTES.len() - 1);
    let message: &Message = decoded.message;
    writer(out, &program()).write_message(header, message).unwrap();
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn json_lines() {
    let mut out = Vec::new();
    written(&header(), &mut out, |out, _| JsonLines::new(out));
    assert_eq!(
        text(out),
        "{\"pkt\": 3, \"pre\": \"01ab\", \"off\": 2, \"len\": 14, \"time\": 1375336800000000001, \
         \"source\": \"10.0.0.1:9000\", \"destination\": \"[ff02::1]:8000\", \"line\": \"A\", \
         \"t\": 1, \"n\": \"T\", \"msg\": {\"a\": 5, \"b\": null, \"s\": [\
         {\"p\": {\"m\": 150, \"e\": -2}, \"i\": [{\"q\": 1}, {\"q\": 2}]}, \
         {\"p\": {\"m\": 13, \"e\": 1}, \"i\": []}]}}\n"
    );
    let mut out = Vec::new();
    written(&Header::default(), &mut out, |out, _| JsonLines::new(out));
    assert!(text(out).starts_with("{\"t\": 1, \"n\": \"T\", \"msg\": {"));
}

#[test]
fn csv() {
    let mut out = Vec::new();
    written(&header(), &mut out, |out, program| {
        Csv::new(out, program, &[0], CsvColumn::CAPTURE).unwrap()
    });
    let time = "1375336800000000001,10.0.0.1:9000,[ff02::1]:8000";
    assert_eq!(
        text(out),
        format!(
            "pkt,off,t,n,time,source,destination,entry,a,b,s/p,s/i/q\n\
             3,2,1,T,{time},0.0,5,,1.50,1\n\
             3,2,1,T,{time},0.1,5,,1.50,2\n\
             3,2,1,T,{time},1,5,,13e1,\n"
        )
    );
    let mut out = Vec::new();
    let columns = [CsvColumn::Time, CsvColumn::Line, CsvColumn::TemplateName];
    written(&Header::default(), &mut out, |out, program| {
        Csv::new(out, program, &[0], &columns).unwrap()
    });
    assert!(text(out).starts_with("time,line,n,a,b,s/p,s/i/q\n,,T,5,,1.50,1\n"));
}

#[test]
fn fix() {
    let mut out = Vec::new();
    written(&header(), &mut out, |out, program| {
        let left_out = |field: &str| assert_eq!(field, "q");
        Fix::new(out, program, FieldSeparator::Bar).on_untagged(left_out)
    });
    assert_eq!(
        text(out),
        "time=2013-08-01T06:00:00.000000001Z|source=10.0.0.1:9000|destination=[ff02::1]:8000|\
         line=A|11=5|13=2|14=1.50|15=2|14=130|15=0|\n"
    );
    let mut out = Vec::new();
    written(&Header::default(), &mut out, |out, program| {
        Fix::new(out, program, FieldSeparator::Soh)
    });
    assert_eq!(text(out), "11=5\u{1}13=2\u{1}14=1.50\u{1}15=2\u{1}14=130\u{1}15=0\u{1}\n");
    let mut out = Vec::new();
    written(&Header::default(), &mut out, |out, program| {
        Fix::new(out, program, FieldSeparator::Bar).entry_index()
    });
    assert_eq!(
        text(out),
        "11=5|13=2|entry=0|14=1.50|15=2|entry=0.0|entry=0.1|entry=1|14=130|15=0|\n"
    );
}

#[test]
fn plain_text() {
    let mut out = Vec::new();
    written(&header(), &mut out, |out, _| Plain::new(out));
    assert_eq!(
        text(out),
        "T (1): packet 3, offset 2, 14 bytes, 2013-08-01T06:00:00.000000001Z, line A, \
         10.0.0.1:9000 > [ff02::1]:8000
  a = 5
  s[0]: p = 1.50
    i[0]: q = 1
    i[1]: q = 2
  s[1]: p = 13e1
"
    );
    let mut out = Vec::new();
    written(&Header::default(), &mut out, |out, _| Plain::new(out));
    assert!(text(out).starts_with("T (1)\n  a = 5\n"));
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let mut decoder = Decoder::new(program());
    let bytes = [0xc0, 0x81, 0x85, 0x1b, b',', 0xc1, 0x80];
    let decoded = decoder.decode(&bytes).unwrap();
    let mut out = Vec::new();
    Plain::new(&mut out).write_message(&Header::default(), decoded.message).unwrap();
    assert_eq!(text(out), "T (1)\n  a = 5, b = \"\\u{1b},A\"\n");
}

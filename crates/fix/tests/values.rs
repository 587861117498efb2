//! Valid and invalid values of every field type.

use std::fmt::Write;
use tickwire_fix::{Checks, Dictionary, FixErrorKind, Reader, SessionRejectReason, Tag, Validator};

/// Type, valid values, invalid values.
const TYPES: [(&str, &[&str], &[&str]); 22] = [
    ("AMT", &["1", "-0.25", "0012.50"], &["1e3", "+1", "1.2.3", "."]),
    ("BOOLEAN", &["Y", "N"], &["y", "1", "YN"]),
    ("CHAR", &["A", "~", " "], &["AB"]),
    ("DAYOFMONTH", &["1", "07", "31"], &["0", "32", "-1", "x"]),
    ("FLOAT", &["3.", ".5"], &["NaN", "-"]),
    ("INT", &["-9", "007"], &["1.0", "--1", " 1"]),
    ("LENGTH", &["12"], &["x"]),
    ("LOCALMKTDATE", &["20240229"], &["20230229", "2024-02-29", "202402"]),
    ("MONTHYEAR", &["202402", "20240229", "202402w5"], &["202413", "202402w6", "20240230"]),
    ("MULTIPLECHARVALUE", &["1", "1 G q"], &["1 GG", "1  G", "1 ", " 1"]),
    ("MULTIPLESTRINGVALUE", &["1", "AV AN A"], &["AV  AN", "AV ", " AV"]),
    ("MULTIPLEVALUESTRING", &["AV 1"], &["AV  1"]),
    ("PERCENTAGE", &["0.05"], &["5%"]),
    ("PRICE", &["298.075"], &["298,075"]),
    ("QTY", &["57"], &["57 "]),
    ("SEQNUM", &["1"], &["one"]),
    ("TZTIMEONLY", &["06:41Z", "06:41:09.5+05:45", "06:41-04"], &["06:41z", "06:41+15", "06-41"]),
    (
        "TZTIMESTAMP",
        &["20240229-06:41Z", "20240229-06:41:09-03:30"],
        &["20230229-06:41Z", "06:41Z"],
    ),
    ("UTCDATEONLY", &["20240229"], &["20240230"]),
    ("UTCTIMEONLY", &["23:59:60", "06:41:09.123456789012"], &["06:41", "06:41:09Z", "24:00:00"]),
    (
        "UTCTIMESTAMP",
        &["20240229-06:41:09", "20240229-06:41:09.123456789012"],
        &["20240229-06:41", "20240229-06:41:09Z", "20240229"],
    ),
    ("STRING", &["anything", " "], &[]),
];
const FIRST: u32 = 6001;

fn dictionary() -> Dictionary {
    let (mut fields, mut members) = (String::new(), String::new());
    for ((name, ..), number) in TYPES.iter().zip(FIRST..) {
        write!(fields, "<field number='{number}' name='Of{name}' type='{name}'/>").expect("grows");
        write!(members, "<field name='Of{name}' required='N'/>").expect("grows");
    }
    let ends = [(8, "BeginString"), (9, "BodyLength"), (35, "MsgType"), (10, "CheckSum")];
    for (number, name) in ends {
        write!(fields, "<field number='{number}' name='{name}' type='STRING'/>").expect("grows");
    }
    let member = |name| format!("<field name='{name}' required='Y'/>");
    let header = ["BeginString", "BodyLength", "MsgType"].map(member).concat();
    let xml = format!(
        "<fix major='4' minor='4'><header>{header}</header><trailer>{}</trailer>\
         <messages><message name='Values' msgtype='v' msgcat='app'>{members}</message></messages>\
         <components/><fields>{fields}</fields></fix>",
        member("CheckSum"),
    );
    Dictionary::parse(&xml).expect("loads")
}

fn framed(body: &str) -> Vec<u8> {
    let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len()).into_bytes();
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

#[test]
fn values_are_judged_by_their_type() {
    let dictionary = dictionary();
    let (mut reader, checks) = (Reader::new(), Checks::default());
    let mut validator = Validator::new(checks);
    for ((name, good, bad), tag) in TYPES.iter().zip(FIRST..) {
        let mut judge = |value: &str| {
            let bytes = framed(&format!("35=v\u{1}{tag}={value}\u{1}"));
            let message = reader.decode(&bytes).expect("whole");
            validator.validate(&message, &dictionary)
        };
        for value in *good {
            assert_eq!(judge(value), Ok(()), "{name} {value}");
        }
        for value in *bad {
            let error = judge(value).expect_err(value);
            let found = (error.kind, error.tag, checks.reason(&error));
            let reason = Some(SessionRejectReason::IncorrectDataFormat);
            let expected = (FixErrorKind::ValueFormat, Some(Tag(tag)), reason);
            assert_eq!(found, expected, "{name} {value}");
        }
    }
}

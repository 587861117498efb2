//! The sent messages: each has a user-defined data field whose content is derived from its number.

use std::sync::{Arc, OnceLock};
use tickwire_fix::dictionary::shipped;
use tickwire_fix::{Dictionary, FixMessage, Tag, Writer};
use tickwire_fix_session::Dictionaries;

const LENGTH: Tag = Tag(5001);
const DATA: Tag = Tag(5002);

/// Returns FIX 4.4 with an additional message that has a number, data and text.
pub fn dictionaries() -> Dictionaries {
    static LOADED: OnceLock<Dictionaries> = OnceLock::new();
    let load = || {
        let fields = "<field number='5001' name='OwnLength' type='LENGTH'/>\
                      <field number='5002' name='OwnData' type='DATA'/></fields>";
        let message = "<message name='Own' msgtype='U1' msgcat='app'>\
                       <field name='Headline' required='Y'/><field name='OwnLength' required='Y'/>\
                       <field name='OwnData' required='Y'/><field name='Text' required='Y'/>\
                       </message></messages>";
        let msg_type = "<field number='35' name='MsgType' type='STRING'>";
        let text = shipped::FIX44
            .replace("</fields>", fields)
            .replace("</messages>", message)
            .replace(msg_type, &format!("{msg_type}<value enum='U1' description='OWN'/>"));
        let session = Arc::new(Dictionary::parse_quickfix(&text).expect("loads"));
        Dictionaries { session, application: Vec::new() }
    };
    LOADED.get_or_init(load).clone()
}

/// Returns data that looks like fields, trailers and other messages.
fn data(number: u64) -> Vec<u8> {
    let parts = [&b"\x0110=000\x01"[..], b"8=FIX.4.4\x019=5\x01", b"\x00\xFF=", b"b="];
    (0..=number % 5).flat_map(|at| parts[(number + at) as usize % parts.len()].to_vec()).collect()
}

pub fn write_body(writer: &mut Writer<'_>, number: u64) {
    writer.uint(Tag(148), number);
    writer.data(LENGTH, DATA, &data(number));
    writer.str(Tag(58), &format!("text {number}"));
}

/// Checks that the bytes after the header are those of the first transmission.
pub fn check_body(message: &FixMessage<'_, '_>, number: u64) {
    let start = message.field(Tag(148)).expect("there").offset as usize - b"148=".len();
    let bytes = message.bytes();
    let data = data(number);
    let mut expected = format!("148={number}\u{1}5001={}\u{1}5002=", data.len()).into_bytes();
    expected.extend_from_slice(&data);
    expected.extend_from_slice(format!("\u{1}58=text {number}\u{1}").as_bytes());
    let found = &bytes[start..bytes.len() - b"10=000\x01".len()];
    assert_eq!(found.escape_ascii().to_string(), expected.escape_ascii().to_string());
}

/// Returns the number of a stored message.
pub fn number_of(stored: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(stored).into_owned();
    let value = text.split("\u{1}148=").nth(1).expect("there");
    value.split('\u{1}').next().expect("there").parse().expect("a number")
}

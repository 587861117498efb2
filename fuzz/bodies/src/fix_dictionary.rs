//! FIX dictionaries of both formats: any text is refused or parsed, and types are generated from
//! parsed ones.

use tickwire_fix::{Dictionary, Reader, Validator};
use tickwire_fix_codegen::FixGenerator;

const BEAT: &[u8] = b"8=FIX.4.4\x019=5\x0135=0\x0110=163\x01";

/// Parses a dictionary.
///
/// # Panics
/// If an error has no position, or a message of the dictionary is not found by its type.
pub fn fix_dictionary(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let dictionary = match Dictionary::parse(text) {
        Ok(dictionary) => dictionary,
        Err(problems) => {
            assert!(!problems.0.is_empty());
            assert!(problems.0.iter().all(|problem| problem.line > 0));
            assert!(!problems.to_string().is_empty());
            return;
        }
    };
    for message in dictionary.messages() {
        assert!(dictionary.message(message.msg_type().as_bytes()).is_some());
        for member in message.members() {
            assert!(dictionary.field(member.tag).is_some());
            if let Some(group) = member.group {
                assert!(dictionary.group(group).is_some_and(|group| !group.members().is_empty()));
            }
        }
    }
    let mut reader = Reader::new().data_fields(dictionary.data_fields());
    if let Ok(message) = reader.decode(BEAT) {
        _ = Validator::default().validate(&message, &dictionary);
    }
    _ = FixGenerator::new(&dictionary).generate();
}

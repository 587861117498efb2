//! The XML part of dictionaries: supported encodings and document types.

use std::borrow::Cow;

use roxmltree::{Document, ParsingOptions};

use super::problem::{DictionaryProblem, DictionaryProblemKind, Problems};

/// Number of bytes at the start of a file in which its encoding is declared.
const DECLARATION_MAX: usize = 200;

fn wrong(line: u32, text: String) -> Problems {
    Problems(vec![DictionaryProblem { line, what: DictionaryProblemKind::Xml(text) }])
}

/// Parses a document. It may have a document type but no entity definitions: no other file is read,
/// and expansion cannot exhaust memory.
pub(super) fn parse(text: &str) -> Result<Document<'_>, Problems> {
    if let Some(at) = text.find("<!ENTITY") {
        let line = text[..at].lines().count().max(1) as u32;
        return Err(wrong(line, "it defines entities, which are not expanded".to_owned()));
    }
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(text, options)
        .map_err(|error| wrong(error.pos().row, error.to_string()))
}

/// Returns the text of a file: UTF-8, or ISO-8859-1 if it is declared.
pub(super) fn text_of(bytes: &[u8]) -> Result<Cow<'_, str>, Problems> {
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(Cow::Borrowed(text)),
        Err(error) => error,
    };
    let start = &bytes[..bytes.len().min(DECLARATION_MAX)];
    let declared = String::from_utf8_lossy(start).to_ascii_lowercase();
    let declared = declared.split_once("?>").map_or("", |(declaration, _)| declaration);
    if ["iso-8859-1", "latin1"].iter().any(|name| declared.contains(name)) {
        return Ok(bytes.iter().copied().map(char::from).collect());
    }
    let at = error.valid_up_to();
    let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
    let text = format!(
        "it is not UTF-8 at offset {at}, and does not say that it is ISO-8859-1 (<?xml version=\"1.0\" encoding=\"...\"?>)"
    );
    Err(wrong(line, text))
}

#[cfg(test)]
mod tests {
    use super::super::Dictionary;

    const BODY: &str = "<header/><trailer/><messages/>\
        <fields><field number='58' name='Text' type='STRING'><value enum='\u{e9}' description='X'/></field></fields></fix>";

    #[test]
    fn a_document_type_is_passed_over_and_entities_are_not() {
        let with = |head: &str| format!("{head}<fix major='4' minor='2'>{BODY}");
        let parse = |head: &str| Dictionary::parse(&with(head));
        assert!(parse("<!DOCTYPE fix SYSTEM \"fix.dtd\">").is_ok());
        assert!(parse("<!DOCTYPE fix [<!ELEMENT fix ANY>]>").is_ok());
        let error = parse(
            "<?xml version='1.0'?>\n<!DOCTYPE fix [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>",
        );
        let error = error.expect_err("refused").to_string();
        assert!(error.contains("line 2") && error.contains("entities"), "{error}");
    }

    #[test]
    fn required_is_y_or_n_as_quickfix_takes_it() {
        let with = |value: &str| {
            let body = BODY.replace(
                "<header/>",
                &format!("<header><field name='Text' required='{value}'/></header>"),
            );
            Dictionary::parse(&format!("<fix major='4' minor='2'>{body}"))
        };
        for value in ["true", "false"] {
            let dictionary = with(value).expect("loads");
            assert!(!dictionary.header()[0].required);
            assert_eq!(dictionary.warnings().len(), 1, "{value}");
        }
        assert!(with("Y").expect("loads").warnings().is_empty());
        assert!(with("maybe").is_err());
    }

    #[test]
    fn a_file_in_iso_8859_1_says_so() {
        let latin = |head: &str| -> Vec<u8> {
            let text = format!("{head}<fix major='4' minor='2'>{BODY}");
            text.chars().map(|character| character as u8).collect()
        };
        let declared = latin("<?xml version='1.0' encoding='ISO-8859-1'?>\n");
        let dictionary = Dictionary::parse_bytes(&declared).expect("read");
        let values = dictionary.field_named("Text").expect("there").values();
        assert_eq!(values[0].value, "\u{e9}");
        let error = Dictionary::parse_bytes(&latin("\n")).expect_err("not UTF-8").to_string();
        assert!(error.contains("line 2") && error.contains("ISO-8859-1"), "{error}");
    }
}

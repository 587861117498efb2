//! Converts bytes to an XML tree, and describes every rejection.

use super::position::{NodePositions, START};
use super::scan::scan;
use super::template;
use crate::code::Code;
use crate::template::error::{TemplateError, TemplateErrors};
use crate::template::limits::ParseLimits;
use crate::template::model::Location;
use crate::template::set::TemplateSet;
use roxmltree::{Document, Error, ParsingOptions};
use std::borrow::Cow;

/// Most undeclared prefixes that the reader declares for a file.
const UNDECLARED_PREFIXES_MAX: usize = 8;
/// Namespace given to prefixes the file uses but does not declare.
pub(super) const UNDECLARED: &str = "urn:undeclared-prefix:";

/// Reads a template file from bytes.
pub(in crate::template) fn read_bytes(
    bytes: &[u8],
    limits: &ParseLimits,
) -> Result<TemplateSet, TemplateErrors> {
    check_bytes(bytes.len(), limits)?;
    if let Some(unit) = utf16_unit(bytes) {
        let text = utf16_text(bytes, unit).ok_or_else(|| {
            let help = "convert it to UTF-8, for instance with iconv";
            refused(Some(Code::S1), START, "the file begins as UTF-16 but is not", help)
        })?;
        return read_text(&text, limits);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => read_text(text, limits),
        Err(error) => Err(not_utf8(bytes, error.valid_up_to())),
    }
}

/// Returns how two bytes form a UTF-16 unit, if the file begins like UTF-16: with a byte order
/// mark, or with `<` or white space next to a zero byte.
fn utf16_unit(bytes: &[u8]) -> Option<fn([u8; 2]) -> u16> {
    match bytes {
        // The byte order mark of UTF-32 begins like that of UTF-16, followed by zeros.
        [0xff, 0xfe, 0, 0, ..] => None,
        [0xfe, 0xff, ..] | [0, b'<' | b' ' | b'\r' | b'\n' | b'\t', ..] => Some(u16::from_be_bytes),
        [0xff, 0xfe, ..] | [b'<' | b' ' | b'\r' | b'\n' | b'\t', 0, ..] => Some(u16::from_le_bytes),
        _ => None,
    }
}

fn utf16_text(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let text = char::decode_utf16(units).collect::<Result<String, _>>().ok();
    text.filter(|_| rest.is_empty())
}

fn not_utf8(bytes: &[u8], valid: usize) -> TemplateErrors {
    let before = bytes.get(..valid).unwrap_or_default();
    let text = std::str::from_utf8(before).unwrap_or_default();
    let byte = bytes.get(valid).copied().unwrap_or_default();
    let encoding = declared_encoding(text).filter(|name| !name.eq_ignore_ascii_case("utf-8"));
    let (message, help) = match encoding {
        Some(name) => (
            format!("byte {byte:#04x} is not UTF-8; the file says it is in {}", quote(name)),
            format!("convert it to UTF-8, for instance with iconv -f {} -t UTF-8", bare(name)),
        ),
        None => (
            format!("byte {byte:#04x} is not UTF-8"),
            "convert the file to UTF-8, for instance with iconv".to_owned(),
        ),
    };
    refused(Some(Code::S1), NodePositions::new(text).at(valid), message, help)
}

/// Returns the encoding that an XML declaration names.
fn declared_encoding(text: &str) -> Option<&str> {
    let declaration = text.trim_start().strip_prefix("<?xml")?;
    let declaration = declaration.get(..declaration.find("?>")?)?;
    let value = declaration.get(declaration.find("encoding")?..)?.split_once('=')?.1.trim_start();
    let mark = value.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
    value.get(1..)?.split(mark).next()
}

fn bare(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).take(40).collect()
}

/// Reads a template file from text.
pub(in crate::template) fn read_text(
    text: &str,
    limits: &ParseLimits,
) -> Result<TemplateSet, TemplateErrors> {
    check_bytes(text.len(), limits)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    scan(text, limits)?;
    // An XML declaration must be first, but some files have a blank line before it.
    let start = text.len() - text.trim_start().len();
    let mut source = TemplateText { original: text, start, inserted: String::new(), insert_at: 0 };
    loop {
        let patched = source.text();
        let options = ParsingOptions {
            nodes_limit: u32::try_from(limits.elements_max.saturating_mul(4)).unwrap_or(u32::MAX),
            ..ParsingOptions::default()
        };
        match Document::parse_with_options(&patched, options) {
            Ok(document) => return template::read_document(&document, &source, limits),
            Err(Error::UnknownNamespace(prefix, _)) if source.declare(&prefix) => {}
            Err(error) => return Err(source.describe(&error)),
        }
    }
}

/// The text as given to the XML library, and the mapping back to the file.
pub(super) struct TemplateText<'a> {
    original: &'a str,
    /// Bytes of white space removed at the front.
    start: usize,
    /// Namespace declarations added to the root element, and their position.
    inserted: String,
    insert_at: usize,
}

impl<'a> TemplateText<'a> {
    fn text(&self) -> Cow<'a, str> {
        let text = self.original.get(self.start..).unwrap_or_default();
        match text.split_at_checked(self.insert_at) {
            Some((head, tail)) if !self.inserted.is_empty() => {
                format!("{head}{}{tail}", self.inserted).into()
            }
            _ => text.into(),
        }
    }

    /// Converts an offset in the text given to the XML library to one in the file.
    pub(super) fn offset(&self, offset: usize) -> usize {
        let behind = offset.saturating_sub(self.insert_at).min(self.inserted.len());
        offset - behind + self.start
    }

    pub(super) fn positions(&self) -> NodePositions<'a> {
        NodePositions::new(self.original)
    }

    /// Declares a prefix on the root element; returns false if that is not possible.
    fn declare(&mut self, prefix: &str) -> bool {
        let declaration = format!(" xmlns:{prefix}=\"{UNDECLARED}{prefix}\"");
        let count = self.inserted.matches(" xmlns:").count();
        if count >= UNDECLARED_PREFIXES_MAX || self.inserted.contains(&declaration) {
            return false;
        }
        let text = self.original.get(self.start..).unwrap_or_default();
        let Some(end) = root_name_end(text) else { return false };
        self.insert_at = end;
        self.inserted.push_str(&declaration);
        true
    }

    fn describe(&self, error: &Error) -> TemplateErrors {
        let message = match error {
            Error::NodesLimitReached => {
                let help = "raise ParseLimits::elements_max if the file is meant to be so large";
                return refused(None, START, "the file has too many XML nodes", help);
            }
            Error::UnclosedRootNode | Error::UnexpectedEndOfStream => {
                let end = self.positions().at(self.original.len());
                let message = format!("not well-formed XML: {error}");
                return refused(Some(Code::S1), end, message, "close every element that is open");
            }
            error => format!("not well-formed XML: {}", without_position(error)),
        };
        // The library reports lines and columns of the text it was given; after an insertion on the
        // same line, columns would be wrong.
        let location = self.location_of(error);
        refused(Some(Code::S1), location, message, "make the file well-formed XML with namespaces")
    }

    fn location_of(&self, error: &Error) -> Location {
        let patched = self.text();
        let pos = error.pos();
        let line = usize::try_from(pos.row).unwrap_or(1).max(1) - 1;
        let column = usize::try_from(pos.col).unwrap_or(1).max(1) - 1;
        let start: usize = patched.split_inclusive('\n').take(line).map(str::len).sum();
        let rest = patched.get(start..).unwrap_or_default();
        let within = rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at);
        self.positions().at(self.offset(start + within))
    }
}

/// Returns the offset after the root element's name.
fn root_name_end(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text.get(at..)?.find('<')?;
        let rest = text.get(at..)?;
        let end = if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<?") {
            "?>"
        } else {
            let name = rest.get(1..)?;
            let length = name.find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>')?;
            return Some(at + 1 + length);
        };
        at += rest.find(end)? + end.len();
    }
}

/// Removes the position from the end of the library's text; this crate adds its own.
fn without_position(error: &Error) -> String {
    let text = error.to_string();
    let pos = error.pos();
    let tail = format!(" at {}:{}", pos.row, pos.col);
    text.strip_suffix(&tail).unwrap_or(&text).to_owned()
}

fn check_bytes(bytes: usize, limits: &ParseLimits) -> Result<(), TemplateErrors> {
    if bytes <= limits.file_bytes_max {
        return Ok(());
    }
    let message = format!("the file has {bytes} bytes, more than {}", limits.file_bytes_max);
    let help = "raise ParseLimits::file_bytes_max if the file is meant to be so large";
    Err(refused(None, START, message, help))
}

/// Describes why a file is not read at all.
pub(super) fn refused(
    code: Option<Code>,
    location: Location,
    message: impl Into<String>,
    help: impl Into<String>,
) -> TemplateErrors {
    let (message, help) = (message.into(), help.into());
    let (template, field) = Default::default();
    let error = TemplateError { code, location, template, field, message, help };
    TemplateErrors { errors: vec![error], omitted: 0 }
}

/// Longest quotation of the file in a message, characters.
const QUOTE_MAX: usize = 60;

/// Quotes text of the file for a message; long text is truncated.
pub(super) fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTE_MAX) {
        Some((end, _)) => format!("\"{}...\"", text.get(..end).unwrap_or_default()),
        None => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> String {
        TemplateSet::parse_bytes(bytes).unwrap_err().to_string()
    }

    const GOOD: &str = "<templates><template name='T' id='1'/></templates>";

    #[test]
    fn byte_order_marks_blank_lines_and_other_encoding_names_are_tolerated() {
        for text in [
            format!("\u{feff}{GOOD}"),
            format!("\n  <?xml version=\"1.0\"?>{GOOD}"),
            format!("<?xml version=\"1.0\" encoding=\"windows-1251\"?>{GOOD}"),
            format!("\u{feff}\r\n<?xml version='1.0' encoding='UTF-8'?>{GOOD}"),
        ] {
            let set = TemplateSet::parse_bytes(text.as_bytes()).unwrap();
            assert_eq!(set.templates().len(), 1, "{text}");
        }
    }

    #[test]
    fn utf_16_is_read_in_either_order_with_and_without_its_mark() {
        let text = format!("<?xml version='1.0' encoding='UTF-16'?><!-- \u{1f4c8} é -->{GOOD}");
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = [&[0xff, 0xfe][..], &little].concat();
        for bytes in [&little, &big, &marked, &[&[0xfe, 0xff][..], &big].concat()] {
            let set = TemplateSet::parse_bytes(bytes).unwrap();
            assert_eq!(set.templates().len(), 1, "{bytes:02x?}");
        }
        let cut = &marked[..marked.len() - 1];
        assert!(message(cut).contains("begins as UTF-16 but is not"), "an odd byte");
        assert!(message(&[0xff, 0xfe, 0, 0xd8, b'<', 0]).contains("UTF-16"), "half a pair");
    }

    #[test]
    fn other_encodings_are_refused_clearly() {
        let utf32: Vec<u8> = [0xff, 0xfe, 0, 0, b'<', 0, 0, 0].to_vec();
        assert!(message(&utf32).contains("not UTF-8"), "{}", message(&utf32));
        let mut latin = b"<?xml version='1.0' encoding='windows-1251'?><!-- ".to_vec();
        latin.push(0xe0);
        let text = message(&latin);
        assert!(text.contains("windows-1251") && text.contains("0xe0"), "{text}");
        assert!(text.starts_with("line 1, column 51: S1"), "{text}");
    }

    #[test]
    fn undeclared_prefixes_are_tolerated_up_to_a_number() {
        let with = |count: usize| {
            let attributes: String = (0..count).map(|at| format!(" p{at}:a='1'")).collect();
            let xml = format!("<templates><template name='T' id='1'{attributes}/></templates>");
            TemplateSet::parse(&xml).map(|set| set.templates().len())
        };
        assert_eq!(with(UNDECLARED_PREFIXES_MAX).unwrap(), 1);
        assert!(with(UNDECLARED_PREFIXES_MAX + 1).is_err());
    }

    #[test]
    fn names_in_errors_are_plain_and_short() {
        assert_eq!(bare("windows-1251"), "windows-1251");
        assert_eq!(bare("a_b.c<script>\u{1b}[1m d"), "a_b.cscript1md");
        assert_eq!(bare(&"x".repeat(50)).len(), 40);
    }

    #[test]
    fn xml_that_is_not_well_formed_is_s1_with_its_place() {
        let text = message(b"\n\n<templates>\n  <template name='T'></templatex>\n</templates>");
        assert!(text.starts_with("line 4, column 22: S1: not well-formed XML"), "{text}");
        let text =
            message(b"<templates>\n <template v:a='1' name='T'></template>\n <a></b></templates>");
        assert!(text.starts_with("line 3, column 5: S1"), "{text}");
        assert!(message(b"").contains("S1"));
        assert!(message(b"<templates>").contains("S1"));
        assert!(message(b"<!DOCTYPE a [<!ENTITY b 'c'>]><templates/>").contains("DOCTYPE"));
    }

    #[test]
    fn a_million_nested_elements_are_an_error_and_not_a_crash() {
        let xml = format!("<templates>{}", "<group>".repeat(1_000_000));
        let errors = TemplateSet::parse(&xml).unwrap_err();
        assert!(errors.to_string().contains("nest deeper than 64"), "{errors}");
        let limits = ParseLimits { depth_max: usize::MAX, ..ParseLimits::default() };
        assert!(TemplateSet::parse_with(&xml, &limits).is_err());
    }

    #[test]
    fn nesting_up_to_the_ceiling_is_read() {
        let depth = ParseLimits::DEPTH_CEILING - 3;
        let xml = format!(
            "<templates><template name='T'>{}<int8 name='a'/>{}</template></templates>",
            "<group name='g'>".repeat(depth),
            "</group>".repeat(depth)
        );
        let limits = ParseLimits { depth_max: usize::MAX, ..ParseLimits::default() };
        let set = TemplateSet::parse_with(&xml, &limits).unwrap();
        let again = TemplateSet::parse_with(&set.to_xml(), &limits).unwrap();
        assert_eq!(again.signature(), set.signature());
        assert!(crate::template::diff(&set, &again).is_empty());
        assert!(TemplateSet::parse(&xml).is_err());
    }

    #[test]
    fn references_count_the_groups_and_sequences_around_them() {
        for (open, close) in
            [("<group name='g'>", "</group>"), ("<sequence name='s'>", "</sequence>")]
        {
            let nested = |depth: usize, inner: &str| {
                format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
            };
            let with = |depth: usize| {
                let inner = nested(depth, "<int8 name='a'/>");
                let outer = nested(depth, "<templateRef name='T0'/>");
                TemplateSet::parse(&format!(
                    "<templates><template name='T0'>{inner}</template><template name='T1'>{outer}</template></templates>"
                ))
            };
            assert!(with(20).is_ok(), "{open}");
            let errors = with(50).unwrap_err();
            assert!(errors.to_string().contains("deep"), "{errors}");
        }
    }

    #[test]
    fn definitions_and_references_that_grow_exponentially_hit_a_limit() {
        let defines: String = (1..50)
            .map(|i| {
                let inner = i - 1;
                format!(
                    "<define name='D{i}'><group><field name='a'><type name='D{inner}'/></field>
                     <field name='b'><type name='D{inner}'/></field></group></define>"
                )
            })
            .collect();
        let xml = format!(
            "<templates><define name='D0'><int8/></define>{defines}<template name='T'>
             <field name='x'><type name='D49'/></field></template></templates>"
        );
        let limits = ParseLimits { instructions_max: 10_000, ..ParseLimits::default() };
        let errors = TemplateSet::parse_with(&xml, &limits).unwrap_err();
        assert!(errors.to_string().contains("instructions with definitions"), "{errors}");

        let templates: String = (1..60)
            .map(|i| {
                let inner = i - 1;
                format!(
                    "<template name='T{i}'><templateRef name='T{inner}'/><templateRef name='T{inner}'/></template>"
                )
            })
            .collect();
        let xml = format!(
            "<templates><template name='T0'><int8 name='a'/></template>{templates}</templates>"
        );
        let errors = TemplateSet::parse(&xml).unwrap_err();
        assert!(errors.to_string().contains("references expanded"), "{errors}");
    }

    #[test]
    fn long_chains_are_errors_and_not_crashes() {
        let templates: String = (1..20_000)
            .map(|i| format!("<template name='T{i}'><templateRef name='T{}'/></template>", i - 1))
            .collect();
        let xml = format!("<templates><template name='T0'/>{templates}</templates>");
        let errors = TemplateSet::parse(&xml).unwrap_err();
        assert!(errors.to_string().contains("nest deeper"), "{errors}");
        let defines: String = (1..20_000)
            .map(|i| format!("<define name='D{i}'><type name='D{}'/></define>", i - 1))
            .collect();
        let xml = format!(
            "<templates>{defines}<template name='T'><field name='x'><type name='D19999'/></field></template></templates>"
        );
        assert!(TemplateSet::parse(&xml).unwrap_err().to_string().contains("too many steps"));
    }

    #[test]
    fn groups_of_definitions_within_each_other_count_as_depth() {
        let xml = |depth: usize| {
            let define = |i| {
                format!(
                    "<define name='D{i}'><group><field name='a'><type name='D{}'/></field></group></define>",
                    i - 1
                )
            };
            let defines: String = (1..depth).map(define).collect();
            let last = depth - 1;
            format!(
                "<templates><define name='D0'><int8/></define>{defines}<template name='T'>
                 <field name='x'><type name='D{last}'/></field></template></templates>"
            )
        };
        let deepest = ParseLimits::default().depth_max;
        assert!(TemplateSet::parse(&xml(deepest)).is_ok());
        let errors = TemplateSet::parse(&xml(deepest + 2)).unwrap_err();
        let expected = format!("groups and sequences nest deeper than {deepest}");
        assert!(errors.to_string().contains(&expected), "{errors}");
    }

    #[test]
    fn definitions_that_are_costly_to_look_at_hit_a_limit() {
        let elements: String = (0..4000).map(|i| format!("<element name='e{i}'/>")).collect();
        let fields: String =
            (0..4000).map(|i| format!("<field name='f{i}'><type name='E'/></field>")).collect();
        let xml = format!(
            "<templates><define name='E'><enum>{elements}</enum></define>
             <template name='T'>{fields}</template></templates>"
        );
        let limits = ParseLimits { elements_max: 20_000, ..ParseLimits::default() };
        let errors = TemplateSet::parse_with(&xml, &limits).unwrap_err();
        assert!(errors.to_string().contains("visits more"), "{errors}");
    }

    #[test]
    fn inherited_text_is_counted_each_time() {
        let ns = "n".repeat(10_000);
        let fields: String = (0..100).map(|i| format!("<int8 name='f{i}'/>")).collect();
        let xml =
            format!("<templates ns='{ns}'><template name='T'>{fields}</template></templates>");
        let limits = ParseLimits { text_bytes_max: 500_000, ..ParseLimits::default() };
        let errors = TemplateSet::parse_with(&xml, &limits).unwrap_err();
        assert!(errors.to_string().contains("take more than 500000 bytes"), "{errors}");
    }

    #[test]
    fn files_and_sets_have_limits() {
        let refused = |xml: &str, limits: ParseLimits| {
            TemplateSet::parse_with(xml, &limits).unwrap_err().errors[0].code
        };
        let limits = ParseLimits::default;
        assert_eq!(refused(GOOD, ParseLimits { file_bytes_max: 10, ..limits() }), None);
        assert_eq!(refused(GOOD, ParseLimits { elements_max: 1, ..limits() }), None);
        let two = "<templates><template name='A'/><template name='B'/></templates>";
        assert_eq!(refused(two, ParseLimits { templates_max: 1, ..limits() }), None);
    }
}

//! Scans the raw XML before the tree is built, so that a hostile file is rejected before it costs
//! memory or time out of proportion to its size.

use crate::template::limits::ParseLimits;

/// Most attributes of one element. The XML library compares each with all before it.
const ATTRIBUTES_MAX: usize = 64;
/// Most bytes of one start tag: names and namespaces are compared and copied at every use.
const TAG_BYTES_MAX: usize = 16 * 1024;
/// Most namespace declarations in scope. The XML library copies them for each element that adds
/// one.
const NAMESPACES_MAX: usize = 128;

/// Why a file is rejected, and the offset of the reason.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum XmlRefusal {
    Dtd(usize),
    Depth(usize),
    Elements(usize),
    Attributes(usize),
    Tag(usize),
    Namespaces(usize),
}

/// Checks depth, counts and document type declarations. Malformed XML is left to the XML library:
/// up to its first fault, the text is within the limits.
pub(super) fn scan(text: &str, limits: &ParseLimits) -> Result<(), XmlRefusal> {
    check_reservation(text, limits)?;
    let mut scan = XmlScan { text, limits, open: Vec::new(), elements: 0 };
    let mut at = 0;
    while let Some(tag) = find(text, at, "<") {
        match scan.markup(tag)? {
            Some(next) => at = next,
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Checks counts for which the XML library reserves memory: a node per `<` and an attribute per
/// `=`.
fn check_reservation(text: &str, limits: &ParseLimits) -> Result<(), XmlRefusal> {
    let marks_max = limits.elements_max.saturating_mul(4);
    for mark in [b'<', b'='] {
        if text.bytes().filter(|&byte| byte == mark).count() > marks_max {
            return Err(XmlRefusal::Elements(0));
        }
    }
    Ok(())
}

struct XmlScan<'a> {
    text: &'a str,
    limits: &'a ParseLimits,
    /// Number of namespace declarations in scope, per open element.
    open: Vec<usize>,
    elements: usize,
}

impl XmlScan<'_> {
    /// Skips the markup at `start`; `None` at the end of the text that can be scanned.
    fn markup(&mut self, start: usize) -> Result<Option<usize>, XmlRefusal> {
        let rest = self.text.get(start..).unwrap_or_default();
        if rest.starts_with("<!--") {
            self.count(start)?;
            Ok(self.skip(start + 4, "-->"))
        } else if rest.starts_with("<![CDATA[") {
            self.count(start)?;
            Ok(self.skip(start + 9, "]]>"))
        } else if rest.starts_with("<!") {
            Err(XmlRefusal::Dtd(start))
        } else if rest.starts_with("<?") {
            self.count(start)?;
            Ok(self.skip(start + 2, "?>"))
        } else if rest.starts_with("</") {
            self.open.pop();
            Ok(self.skip(start + 2, ">"))
        } else {
            self.element(start)
        }
    }

    /// Counts a node; comments and processing instructions count too, because the tree has a node
    /// for each.
    fn count(&mut self, start: usize) -> Result<(), XmlRefusal> {
        self.elements += 1;
        if self.elements > self.limits.elements_max {
            Err(XmlRefusal::Elements(start))
        } else {
            Ok(())
        }
    }

    fn skip(&self, from: usize, end: &str) -> Option<usize> {
        find(self.text, from, end).map(|at| at + end.len())
    }

    fn element(&mut self, start: usize) -> Result<Option<usize>, XmlRefusal> {
        self.count(start)?;
        let mut attributes = 0usize;
        let mut namespaces = self.open.last().copied().unwrap_or(0);
        let mut quote = None;
        let bytes = self.text.as_bytes();
        for (at, &byte) in bytes.iter().enumerate().skip(start + 1) {
            if at - start > TAG_BYTES_MAX {
                return Err(XmlRefusal::Tag(start));
            }
            match (quote, byte) {
                (Some(open), _) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'=') => {
                    attributes += 1;
                    if attributes > ATTRIBUTES_MAX {
                        return Err(XmlRefusal::Attributes(start));
                    }
                }
                (None, b'x') if bytes.get(at..at + 5) == Some(b"xmlns") => {
                    namespaces += 1;
                    if namespaces > NAMESPACES_MAX {
                        return Err(XmlRefusal::Namespaces(start));
                    }
                }
                (None, b'>') => {
                    if bytes.get(at - 1) != Some(&b'/') {
                        self.open.push(namespaces);
                        if self.open.len() > self.limits.depth() {
                            return Err(XmlRefusal::Depth(start));
                        }
                    }
                    return Ok(Some(at + 1));
                }
                (None, _) => {}
            }
        }
        Ok(None)
    }
}

fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    text.get(from..)?.find(what).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> Option<XmlRefusal> {
        scan(text, &ParseLimits::default()).err()
    }

    #[test]
    fn marks_inside_comments_and_quotes_are_not_elements() {
        let text = "<?xml?><!-- <a><a> --><a b='>' c=\"<\"><![CDATA[<a>]]></a>";
        assert_eq!(refusal(text), None);
        let limits = ParseLimits { depth_max: 1, ..ParseLimits::default() };
        assert_eq!(scan(text, &limits), Ok(()));
    }

    #[test]
    fn a_document_type_declaration_is_refused() {
        assert_eq!(refusal("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"), Some(XmlRefusal::Dtd(0)));
    }

    #[test]
    fn depth_is_counted_over_open_elements_only() {
        let limits = ParseLimits { depth_max: 2, ..ParseLimits::default() };
        assert_eq!(scan("<a><b/><b/><b></b></a>", &limits), Ok(()));
        assert_eq!(scan("<a><b><c><d/></c></b></a>", &limits), Err(XmlRefusal::Depth(6)));
    }

    #[test]
    fn many_attributes_or_namespaces_on_one_element_are_refused() {
        let attributes: String = (0..70).map(|i| format!(" a{i}=''")).collect();
        assert_eq!(refusal(&format!("<a{attributes}/>")), Some(XmlRefusal::Attributes(0)));
        let namespaces: String = (0..50).map(|i| format!(" xmlns:a{i}='u'")).collect();
        let text = format!("<a{namespaces}><b{namespaces}><c{namespaces}/></b></a>");
        assert!(matches!(refusal(&text), Some(XmlRefusal::Namespaces(_))));
    }

    #[test]
    fn as_many_attributes_and_namespaces_as_are_allowed_are_read() {
        let attributes =
            |count: usize| -> String { (0..count).map(|i| format!(" a{i}=''")).collect() };
        assert_eq!(refusal(&format!("<a{}/>", attributes(ATTRIBUTES_MAX))), None);
        let more = format!("<a{}/>", attributes(ATTRIBUTES_MAX + 1));
        assert_eq!(refusal(&more), Some(XmlRefusal::Attributes(0)));
        let namespaces =
            |count: usize| -> String { (0..count).map(|i| format!(" xmlns:a{i}='u'")).collect() };
        let half = namespaces(NAMESPACES_MAX / 2);
        assert_eq!(refusal(&format!("<a{half}><b{half}><c/></b></a>")), None);
        let more = format!("<a{half}><b{half}><c xmlns='u'/></b></a>");
        assert!(matches!(refusal(&more), Some(XmlRefusal::Namespaces(_))));
    }

    #[test]
    fn a_very_long_tag_is_refused() {
        let text = format!("<a><b c='{}'/></a>", "x".repeat(20_000));
        assert_eq!(refusal(&text), Some(XmlRefusal::Tag(3)));
    }

    #[test]
    fn reserved_room_is_bounded() {
        let limits = ParseLimits { elements_max: 10, ..ParseLimits::default() };
        let text = format!("<a><!--{}--></a>", "<".repeat(50));
        assert_eq!(scan(&text, &limits), Err(XmlRefusal::Elements(0)));
    }
}

//! Scans the raw XML before the tree is built, so that a hostile file is rejected before it costs
//! memory or time out of proportion to its size.

use super::position::NodePositions;
use super::source::refused;
use crate::code::Code;
use crate::template::error::TemplateErrors;
use crate::template::limits::ParseLimits;

/// Most attributes of one element. The XML library compares each with all before it.
const ATTRIBUTES_MAX: usize = 64;
/// Most bytes of one start tag: names and namespaces are compared and copied at every use.
const TAG_BYTES_MAX: usize = 16 * 1024;
/// Most namespace declarations in scope. The XML library copies them for each element that adds
/// one.
const NAMESPACES_MAX: usize = 128;

/// Checks depth, counts and document type declarations. Malformed XML is left to the XML library:
/// up to its first fault, the text is within the limits.
pub(super) fn scan(text: &str, limits: &ParseLimits) -> Result<(), TemplateErrors> {
    let mut scan = XmlScan { text, limits, open: Vec::new(), elements: 0 };
    scan.check_reservation()?;
    let mut at = 0;
    while let Some(tag) = find(text, at, "<") {
        match scan.markup(tag)? {
            Some(next) => at = next,
            None => return Ok(()),
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
    /// Checks counts for which the XML library reserves memory: a node per `<` and an attribute
    /// per `=`.
    fn check_reservation(&self) -> Result<(), TemplateErrors> {
        let marks_max = self.limits.elements_max.saturating_mul(4);
        let count = |mark| self.text.bytes().filter(|&byte| byte == mark).count();
        if [b'<', b'='].into_iter().any(|mark| count(mark) > marks_max) {
            return Err(self.too_many_elements(0));
        }
        Ok(())
    }

    fn too_many_elements(&self, at: usize) -> TemplateErrors {
        let message = format!("the file has more than {} XML elements", self.limits.elements_max);
        self.limit(
            at,
            &message,
            "raise ParseLimits::elements_max if the file is meant to be so large",
        )
    }

    /// Describes a limit that is exceeded at an offset.
    fn limit(&self, at: usize, message: &str, help: &str) -> TemplateErrors {
        refused(None, NodePositions::new(self.text).at(at), message, help)
    }

    /// Skips the markup at `start`; `None` at the end of the text that can be scanned.
    fn markup(&mut self, start: usize) -> Result<Option<usize>, TemplateErrors> {
        let rest = self.text.get(start..).unwrap_or_default();
        for (begin, end) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")] {
            if rest.starts_with(begin) {
                self.count(start)?;
                return Ok(self.skip(start + begin.len(), end));
            }
        }
        if rest.starts_with("<!") {
            let location = NodePositions::new(self.text).at(start);
            let message = "document type declarations are not read";
            let help =
                "remove the <!DOCTYPE ...> and replace the entities it defines by their text";
            Err(refused(Some(Code::S1), location, message, help))
        } else if rest.starts_with("</") {
            self.open.pop();
            Ok(self.skip(start + 2, ">"))
        } else {
            self.element(start)
        }
    }

    /// Counts a node; comments and processing instructions count too, because the tree has a node
    /// for each.
    fn count(&mut self, start: usize) -> Result<(), TemplateErrors> {
        self.elements += 1;
        match self.elements > self.limits.elements_max {
            true => Err(self.too_many_elements(start)),
            false => Ok(()),
        }
    }

    fn skip(&self, from: usize, end: &str) -> Option<usize> {
        find(self.text, from, end).map(|at| at + end.len())
    }

    fn element(&mut self, start: usize) -> Result<Option<usize>, TemplateErrors> {
        self.count(start)?;
        let mut attributes = 0usize;
        let mut namespaces = self.open.last().copied().unwrap_or(0);
        let mut quote = None;
        let bytes = self.text.as_bytes();
        for (at, &byte) in bytes.iter().enumerate().skip(start + 1) {
            if at - start > TAG_BYTES_MAX {
                let help =
                    "no template needs so long a name or value: check where the file comes from";
                return Err(self.limit(start, "a tag is too long", help));
            }
            match (quote, byte) {
                (Some(open), _) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'=') => {
                    attributes += 1;
                    if attributes > ATTRIBUTES_MAX {
                        let help = "no template needs so many: check where the file comes from";
                        return Err(self.limit(start, "an element has too many attributes", help));
                    }
                }
                (None, b'x') if bytes.get(at..at + 5) == Some(b"xmlns") => {
                    namespaces += 1;
                    if namespaces > NAMESPACES_MAX {
                        let message = "too many namespace declarations are in force at once";
                        let help = "declare each namespace once on the root element";
                        return Err(self.limit(start, message, help));
                    }
                }
                (None, b'>') => {
                    if bytes.get(at - 1) != Some(&b'/') {
                        self.open.push(namespaces);
                        if self.open.len() > self.limits.depth() {
                            let depth = self.limits.depth();
                            let message = format!("XML elements nest deeper than {depth}");
                            let help = "nest less, or raise ParseLimits::depth_max";
                            return Err(self.limit(start, &message, help));
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

    fn refusal_with(text: &str, limits: &ParseLimits) -> String {
        scan(text, limits).err().map_or(String::new(), |errors| errors.to_string())
    }

    fn refusal(text: &str) -> String {
        refusal_with(text, &ParseLimits::default())
    }

    #[test]
    fn marks_inside_comments_and_quotes_are_not_elements() {
        let text = "<?xml?><!-- <a><a> --><a b='>' c=\"<\"><![CDATA[<a>]]></a>";
        assert_eq!(refusal(text), "");
        let limits = ParseLimits { depth_max: 1, ..ParseLimits::default() };
        assert_eq!(scan(text, &limits), Ok(()));
    }

    #[test]
    fn a_document_type_declaration_is_refused() {
        let text = refusal(" <!DOCTYPE a [<!ENTITY b 'c'>]><a/>");
        assert!(text.starts_with("line 1, column 2: S1: document type"), "{text}");
    }

    #[test]
    fn depth_is_counted_over_open_elements_only() {
        let limits = ParseLimits { depth_max: 2, ..ParseLimits::default() };
        assert_eq!(scan("<a><b/><b/><b></b></a>", &limits), Ok(()));
        let text = refusal_with("<a><b><c><d/></c></b></a>", &limits);
        assert!(text.starts_with("line 1, column 7: limit: XML elements nest deeper than 2"));
    }

    #[test]
    fn many_attributes_or_namespaces_on_one_element_are_refused() {
        let attributes: String = (0..70).map(|i| format!(" a{i}=''")).collect();
        let text = refusal(&format!("<a{attributes}/>"));
        assert!(text.starts_with("line 1, column 1: limit: an element has too many attributes"));
        let namespaces: String = (0..50).map(|i| format!(" xmlns:a{i}='u'")).collect();
        let text = format!("<a{namespaces}><b{namespaces}><c{namespaces}/></b></a>");
        assert!(refusal(&text).contains("too many namespace declarations"));
    }

    #[test]
    fn as_many_attributes_and_namespaces_as_are_allowed_are_read() {
        let attributes =
            |count: usize| -> String { (0..count).map(|i| format!(" a{i}=''")).collect() };
        assert_eq!(refusal(&format!("<a{}/>", attributes(ATTRIBUTES_MAX))), "");
        let more = format!("<a{}/>", attributes(ATTRIBUTES_MAX + 1));
        assert!(refusal(&more).contains("too many attributes"));
        let namespaces =
            |count: usize| -> String { (0..count).map(|i| format!(" xmlns:a{i}='u'")).collect() };
        let half = namespaces(NAMESPACES_MAX / 2);
        assert_eq!(refusal(&format!("<a{half}><b{half}><c/></b></a>")), "");
        let more = format!("<a{half}><b{half}><c xmlns='u'/></b></a>");
        assert!(refusal(&more).contains("too many namespace declarations"));
    }

    #[test]
    fn a_very_long_tag_is_refused() {
        let text = format!("<a><b c='{}'/></a>", "x".repeat(20_000));
        assert!(refusal(&text).starts_with("line 1, column 4: limit: a tag is too long"));
    }

    #[test]
    fn reserved_room_is_bounded() {
        let limits = ParseLimits { elements_max: 10, ..ParseLimits::default() };
        let text = format!("<a><!--{}--></a>", "<".repeat(50));
        let text = refusal_with(&text, &limits);
        assert!(
            text.starts_with("line 1, column 1: limit: the file has more than 10 XML elements")
        );
    }
}

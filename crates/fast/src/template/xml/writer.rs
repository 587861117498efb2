//! Writes indented XML.

use crate::template::model::Attribute;
use std::borrow::Cow;

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

/// Writes elements as they are opened and closed; an element without children becomes an
/// empty-element tag.
pub(super) struct XmlWriter {
    out: String,
    open: Vec<&'static str>,
    /// True if the last tag still lacks its `>`.
    in_tag: bool,
}

impl XmlWriter {
    pub(super) fn new() -> Self {
        let out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
        Self { out, open: Vec::new(), in_tag: false }
    }

    pub(super) fn open(&mut self, element: &'static str) {
        if self.in_tag {
            self.out.push_str(">\n");
        }
        self.indent();
        self.out.push('<');
        self.out.push_str(element);
        self.open.push(element);
        self.in_tag = true;
    }

    pub(super) fn attribute(&mut self, name: &str, value: &str) {
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        self.out.push_str(&escape(value));
        self.out.push('"');
    }

    /// Writes an attribute if its value differs from the one that applies without it.
    pub(super) fn attribute_unless(&mut self, inherited: &str, name: &str, value: &str) {
        if value != inherited {
            self.attribute(name, value);
        }
    }

    /// Writes vendor attributes, with a prefix for each that has a namespace.
    pub(super) fn vendor_attributes(&mut self, attributes: &[Attribute]) {
        for (index, attribute) in attributes.iter().enumerate() {
            let prefix = match &*attribute.name.ns {
                "" => String::new(),
                XML_NAMESPACE => "xml:".to_owned(),
                ns => {
                    self.attribute(&format!("xmlns:v{index}"), ns);
                    format!("v{index}:")
                }
            };
            self.attribute(&format!("{prefix}{}", attribute.name.local), &attribute.value);
        }
    }

    pub(super) fn close(&mut self) {
        let Some(element) = self.open.pop() else { return };
        if self.in_tag {
            self.out.push_str("/>\n");
        } else {
            self.indent();
            self.out.push_str("</");
            self.out.push_str(element);
            self.out.push_str(">\n");
        }
        self.in_tag = false;
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    fn indent(&mut self) {
        self.out.extend(std::iter::repeat_n("  ", self.open.len()));
    }
}

/// Escapes a value. White space becomes character references, because XML readers would replace it
/// with spaces.
fn escape(value: &str) -> Cow<'_, str> {
    if !value.contains(['&', '<', '>', '"', '\t', '\n', '\r']) {
        return value.into();
    }
    let mut escaped = String::with_capacity(value.len() + 16);
    for character in value.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' => escaped.push_str("&#9;"),
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            other => escaped.push(other),
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_nest_and_values_are_escaped() {
        let mut writer = XmlWriter::new();
        writer.open("a");
        writer.attribute("b", "<\n\"&");
        writer.open("c");
        writer.close();
        writer.close();
        let text = writer.finish();
        let body = text.split_once("?>\n").unwrap().1;
        assert_eq!(body, "<a b=\"&lt;&#10;&quot;&amp;\">\n  <c/>\n</a>\n");
    }
}

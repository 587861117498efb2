//! XML elements and their positions.

use std::net::Ipv4Addr;

use roxmltree::{Document, Node};

use super::one_line;
use crate::error::ConfigError;

/// A document, with the errors found in it.
pub(super) struct Xml<'d, 'i> {
    document: &'d Document<'i>,
    errors: Vec<ConfigError>,
}

impl<'d, 'i> Xml<'d, 'i> {
    pub(super) const fn new(document: &'d Document<'i>) -> Self {
        Self { document, errors: Vec::new() }
    }

    pub(super) fn root(&self) -> Node<'d, 'i> {
        self.document.root_element()
    }

    /// Creates an error at the start of an element.
    pub(super) fn at(&self, node: Node<'_, '_>, message: String) -> ConfigError {
        let position = self.document.text_pos_at(node.range().start);
        ConfigError { line: position.row, column: position.col, message }
    }

    pub(super) fn line(&self, node: Node<'_, '_>) -> u32 {
        self.document.text_pos_at(node.range().start).row
    }

    pub(super) fn error(&mut self, node: Node<'_, '_>, message: String) {
        self.errors.push(self.at(node, message));
    }

    pub(super) fn errors(&self) -> &[ConfigError] {
        &self.errors
    }

    pub(super) fn into_errors(self) -> Vec<ConfigError> {
        self.errors
    }

    /// Parses the text of an element as an address.
    pub(super) fn ip(&mut self, node: Node<'_, '_>, text: &str) -> Option<Ipv4Addr> {
        let ip = text.parse().ok();
        if ip.is_none() {
            self.error(node, format!("`{}` is not an IPv4 address", one_line(text)));
        }
        ip
    }

    /// Parses the text of an element as a port.
    pub(super) fn port(&mut self, node: Node<'_, '_>, text: &str) -> Option<u16> {
        let port = text.parse().ok().filter(|port| *port > 0);
        if port.is_none() {
            self.error(node, format!("`{}` is not a port", one_line(text)));
        }
        port
    }
}

/// Returns the child elements with a name.
pub(super) fn children<'d, 'i>(
    node: Node<'d, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'d, 'i>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

/// Returns the first child element with a name.
pub(super) fn child<'d, 'i>(node: Node<'d, 'i>, name: &'static str) -> Option<Node<'d, 'i>> {
    children(node, name).next()
}

/// Returns the text of an element without surrounding white space.
pub(super) fn text<'d>(node: Node<'d, '_>) -> &'d str {
    node.text().unwrap_or_default().trim()
}

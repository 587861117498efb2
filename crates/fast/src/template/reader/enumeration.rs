//! FAST 1.2 `enum` and `set`: their elements, and the conversion of texts to values.

use super::Node;
use super::initial::unsigned;
use super::operator::is_operator;
use super::source::quote;
use super::state::TemplateReader;
use crate::code::Code;
use crate::template::model::{Element, Enumeration, Width};
use std::sync::Arc;

/// Most elements of an enum.
const ENUM_ELEMENTS_MAX: usize = 4096;
/// Most elements of a set: its bits are one 64-bit integer.
const SET_ELEMENTS_MAX: usize = 64;

impl TemplateReader<'_> {
    /// Reads the elements of an `enum` or `set`, once per `enum` or `set` element of the file.
    pub(super) fn enumeration(
        &mut self,
        node: Node<'_>,
        name: &str,
        is_set: bool,
    ) -> Arc<Enumeration> {
        if let Some(known) = self.enumerations.get(&node.id()) {
            // Code that traverses the model visits the elements at every use.
            self.visit(known.elements.len());
            return Arc::clone(known);
        }
        let mut elements = Vec::new();
        let mut index = 0;
        for child in self.children(node) {
            if child.tag_name().name() == "element" {
                elements.extend(self.element(child, index, is_set));
                index += 1;
            } else if !is_operator(&child) {
                self.unexpected(child, node);
            }
        }
        if index == 0 {
            let message = format!("<{}> has no elements", node.tag_name().name());
            self.error(Code::S1, node, message, "add <element name=\"...\"/>");
        }
        let name = self.name("", name, node).local;
        let enumeration = Arc::new(Enumeration { name, elements });
        self.enumerations.insert(node.id(), Arc::clone(&enumeration));
        enumeration
    }

    fn element(&mut self, node: Node<'_>, index: usize, is_set: bool) -> Option<Element> {
        let Some(name) = self.attribute(node, "name") else {
            self.error(Code::S1, node, "an element has no name", "add a name attribute");
            return None;
        };
        let id = self.attribute(node, "id").unwrap_or_default();
        let value = if is_set { self.bit(node, index) } else { self.number(node, index) }?;
        let name = self.name(id, name, node);
        Some(Element { name: name.local, id: name.ns, value })
    }

    fn bit(&mut self, node: Node<'_>, index: usize) -> Option<u64> {
        if index >= SET_ELEMENTS_MAX {
            let message = format!("a set has more than {SET_ELEMENTS_MAX} elements");
            self.error(Code::S1, node, message, "split the set in two fields");
            return None;
        }
        Some(1 << index)
    }

    fn number(&mut self, node: Node<'_>, index: usize) -> Option<u64> {
        if index >= ENUM_ELEMENTS_MAX {
            let message = format!("an enum has more than {ENUM_ELEMENTS_MAX} elements");
            self.error(Code::S1, node, message, "use an integer field");
            return None;
        }
        let Some(text) = self.attribute(node, "value") else {
            return u64::try_from(index).ok();
        };
        match unsigned(text, Width::W64) {
            Ok(value) => Some(value),
            Err(expected) => {
                let message = format!("element value {} is not a number", quote(text));
                self.error(Code::S3, node, message, format!("write {expected}"));
                None
            }
        }
    }
}

/// Returns the value that a text denotes: an element by name, else by id, else a number.
pub(in crate::template) fn resolve_enum(
    text: &str,
    enumeration: &Enumeration,
) -> Result<u64, String> {
    if let Some(value) = named(text, enumeration)? {
        return Ok(value);
    }
    let number = unsigned(text, Width::W64).ok();
    number
        .filter(|number| enumeration.elements.iter().any(|element| element.value == *number))
        .ok_or_else(|| "the name of one of its elements".to_owned())
}

/// Returns the bits that a text denotes: an element, several separated by white space, or a number.
pub(in crate::template) fn resolve_set(
    text: &str,
    enumeration: &Enumeration,
) -> Result<u64, String> {
    if let Some(bit) = named(text, enumeration)? {
        return Ok(bit);
    }
    let mut bits = 0;
    let mut all_named = true;
    for word in text.split_ascii_whitespace() {
        match named(word, enumeration)? {
            Some(bit) => bits |= bit,
            None => all_named = false,
        }
    }
    if all_named {
        return Ok(bits);
    }
    let mask = enumeration.elements.iter().fold(0, |mask, element| mask | element.value);
    unsigned(text, Width::W64)
        .ok()
        .filter(|bits| bits & !mask == 0)
        .ok_or_else(|| "names of its elements, separated by spaces".to_owned())
}

/// Returns the value of the element with this name, else with this id.
fn named(text: &str, enumeration: &Enumeration) -> Result<Option<u64>, String> {
    let trimmed = text.trim();
    let by_name = |element: &&Element| *element.name == *text || *element.name == *trimmed;
    let by_id = |element: &&Element| {
        !element.id.is_empty() && (*element.id == *text || *element.id == *trimmed)
    };
    match sole(enumeration.elements.iter().filter(by_name))? {
        Some(value) => Ok(Some(value)),
        None => sole(enumeration.elements.iter().filter(by_id)),
    }
}

/// Returns the value that all of `elements` share.
fn sole<'e>(mut elements: impl Iterator<Item = &'e Element>) -> Result<Option<u64>, String> {
    let Some(first) = elements.next() else { return Ok(None) };
    if elements.all(|element| element.value == first.value) {
        Ok(Some(first.value))
    } else {
        Err("a name that only one element has".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enumeration(elements: &[(&str, &str, u64)]) -> Enumeration {
        let element = |&(name, id, value): &(&str, &str, u64)| Element {
            name: name.into(),
            id: id.into(),
            value,
        };
        Enumeration { name: "".into(), elements: elements.iter().map(element).collect() }
    }

    #[test]
    fn names_come_before_ids_and_ids_before_numbers() {
        let units = enumeration(&[("0", "Seconds", 0), ("3", "Milli", 1), ("10", "3", 2)]);
        assert_eq!(resolve_enum("3", &units), Ok(1));
        assert_eq!(resolve_enum("Milli", &units), Ok(1));
        assert_eq!(resolve_enum("2", &units), Ok(2));
        assert!(resolve_enum("7", &units).is_err());
    }

    #[test]
    fn a_name_of_two_values_is_refused() {
        let twice = enumeration(&[("a", "", 0), ("a", "", 1)]);
        assert!(resolve_enum("a", &twice).is_err());
        assert_eq!(resolve_enum("1", &twice), Ok(1));
    }

    #[test]
    fn sets_take_several_names_or_a_number() {
        let set = enumeration(&[("U", "", 1), ("R", "", 2), ("X", "", 4)]);
        assert_eq!(resolve_set("U X", &set), Ok(5));
        assert_eq!(resolve_set("", &set), Ok(0));
        assert_eq!(resolve_set("6", &set), Ok(6));
        assert!(resolve_set("8", &set).is_err());
        assert!(resolve_set("U Q", &set).is_err());
    }
}

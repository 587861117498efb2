//! A set of templates, with look-up by id and name.

use super::error::{ErrorList, TemplateErrors};
use super::limits::ParseLimits;
use super::model::{Location, Name, Template, TemplateId};
use super::{reader, references};
use std::collections::HashMap;

/// The checked templates of a file, in file order.
#[derive(Clone, Debug, Default)]
pub struct TemplateSet {
    templates: Vec<Template>,
    ids: HashMap<TemplateId, usize>,
    names: HashMap<Box<str>, Vec<usize>>,
    bottom_up: Vec<usize>,
}

impl TemplateSet {
    /// Reads a template file with the default limits.
    ///
    /// # Errors
    /// [`TemplateErrors`] with all errors in the file.
    pub fn parse(xml: &str) -> Result<Self, TemplateErrors> {
        Self::parse_with(xml, &ParseLimits::default())
    }

    /// Reads a template file with these limits.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_with(xml: &str, limits: &ParseLimits) -> Result<Self, TemplateErrors> {
        reader::read_text(xml, limits)
    }

    /// Reads the bytes of a template file: UTF-8, with or without a byte order mark.
    ///
    /// An XML declaration that names another encoding is ignored if the bytes are valid UTF-8.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and S1 for bytes in another encoding.
    pub fn parse_bytes(bytes: &[u8]) -> Result<Self, TemplateErrors> {
        Self::parse_bytes_with(bytes, &ParseLimits::default())
    }

    /// Reads the bytes of a template file with these limits.
    ///
    /// # Errors
    /// As [`parse_bytes`](Self::parse_bytes).
    pub fn parse_bytes_with(bytes: &[u8], limits: &ParseLimits) -> Result<Self, TemplateErrors> {
        reader::read_bytes(bytes, limits)
    }

    /// Builds a set from templates, and checks properties of the set as a whole: identifiers,
    /// static references and size. Operators and values are not checked.
    ///
    /// # Errors
    /// [`TemplateErrors`] for a duplicate identifier (S1), a static reference outside the set (D8),
    /// a cycle of static references (S1), or a limit.
    pub fn from_templates(
        templates: Vec<Template>,
        limits: &ParseLimits,
    ) -> Result<Self, TemplateErrors> {
        let mut errors = ErrorList::new(limits.errors_max);
        let bottom_up = references::check(&templates, limits, &mut errors);
        errors.finish()?;
        Ok(Self::index(templates, bottom_up))
    }

    /// Builds a set from checked templates.
    pub(super) fn index(templates: Vec<Template>, bottom_up: Vec<usize>) -> Self {
        let mut set = Self { templates, bottom_up, ..Self::default() };
        for (index, template) in set.templates.iter().enumerate() {
            if let Some(id) = template.id {
                set.ids.insert(id, index);
            }
            set.names.entry(template.name.local.clone()).or_default().push(index);
        }
        set
    }

    /// Adds the reset attribute to the template with this identifier; if the set has none, adds an
    /// empty template `Reset`. Some feeds send a reset message that their template file declares
    /// without the attribute, or not at all.
    #[must_use]
    pub fn with_reset_template(mut self, id: TemplateId) -> Self {
        if let Some(template) = self.by_id(id).and_then(|index| self.templates.get_mut(index)) {
            template.reset = true;
            return self;
        }
        self.bottom_up.push(self.templates.len());
        self.templates.push(Template {
            name: Name::local("Reset"),
            id: Some(id),
            application_type: None,
            reset: true,
            instructions: Vec::new(),
            attributes: Vec::new(),
            location: Location::default(),
        });
        Self::index(self.templates, self.bottom_up)
    }

    /// Returns all templates in file order.
    pub fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// Returns the index of the template with this identifier.
    pub fn by_id(&self, id: TemplateId) -> Option<usize> {
        self.ids.get(&id).copied()
    }

    /// Returns the template with this identifier.
    pub fn template(&self, id: TemplateId) -> Option<&Template> {
        self.templates.get(self.by_id(id)?)
    }

    /// Returns the first template with this local name, and its index. Names need not be unique:
    /// exchanges reuse them with other identifiers; see [`all_named`](Self::all_named).
    pub fn named(&self, name: &str) -> Option<(usize, &Template)> {
        self.all_named(name).next()
    }

    /// Returns every template with this local name, and its index, in file order.
    pub fn all_named(&self, name: &str) -> impl Iterator<Item = (usize, &Template)> {
        let indexes = self.names.get(name).map_or(&[][..], Vec::as_slice);
        indexes.iter().filter_map(|&index| Some((index, self.templates.get(index)?)))
    }

    /// Returns the indexes of all templates, each after the templates it references statically.
    pub fn bottom_up(&self) -> &[usize] {
        &self.bottom_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Instruction;

    fn template(name: &str, id: Option<u32>, instructions: Vec<Instruction>) -> Template {
        Template {
            name: Name::local(name),
            id: id.map(TemplateId),
            application_type: None,
            reset: false,
            instructions,
            attributes: Vec::new(),
            location: Location::default(),
        }
    }

    #[test]
    fn templates_of_one_name_are_all_found() {
        let templates = vec![template("A", Some(1), vec![]), template("A", Some(2), vec![])];
        let set = TemplateSet::from_templates(templates, &ParseLimits::default()).unwrap();
        assert_eq!(set.named("A").map(|(index, _)| index), Some(0));
        assert_eq!(set.all_named("A").count(), 2);
        assert_eq!(set.by_id(TemplateId(2)), Some(1));
        assert!(set.named("B").is_none());
        assert!(set.template(TemplateId(3)).is_none());
    }

    #[test]
    fn a_reference_outside_the_set_is_refused() {
        let reference = Instruction::StaticRef(7, Location::default());
        let templates = vec![template("A", Some(1), vec![reference])];
        let errors = TemplateSet::from_templates(templates, &ParseLimits::default()).unwrap_err();
        assert_eq!(errors.errors[0].code, Some(crate::code::Code::D8));
    }

    #[test]
    fn a_reset_template_is_marked_or_added() {
        let set = TemplateSet::from_templates(
            vec![template("A", Some(1), Vec::new())],
            &ParseLimits::default(),
        )
        .expect("valid");
        let marked = set.clone().with_reset_template(TemplateId(1));
        assert_eq!(marked.templates().len(), 1);
        assert!(marked.templates()[0].reset);
        let added = set.with_reset_template(TemplateId(120));
        assert_eq!(added.by_id(TemplateId(120)), Some(1));
        assert!(added.template(TemplateId(120)).is_some_and(|template| template.reset));
        assert!(!added.templates()[0].reset);
    }
}

//! The fields that a projection stores, as [`tickwire_fast::CompileOptions::fields`] defines it.

use crate::GenerateError;
use std::cell::RefCell;
use std::collections::HashSet;
use tickwire_fast::template::Name;

/// The wanted fields, and which of them were found.
#[derive(Debug)]
pub(crate) struct Projection<'o> {
    fields: Option<&'o [String]>,
    found: RefCell<HashSet<&'o str>>,
}

impl<'o> Projection<'o> {
    pub(crate) fn of(fields: Option<&'o [String]>) -> Self {
        Self { fields, found: RefCell::default() }
    }

    /// True if every field is stored.
    pub(crate) fn is_complete(&self) -> bool {
        self.fields.is_none()
    }

    /// True if a field is wanted by name, path or id. Does not consider the fields that enclose it.
    pub(crate) fn wants(&self, path: &[String], name: &Name, id: Option<u32>) -> bool {
        let Some(fields) = self.fields else { return true };
        let path = match path.is_empty() {
            true => name.local.to_string(),
            false => format!("{}/{}", path.join("/"), name.local),
        };
        let id = id.map(|id| id.to_string());
        let is_given = |field: &&'o String| {
            ***field == *name.local || **field == path || Some(*field) == id.as_ref()
        };
        let hits: Vec<&'o str> = fields.iter().filter(is_given).map(String::as_str).collect();
        self.found.borrow_mut().extend(&hits);
        !hits.is_empty()
    }

    /// Returns an error for a field that no template has.
    pub(crate) fn check(&self) -> Result<(), GenerateError> {
        let found = self.found.borrow();
        match self.fields.unwrap_or_default().iter().find(|field| !found.contains(field.as_str())) {
            Some(field) => Err(GenerateError::UnknownField { field: field.clone() }),
            None => Ok(()),
        }
    }
}

//! Which fields a projection stores, as [`tickwire_fast::CompileOptions::fields`] says it.

use crate::GenerateError;
use std::cell::RefCell;
use std::collections::HashSet;
use tickwire_fast::template::Name;

/// The fields that are wanted, and which of them were found.
#[derive(Debug)]
pub(crate) struct Projection<'o> {
    fields: Option<&'o [String]>,
    found: RefCell<HashSet<&'o str>>,
}

impl<'o> Projection<'o> {
    pub(crate) fn of(fields: Option<&'o [String]>) -> Self {
        Self { fields, found: RefCell::default() }
    }

    /// Whether every field is stored.
    pub(crate) fn is_complete(&self) -> bool {
        self.fields.is_none()
    }

    /// Whether a field is wanted by name, path or id (what is around it may be wanted besides).
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

    /// Fails for a field that no template has.
    pub(crate) fn check(&self) -> Result<(), GenerateError> {
        let found = self.found.borrow();
        match self.fields.unwrap_or_default().iter().find(|field| !found.contains(field.as_str())) {
            Some(field) => Err(GenerateError::UnknownField { field: field.clone() }),
            None => Ok(()),
        }
    }
}

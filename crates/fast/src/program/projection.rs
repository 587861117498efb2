//! The fields that a projection stores, as [`CompileOptions::fields`](super::CompileOptions) names
//! them.

use super::CompileError;
use crate::template::Name;
use std::collections::HashSet;

/// The wanted fields, and which of them were found.
#[derive(Debug)]
pub struct Projection<'o> {
    fields: Option<&'o [String]>,
    wanted: HashSet<&'o str>,
    found: HashSet<&'o str>,
}

impl<'o> Projection<'o> {
    /// Creates the projection to these fields; `None` stores all.
    pub fn of(fields: Option<&'o [String]>) -> Self {
        let wanted = fields.unwrap_or_default().iter().map(String::as_str).collect();
        Self { fields, wanted, found: HashSet::new() }
    }

    /// True if every field is stored.
    pub fn is_complete(&self) -> bool {
        self.fields.is_none()
    }

    /// True if a field inside `path` is wanted by name, path or id. Does not consider the fields
    /// that enclose it.
    pub fn wants(&mut self, path: &[String], name: &Name, id: Option<u32>) -> bool {
        if self.is_complete() {
            return true;
        }
        let path = match path.is_empty() {
            true => name.local.to_string(),
            false => format!("{}/{}", path.join("/"), name.local),
        };
        let id = id.map(|id| id.to_string());
        let given = [Some(name.local.as_ref()), Some(path.as_str()), id.as_deref()];
        let hits = given.into_iter().flatten().filter_map(|name| self.wanted.get(name).copied());
        let count = hits.clone().count();
        self.found.extend(hits);
        count > 0
    }

    /// Checks that all wanted fields were found.
    ///
    /// # Errors
    /// [`CompileError::UnknownField`] for a field that no template has.
    pub fn check(&self) -> Result<(), CompileError> {
        let fields = self.fields.unwrap_or_default();
        match fields.iter().find(|field| !self.found.contains(field.as_str())) {
            Some(field) => Err(CompileError::UnknownField { field: field.clone() }),
            None => Ok(()),
        }
    }
}

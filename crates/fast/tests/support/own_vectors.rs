//! Reads the vectors of `crates/fast/testdata` for the tests that run them; `vectors.rs` documents
//! the format.

use std::path::Path;
use tickwire_fast::{Limits, ResetPolicy, TemplateSet};
use toml::{Table, Value};

/// A test vector.
pub struct Vector {
    /// Name of its file without the suffix.
    pub file: String,
    /// Its unique name.
    pub name: String,
    /// The complete table.
    pub table: Table,
}

/// Returns a string of a table.
pub fn text<'t>(table: &'t Table, key: &str) -> Option<&'t str> {
    table.get(key).map(|value| value.as_str().unwrap_or_else(|| panic!("{key} is not a string")))
}

/// Reads the vectors of all files in `folder`, sorted by file name.
pub fn all(folder: &Path) -> Vec<Vector> {
    let entries = std::fs::read_dir(folder).expect("testdata");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    let mut vectors: Vec<Vector> = Vec::new();
    for path in paths {
        let file = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let content = std::fs::read_to_string(&path).expect("UTF-8");
        let table: Table = content.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
        for vector in table["vector"].as_array().expect("vectors") {
            let table = vector.as_table().expect("a table").clone();
            let name = text(&table, "name").expect("a name").to_owned();
            let is_new = vectors.iter().all(|vector| vector.name != name);
            assert!(is_new, "{file}: two vectors {name}");
            vectors.push(Vector { file: file.clone(), name, table });
        }
    }
    vectors
}

impl Vector {
    /// Returns the template set: `fields` is the body of one template, `templates` are whole ones.
    pub fn template_set(&self) -> TemplateSet {
        let body = match (text(&self.table, "fields"), text(&self.table, "templates")) {
            (Some(fields), None) => format!("<template name='T' id='1'>{fields}</template>"),
            (None, Some(templates)) => templates.to_owned(),
            _ => panic!("{}, {}: give either fields or templates", self.file, self.name),
        };
        TemplateSet::parse(&format!("<templates>{body}</templates>"))
            .unwrap_or_else(|errors| panic!("{}, {}: {errors}", self.file, self.name))
    }

    /// Returns the limits for decoders and encoders.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for (name, value) in
            self.table.get("limits").and_then(Value::as_table).into_iter().flatten()
        {
            let value = u32::try_from(value.as_integer().expect("a limit")).expect("a limit");
            match name.as_str() {
                "entries_max" => limits.entries_max = value,
                "entries_total_max" => limits.entries_total_max = value,
                "string_max" => limits.string_max = value,
                "nesting_max" => limits.nesting_max = value,
                "stream_bytes_max" => limits.stream_bytes_max = value as usize,
                "message_bytes_max" => limits.message_bytes_max = value as usize,
                _ => panic!("no limit {name}"),
            }
        }
        limits
    }

    /// Returns the reset policy.
    pub fn reset_policy(&self) -> ResetPolicy {
        match text(&self.table, "reset") {
            None | Some("template") => ResetPolicy::Template,
            Some("never") => ResetPolicy::Never,
            Some("message") => ResetPolicy::Message,
            Some(other) => panic!("no reset policy {other}"),
        }
    }

    /// Returns the steps.
    pub fn steps(&self) -> impl Iterator<Item = &Table> {
        self.table["steps"]
            .as_array()
            .expect("steps")
            .iter()
            .map(|step| step.as_table().expect("a table"))
    }
}

/// True if dictionaries are reset before this step.
pub fn has_reset(step: &Table) -> bool {
    step.get("reset").is_some_and(|reset| reset.as_bool().expect("true or false"))
}

//! What a directory has of which capture.

use super::capture::Exported;
use crate::failure::Failure;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Name of the file.
const NAME: &str = "manifest.json";

/// The manifest of a directory. It is written anew, beside its place and renamed, with each capture.
pub struct Manifest {
    path: PathBuf,
    captures: Map<String, Value>,
}

impl Manifest {
    /// Reads the manifest of a directory. Without `goes_on` there must be none.
    pub fn open(directory: &Path, goes_on: bool) -> Result<Self, Failure> {
        let path = directory.join(NAME);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { path, captures: Map::new() });
            }
            Err(error) => return Err(Failure::file("read", path.display(), &error)),
        };
        if !goes_on {
            return Err(Failure::Usage(format!(
                "{} was exported to already: go on with --resume, replace its files with --force, or name \
                 another directory",
                directory.display()
            )));
        }
        let manifest: Result<Value, _> = serde_json::from_str(&text);
        let captures = manifest.ok().and_then(|manifest| manifest["captures"].as_object().cloned());
        let captures = captures.ok_or_else(|| {
            Failure::Usage(format!(
                "{} is no manifest of an export: name another directory",
                path.display()
            ))
        })?;
        Ok(Self { path, captures })
    }

    /// Whether a capture was exported as it is now.
    pub fn has(&self, capture: &Path) -> bool {
        let entry = self.captures.get(&key(capture));
        let (Some(entry), Some(state)) = (entry, state(capture)) else { return false };
        state.iter().all(|(name, value)| entry.get(name) == Some(value))
    }

    /// Adds what came of a capture.
    pub fn add(&mut self, capture: &Path, exported: &Exported) -> Result<(), Failure> {
        let rows: Map<String, Value> =
            exported.rows.iter().map(|(table, rows)| (table.clone(), json!(rows))).collect();
        let mut entry = state(capture).unwrap_or_default();
        entry.insert("packets".to_owned(), json!(exported.packets));
        entry.insert("messages".to_owned(), json!(exported.messages));
        entry.insert("errors".to_owned(), json!(exported.errors));
        entry.insert("rows".to_owned(), Value::Object(rows));
        self.captures.insert(key(capture), Value::Object(entry));
        let manifest = json!({ "version": env!("CARGO_PKG_VERSION"), "captures": &self.captures });
        let text = format!("{manifest:#}\n");
        let partial = self.path.with_extension("json.partial");
        fs::write(&partial, text)
            .and_then(|()| fs::rename(&partial, &self.path))
            .map_err(|error| Failure::file("write", self.path.display(), &error))
    }
}

/// A capture's name in the manifest.
fn key(capture: &Path) -> String {
    capture.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What changes when a capture does: bytes, and the time of the last change in nanoseconds since 1970.
fn state(capture: &Path) -> Option<Map<String, Value>> {
    let metadata = fs::metadata(capture).ok()?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let modified = u64::try_from(modified.as_nanos()).ok()?;
    let state = [("bytes", metadata.len()), ("modified_ns", modified)];
    Some(state.map(|(name, value)| (name.to_owned(), json!(value))).into_iter().collect())
}

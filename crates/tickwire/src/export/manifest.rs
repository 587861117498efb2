//! Manifest of a directory: the captures that were exported to it, and their counts.

use super::capture::{CaptureFileState, Exported};
use super::names::text_of;
use crate::failure::Failure;
use serde_json::{Map, Value, json};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tickwire_arrow::unfinished::{UnfinishedFile, hidden, sync_directory_of};

/// Name of the file.
const NAME: &str = "manifest.json";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How an export treats a directory that already has a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// It refuses the directory.
    Refused,
    /// Captures in the manifest are skipped.
    Resume,
    /// Files are replaced.
    Force,
}

/// The manifest of a directory. After each capture it is written to a temporary file and renamed.
///
/// While it is open no other process can export to the directory: each would overwrite the other's entries.
pub struct Manifest {
    directory: PathBuf,
    /// Lock file, removed at the end.
    _lock: UnfinishedFile,
    /// Settings that all files of the directory share: templates, dictionaries, framing, options.
    settings: Value,
    captures: Map<String, Value>,
}

impl Manifest {
    /// Reads the manifest of a directory.
    pub fn open(directory: &Path, settings: Value, again: Again) -> Result<Self, Failure> {
        let path = directory.join(NAME);
        let lock = UnfinishedFile::create(path.clone()).map_err(|error| {
            Failure::Usage(format!("{}: cannot export to it: {error}", directory.display()))
        })?;
        let directory = directory.to_owned();
        let mut manifest = Self { directory, _lock: lock, settings, captures: Map::new() };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(manifest),
            Err(error) => return Err(Failure::file("read", path.display(), &error)),
        };
        let known: Value = serde_json::from_str(&text).unwrap_or_default();
        let (Some(captures), Some(version)) =
            (known["captures"].as_object(), known["tickwire"].as_str())
        else {
            return Err(Failure::Usage(format!(
                "{} is not the manifest of an export: name another directory",
                path.display()
            )));
        };
        // Another version may write other columns.
        let is_same = known["settings"] == manifest.settings && version == VERSION;
        match again {
            Again::Refused => Err(Failure::Usage(format!(
                "{} already contains an export: continue with --resume, replace its files with --force, or name \
                 another directory",
                manifest.directory.display()
            ))),
            Again::Resume if !is_same => Err(Failure::Usage(format!(
                "{} was exported by another version of tickwire or with other templates, dictionaries, framing or \
                 options, and all files of a table need the same columns: replace them with --force, or name another \
                 directory",
                manifest.directory.display()
            ))),
            Again::Resume | Again::Force => {
                manifest.captures = captures.clone();
                if !is_same {
                    manifest.remove_all()?;
                }
                Ok(manifest)
            }
        }
    }

    /// Number of errors of a capture that was exported in its current state; `None` if it was not, or if one
    /// of its files is gone.
    pub fn errors_of(&self, capture: &Path, state: &CaptureFileState) -> Option<u64> {
        let entry = self.captures.get(&key(capture))?;
        let is_whole = || files_of(Some(entry)).all(|file| self.directory.join(file).exists());
        let is_exported = entry["state"] == state.json() && is_whole();
        is_exported.then(|| entry["errors"].as_u64().unwrap_or_default())
    }

    /// Refuses a capture whose name in the manifest belongs to a capture in another directory.
    pub fn check_place(&self, state: &CaptureFileState, capture: &Path) -> Result<(), Failure> {
        let Some(entry) = self.captures.get(&key(capture)) else { return Ok(()) };
        let place = &entry["state"]["path"];
        match *place == state.json()["path"] {
            true => Ok(()),
            false => Err(Failure::Usage(format!(
                "{}: another capture of this name, {place}, was exported to {}: name another directory",
                capture.display(),
                self.directory.display()
            ))),
        }
    }

    /// Adds the result of a capture and removes its old files that the new export did not write.
    pub fn add(&mut self, capture: &Path, exported: &Exported) -> Result<(), Failure> {
        let rows: Map<String, Value> =
            exported.rows.iter().map(|(table, rows)| (table.clone(), json!(rows))).collect();
        let entry = json!({
            "state": exported.state.json(),
            "sha256": exported.digest,
            "packets": exported.packets,
            "messages": exported.messages,
            "gaps": exported.gaps,
            "missing": exported.missing,
            "errors": exported.errors,
            "rows": rows,
            "files": exported.files,
        });
        let before = self.captures.insert(key(capture), entry);
        for file in files_of(before.as_ref()).filter(|file| !exported.files.contains(file)) {
            self.remove(&file)?;
        }
        self.write()
    }

    fn remove_all(&mut self) -> Result<(), Failure> {
        for entry in std::mem::take(&mut self.captures).values() {
            for file in files_of(Some(entry)) {
                self.remove(&file)?;
            }
        }
        self.write()
    }

    fn remove(&self, file: &str) -> Result<(), Failure> {
        let path = self.directory.join(file);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failure::file("remove", path.display(), &error))
            }
            _ => Ok(()),
        }
    }

    fn write(&self) -> Result<(), Failure> {
        let manifest = json!({
            "tickwire": VERSION,
            "settings": &self.settings,
            "captures": &self.captures,
        });
        let path = self.directory.join(NAME);
        let next = hidden(&path, "next");
        let write = || {
            let mut file = File::create(&next)?;
            file.write_all(format!("{manifest:#}\n").as_bytes())?;
            file.sync_all()?;
            fs::rename(&next, &path)?;
            sync_directory_of(&path)
        };
        write().map_err(|error| {
            // Nothing else uses the temporary file.
            let _ = fs::remove_file(&next);
            Failure::file("write", path.display(), &error)
        })
    }
}

/// The files of an entry, without paths that lead out of the directory.
fn files_of(entry: Option<&Value>) -> impl Iterator<Item = String> {
    let files = entry.and_then(|entry| entry["files"].as_array()).cloned().unwrap_or_default();
    let files = files.into_iter().filter_map(|file| file.as_str().map(str::to_owned));
    files.filter(|file| {
        Path::new(file).components().all(|part| matches!(part, std::path::Component::Normal(_)))
    })
}

/// A capture's name in the manifest.
fn key(capture: &Path) -> String {
    text_of(capture.file_name().unwrap_or_default())
}

//! The dictionaries of an engine's sessions, each loaded once.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tickwire_fix::Dictionary;
use tickwire_fix_session::settings::SessionSettings;
use tickwire_fix_session::{ApplVersion, BeginString, Dictionaries};

/// Most bytes of a dictionary file.
const DICTIONARY_LEN_MAX: u64 = 64 << 20;

/// Dictionaries that were already loaded; sessions share them.
#[derive(Debug, Default)]
pub(super) struct Library {
    shipped: HashMap<BeginString, Dictionaries>,
    files: HashMap<PathBuf, Arc<Dictionary>>,
}

impl Library {
    /// Returns the dictionaries that a session names, or the built-in ones.
    pub fn of(&mut self, session: &SessionSettings) -> Result<Option<Dictionaries>, String> {
        let settings = &session.dictionaries;
        if !settings.is_used {
            return Ok(None);
        }
        let version = session.config.id.begin_string;
        let mut dictionaries = match (&settings.session, version) {
            // A custom dictionary makes the built-in ones unnecessary.
            (Some(path), version) if version != BeginString::Fixt11 => {
                let built_in = |own: &mut Self| Ok(Some(own.shipped(version)?.session));
                Dictionaries { session: self.read_or(path, built_in)?, application: Vec::new() }
            }
            _ => self.shipped(version)?,
        };
        if let (Some(path), BeginString::Fixt11) = (&settings.session, version) {
            let built_in = dictionaries.session.clone();
            dictionaries.session = self.read_or(path, |_| Ok(Some(built_in)))?;
        }
        if let Some(path) = &settings.session
            && dictionaries.session.message(b"A").is_none()
        {
            let path = path.display();
            let help = match version {
                BeginString::Fixt11 => {
                    "; write a FIXT session's message dictionary as AppDataDictionary"
                }
                _ => "",
            };
            return Err(format!("dictionary {path}: no Logon, so no peer could log on{help}"));
        }
        let default = session.config.default_appl_ver_id.as_deref();
        let default = default.and_then(|text| ApplVersion::parse(text.as_bytes()));
        for (version, path) in &settings.application {
            let Some(version) = version.or(default) else { continue };
            let known = dictionaries.application.iter().find(|(known, _)| *known == version);
            let built_in = known.map(|(_, dictionary)| dictionary.clone());
            let dictionary = self.read_or(path, |_| Ok(built_in))?;
            dictionaries.application.retain(|(known, _)| *known != version);
            dictionaries.application.push((version, dictionary));
        }
        Ok(Some(dictionaries))
    }

    fn shipped(&mut self, version: BeginString) -> Result<Dictionaries, String> {
        if let Some(known) = self.shipped.get(&version) {
            return Ok(known.clone());
        }
        let read = Dictionaries::shipped(version).map_err(|problems| problems.to_string())?;
        Ok(self.shipped.entry(version).or_insert(read).clone())
    }

    /// Reads a dictionary; uses the built-in one of the version if the file does not exist.
    fn read_or(
        &mut self,
        path: &Path,
        built_in: impl FnOnce(&mut Self) -> Result<Option<Arc<Dictionary>>, String>,
    ) -> Result<Arc<Dictionary>, String> {
        if !matches!(path.try_exists(), Ok(false)) {
            return self.read(path);
        }
        match built_in(self)? {
            Some(dictionary) => {
                let path = path.display();
                tracing::warn!("there is no dictionary {path}: the built-in one is used");
                Ok(dictionary)
            }
            None => self.read(path),
        }
    }

    fn read(&mut self, path: &Path) -> Result<Arc<Dictionary>, String> {
        if let Some(known) = self.files.get(path) {
            return Ok(known.clone());
        }
        let read = read_dictionary(path)?;
        Ok(self.files.entry(path.to_owned()).or_insert(read).clone())
    }
}

fn read_dictionary(path: &Path) -> Result<Arc<Dictionary>, String> {
    let fail = |error: io::Error| format!("dictionary {}: {error}", path.display());
    let len = fs::metadata(path).map_err(fail)?.len();
    if len > DICTIONARY_LEN_MAX {
        return Err(format!("dictionary {}: {len} bytes exceed the limit", path.display()));
    }
    let bytes = fs::read(path).map_err(fail)?;
    let dictionary = Dictionary::parse_bytes(&bytes)
        .map_err(|problems| format!("dictionary {}:\n{problems}", path.display()))?;
    for warning in dictionary.warnings() {
        tracing::warn!("dictionary {}: {warning}", path.display());
    }
    Ok(Arc::new(dictionary))
}

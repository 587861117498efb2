//! Dictionaries for reading a message.

use crate::console::tell;
use crate::failure::Failure;
use crate::files;
use clap::Args;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use tickwire_fix::Dictionary;
use tickwire_fix::dictionary::{DictionaryProblem, shipped};
use tickwire_fix_text::Versions;

/// Longest dictionary that is read: five times the standard's largest.
const DICTIONARY_BYTES_MAX: u64 = 50 << 20;

/// Dictionaries that the user names; they replace the built-in ones.
#[derive(Debug, Args)]
pub struct DictionaryArgs {
    /// Dictionary: a QuickFIX or Orchestra file, or the name of a built-in one, such as FIX44.
    /// Default: by BeginString and application version
    #[arg(short, long, value_name = "DICT")]
    dictionary: Option<PathBuf>,
    /// Dictionary of header, trailer and session messages, for FIX 5.0 and later. Default: FIXT11
    #[arg(long, value_name = "DICT", requires = "dictionary")]
    session: Option<PathBuf>,
    /// Refuse dictionaries with flaws that other engines ignore: a tag or name defined twice, an
    /// undefined name in an unused component. Default: warn about them
    #[arg(long)]
    strict: bool,
}

impl DictionaryArgs {
    /// The dictionary of the application, if it is named.
    #[cfg(feature = "columns")]
    pub fn named(&self) -> Option<&Path> {
        self.dictionary.as_deref()
    }

    /// Reads the dictionaries.
    pub fn open(&self) -> Result<Versions, Failure> {
        self.open_with(|_| {})
    }

    /// Reads the dictionaries and passes the text of each one that an option names to `text`.
    pub fn open_with(&self, mut text: impl FnMut(&[u8])) -> Result<Versions, Failure> {
        let Some(path) = &self.dictionary else { return Ok(Versions::default()) };
        let mut read = |path: &Path| {
            let found = text_of(path)?;
            text(&found);
            parse(path, &found, self.strict)
        };
        let application = read(path)?;
        let session = self.session.as_deref().map(read).transpose()?;
        Ok(Versions::named(application, session))
    }
}

/// Reads a dictionary file, or a built-in dictionary by its name. Harmless flaws are errors if `is_strict`,
/// otherwise warnings.
pub fn read(path: &Path, is_strict: bool) -> Result<Dictionary, Failure> {
    parse(path, &text_of(path)?, is_strict)
}

/// Reads the text of a dictionary.
fn text_of(path: &Path) -> Result<Cow<'static, [u8]>, Failure> {
    let known = shipped::ALL.iter().find(|(name, _)| path.as_os_str() == *name);
    match known {
        Some((_, text)) => Ok(Cow::Borrowed(text.as_bytes())),
        None if !path.exists() && !files::is_standard(path) => {
            let names: Vec<&str> = shipped::ALL.iter().map(|(name, _)| *name).collect();
            let (path, names) = (files::name_of(path), names.join(", "));
            let text = format!("{path}: no such file, and not a built-in dictionary ({names})");
            Err(Failure::Usage(text))
        }
        None => {
            files::read_whole(path, DICTIONARY_BYTES_MAX, ": is it a dictionary?").map(Cow::Owned)
        }
    }
}

fn parse(path: &Path, text: &[u8], is_strict: bool) -> Result<Dictionary, Failure> {
    let name = files::name_of(path);
    let refused = |problems: &[DictionaryProblem]| {
        let lines = problems.iter().map(|problem| format!("{name}: {problem}"));
        let lines: Vec<String> = lines.collect();
        Failure::Data(format!("the dictionary cannot be used:\n{}", lines.join("\n")))
    };
    let parsed = Dictionary::parse_bytes(text);
    let dictionary = parsed.map_err(|problems| refused(&problems.0))?;
    match dictionary.warnings() {
        [] => {}
        warnings if is_strict => return Err(refused(warnings)),
        warnings => {
            for warning in warnings {
                tell!("warning: {name}: {warning}");
            }
        }
    }
    Ok(dictionary)
}

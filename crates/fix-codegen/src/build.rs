//! For build scripts: generates a source file from dictionary files.
//!
//! ```no_run
//! // In build.rs:
//! let out = std::path::Path::new(&std::env::var("OUT_DIR").expect("set by cargo")).join("messages.rs");
//! tickwire_fix_codegen::build::write("FIX44.xml".as_ref(), None, &["NewOrderSingle"], &out).expect("generated");
//! // In the crate: mod messages { include!(concat!(env!("OUT_DIR"), "/messages.rs")); }
//! ```

use std::fs;
use std::path::Path;

use tickwire_fix::Dictionary;

use crate::{FixCodegenError, FixGenerator};

/// Generates `out` from a QuickFIX or Orchestra dictionary, and a session dictionary for FIX 5.0
/// and later. If `messages` is empty, all messages are generated. Tells cargo to run again when a
/// dictionary changes.
///
/// # Errors
/// [`FixCodegenError::File`] with all problems of a dictionary, and the errors of [`FixGenerator::generate`].
pub fn write(
    dictionary: &Path,
    session: Option<&Path>,
    messages: &[&str],
    out: &Path,
) -> Result<(), FixCodegenError> {
    for path in [Some(dictionary), session].into_iter().flatten() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let application = read(dictionary)?;
    let session = session.map(read).transpose()?;
    let mut generator =
        FixGenerator::new(&application).session(session.as_ref().unwrap_or(&application));
    if !messages.is_empty() {
        generator = generator.messages(messages.iter().copied());
    }
    let source = generator.generate()?;
    fs::write(out, source).map_err(|error| file("write", out, &error))
}

fn read(path: &Path) -> Result<Dictionary, FixCodegenError> {
    let bytes = fs::read(path).map_err(|error| file("read", path, &error))?;
    let parsed = Dictionary::parse_bytes(&bytes);
    parsed.map_err(|problems| FixCodegenError::File(format!("{}: {problems}", path.display())))
}

fn file(action: &str, path: &Path, error: &std::io::Error) -> FixCodegenError {
    FixCodegenError::File(format!("cannot {action} {}: {error}", path.display()))
}

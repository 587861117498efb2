//! Why no source was generated.

use std::fmt;
use std::path::PathBuf;
use tickwire_fast::CompileError;
use tickwire_fast::template::TemplateErrors;

/// Why no source was generated.
#[derive(Debug)]
#[non_exhaustive]
pub enum GenerateError {
    /// The template file has errors.
    Templates(TemplateErrors),
    /// The template set does not compile, or the projection names a field that no template has.
    Compile(CompileError),
    /// No template has an id, so no message can be decoded.
    NoTemplateId,
    /// The set has more dictionary entries than generated code supports.
    TooManyEntries {
        /// Number of dictionary entries.
        entries: usize,
    },
    /// The generated text is not valid Rust: a bug of the generator.
    NotRust {
        /// Message of the Rust parser.
        message: String,
        /// The generated text.
        source: String,
    },
    /// A file could not be read or written, or a build script runs outside Cargo.
    File {
        /// The file.
        path: PathBuf,
        /// The attempted operation and its error.
        message: String,
    },
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Templates(errors) => write!(f, "{errors}"),
            Self::Compile(error) => write!(f, "{error}"),
            Self::NoTemplateId => f.write_str(
                "no template of the set has an id, so there is no message to decode: give the \
                 templates that stand alone an id attribute",
            ),
            Self::TooManyEntries { entries } => write!(
                f,
                "the template set uses {entries} dictionary entries; generated code numbers at most \
                 65535: generate from the templates you need only"
            ),
            Self::NotRust { message, .. } => {
                write!(
                    f,
                    "the generated source does not parse: {message}; this is an error in Tickwire"
                )
            }
            Self::File { path, message } => write!(f, "{}: {message}", path.display()),
        }
    }
}

impl std::error::Error for GenerateError {}

//! The type of a channel's samples.

use crate::error::ShmError;
use crate::layout::NAME_BYTES_MAX;

/// Name and digest of a sample type. A reader is refused unless both equal the writer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    name: String,
    digest: u64,
}

impl Schema {
    /// Describes a type by its name and its definition, for example its IDL text. Any change of the text makes another
    /// type.
    ///
    /// # Errors
    /// [`ShmError::SchemaName`] unless the name has 1 to 128 printable ASCII characters.
    pub fn new(name: &str, definition: &[u8]) -> Result<Self, ShmError> {
        let is_valid = (1..=NAME_BYTES_MAX).contains(&name.len())
            && name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        match is_valid {
            true => Ok(Self { name: name.to_owned(), digest: fnv1a(definition) }),
            false => Err(ShmError::SchemaName),
        }
    }

    /// A schema as a file states it. Names that [`Schema::new`] would reject are escaped.
    pub(crate) fn stated(name: &[u8], digest: u64) -> Self {
        Self { name: name.escape_ascii().to_string(), digest }
    }

    /// The type's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the FNV-1a hash (64 bits) of the type's definition.
    pub fn digest(&self) -> u64 {
        self.digest
    }
}

impl std::fmt::Display for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (digest {:016x})", self.name, self.digest)
    }
}

/// FNV-1a. It detects definitions that differ by accident; it does not resist an attacker.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

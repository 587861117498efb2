//! Limits on input.

/// Limits on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixLimits {
    /// Maximum number of fields in a message. Default 65,536.
    pub fields_max: usize,
    /// Maximum length of a message in bytes, from `8=` to the last delimiter. Default 1 MiB; at
    /// most 2 GiB.
    pub message_len_max: usize,
}

impl Default for FixLimits {
    fn default() -> Self {
        Self { fields_max: 65_536, message_len_max: 1 << 20 }
    }
}

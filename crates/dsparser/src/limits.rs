//! Limits on the size of a grammar.

/// Limits on the work that a grammar text can demand of the compiler. Exceeding one is an error of
/// the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrammarLimits {
    /// Bytes of the grammar text. Default 1 MiB.
    pub text_bytes_max: usize,
    /// Statements of the grammar. Default 4096.
    pub statements_max: usize,
    /// Blocks open at the same time. Default 32, which is also the maximum.
    pub nesting_max: usize,
    /// Bytes of one pattern. Default 1024.
    pub pattern_bytes_max: usize,
    /// Automaton states of one pattern or of one switch. Default 4096.
    pub pattern_states_max: usize,
    /// Automaton states of the whole program. Default 32768.
    pub states_max: usize,
    /// Included files in total. Default 64.
    pub files_max: usize,
    /// Names to which `READ` binds numbers. Default 32, which is also the maximum.
    pub names_max: usize,
    /// Statements after expanding every `CALL`. Default 65536.
    pub expanded_max: usize,
    /// Errors reported; further ones are only counted. Default 100.
    pub errors_max: usize,
}

/// Maximum nesting depth of any setting: the engines keep their counters in arrays of this size.
pub(crate) const NESTING_MAX: usize = 32;

/// Maximum number of names of any setting: the engines keep the numbers in arrays of this size.
pub(crate) const NAMES_MAX: usize = 32;

/// Maximum nesting depth of included files.
pub(crate) const INCLUDE_DEPTH_MAX: usize = 8;

impl Default for GrammarLimits {
    fn default() -> Self {
        Self {
            text_bytes_max: 1 << 20,
            statements_max: 4096,
            nesting_max: NESTING_MAX,
            pattern_bytes_max: 1024,
            pattern_states_max: 4096,
            states_max: 32_768,
            files_max: 64,
            names_max: NAMES_MAX,
            expanded_max: 65_536,
            errors_max: 100,
        }
    }
}

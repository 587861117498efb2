//! Limits on template files.

use crate::options::setters;

/// Limits on a template file. A file that exceeds one is rejected with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseLimits {
    /// Bytes of the file. Default 64 MiB.
    pub file_bytes_max: usize,
    /// Depth of XML elements, and of nested definitions, groups and references. Default 64; values
    /// above [`ParseLimits::DEPTH_CEILING`] are reduced to it.
    pub depth_max: usize,
    /// Templates in the set. Default 65,536.
    pub templates_max: usize,
    /// XML elements in the file. Default 1,048,576. The reader visits at most
    /// [`ParseLimits::VISITS_PER_ELEMENT`] times as many, however often definitions are used.
    pub elements_max: usize,
    /// Instructions of all templates together, with definitions and static references expanded.
    /// Default 524,288.
    pub instructions_max: usize,
    /// Bytes of all names, initial values and kept attributes of the model; inherited namespaces
    /// and expanded definitions count at each use. Default 256 MiB.
    pub text_bytes_max: usize,
    /// Errors to report; further ones are only counted. Default 100.
    pub errors_max: usize,
}

setters!(ParseLimits {
    file_bytes_max: usize,
    depth_max: usize,
    templates_max: usize,
    elements_max: usize,
    instructions_max: usize,
    text_bytes_max: usize,
    errors_max: usize,
});

impl ParseLimits {
    /// Largest usable [`ParseLimits::depth_max`]: deeper nesting could exhaust the stack.
    pub const DEPTH_CEILING: usize = 128;

    /// Limit on the average number of visits per element.
    pub const VISITS_PER_ELEMENT: usize = 32;

    pub(crate) fn visits(&self) -> usize {
        self.elements_max.saturating_mul(Self::VISITS_PER_ELEMENT)
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth_max.min(Self::DEPTH_CEILING)
    }
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self {
            file_bytes_max: 64 << 20,
            depth_max: 64,
            templates_max: 65_536,
            elements_max: 1 << 20,
            instructions_max: 1 << 19,
            text_bytes_max: 256 << 20,
            errors_max: 100,
        }
    }
}

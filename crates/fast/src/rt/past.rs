//! What is known of previous values before a segment is decoded: generated code has a form for each.

/// What is known of the entries that the fields of a segment use.
pub trait Past: sealed::Sealed {
    /// Each has a previous value.
    const IS_WARM: bool;
    /// Each was undefined and is marked as assigned beforehand; no two fields use the same.
    const IS_FRESH: bool;
    /// Each is marked as assigned already: the mark needs to be changed only where it is wrong.
    const IS_MARKED: bool = Self::IS_WARM || Self::IS_FRESH;
}

mod sealed {
    /// What can be known is what is here.
    pub trait Sealed {}
}

/// Nothing is known.
#[derive(Clone, Copy, Debug)]
pub struct Unknown;

/// All entries have a previous value.
#[derive(Clone, Copy, Debug)]
pub struct Warm;

/// The first values since the dictionaries were emptied. All entries were undefined and are marked as
/// assigned ([`State::mark_assigned`](super::State::mark_assigned)); what stays undefined is marked so again.
#[derive(Clone, Copy, Debug)]
pub struct Fresh;

impl sealed::Sealed for Unknown {}
impl sealed::Sealed for Warm {}
impl sealed::Sealed for Fresh {}

impl Past for Unknown {
    const IS_WARM: bool = false;
    const IS_FRESH: bool = false;
}

impl Past for Warm {
    const IS_WARM: bool = true;
    const IS_FRESH: bool = false;
}

impl Past for Fresh {
    const IS_WARM: bool = false;
    const IS_FRESH: bool = true;
}

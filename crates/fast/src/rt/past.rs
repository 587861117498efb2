//! Known state of previous values before a segment is decoded; generated code has a variant for
//! each.

/// Known state of the entries that a segment's fields use.
pub trait Past {
    /// All entries are assigned.
    const IS_WARM: bool;
    /// All entries were undefined and are marked as assigned in advance; no two fields share one.
    const IS_FRESH: bool;
    /// All entries are marked as assigned already: the state is written only if it changes.
    const IS_MARKED: bool = Self::IS_WARM || Self::IS_FRESH;
}

/// Unknown state: each entry is checked.
#[derive(Clone, Copy, Debug)]
pub struct Unknown;

/// All entries are assigned.
#[derive(Clone, Copy, Debug)]
pub struct Warm;

/// The first values after a reset. All entries were undefined and are marked as assigned
/// ([`ModuleState::mark_assigned`](super::ModuleState::mark_assigned)); fields without a value mark theirs as
/// undefined again.
#[derive(Clone, Copy, Debug)]
pub struct Fresh;

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

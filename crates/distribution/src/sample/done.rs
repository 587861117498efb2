//! The end of a feed, as in `idl/Done.idl`.

use super::Sample;
use crate::field::fields;

/// What a publisher writes once, after its last sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Done {
    /// Samples that the publisher wrote to all its topics together.
    pub samples: u64,
}

impl Done {
    /// The topic on which a publisher that was stopped says the same: its feed went on.
    pub const STOPPED_TOPIC: &str = "Stopped";
}

fields!("MiddlewareNewsBrief::Done" Done { ; samples "samples" });

impl Sample for Done {
    const TOPIC: &'static str = "Done";
}

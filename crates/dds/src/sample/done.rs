//! The end of a feed, as in `idl/Done.idl`.

use super::Sample;

/// What a publisher writes once, after its last sample.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Done {
    /// Samples that the publisher wrote to all its topics together.
    pub samples: u64,
}

impl Done {
    /// The topic on which a publisher that was stopped says the same: its feed went on.
    pub const STOPPED_TOPIC: &str = "Stopped";
}

impl Sample for Done {
    const TYPE_NAME: &'static str = "MiddlewareNewsBrief::Done";
    const TOPIC: &'static str = "Done";

    fn key(&self) -> Option<u32> {
        None
    }
}

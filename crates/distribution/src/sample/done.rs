//! The end of a feed, as in `idl/Done.idl` and `idl/Total.idl`.

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

/// What a publisher wrote to one of its topics; it writes one for each before [`Done`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Total {
    /// Name of the topic; the key.
    pub topic: String,
    /// Samples.
    pub samples: u64,
}

fields!("tickwire::Total" Total { topic "topic"; samples "samples" });

impl Sample for Total {
    const TOPIC: &'static str = "Total";
}

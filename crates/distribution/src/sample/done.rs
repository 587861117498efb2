//! The end of a feed, as in `idl/Done.idl` and `idl/Total.idl`.

use super::Sample;
use crate::field::fields;

/// The sample that a publisher writes once, after all others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Done {
    /// Samples that the publisher wrote to all its topics together.
    pub samples: u64,
}

impl Done {
    /// The topic on which a publisher writes the same sample if it was stopped before the end of its feed.
    pub const STOPPED_TOPIC: &str = "Stopped";
}

fields!("MiddlewareNewsBrief::Done" Done { ; samples "samples" });

impl Sample for Done {
    const TOPIC: &'static str = "Done";
}

/// Number of samples written to one topic. A publisher writes one for each of its topics before [`Done`].
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

//! The end of a feed, as in `idl/Done.idl` and `idl/Total.idl`, and marks of echoed samples.

use super::Sample;
use crate::fields;
use crate::transport::ParticipantId;

/// Announces the end of a feed; the last sample that a publisher writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Done {
    /// Number of samples that the publisher wrote to all its topics together.
    pub samples: u64,
}

impl Done {
    /// Topic to which a publisher writes this sample instead if it was stopped before the end of its feed.
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
    /// Number of samples.
    pub samples: u64,
}

fields!("tickwire::Total" Total { topic "topic"; samples "samples" });

impl Sample for Total {
    const TOPIC: &'static str = "Total";
}

/// The echo of a sample on a transport whose echoes are [marks](crate::EchoContents::Mark).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct EchoMark {
    /// Number of the sample at its writer, from 1; 0 if unknown.
    pub seq_num: u64,
    /// First half of the publisher's [`ParticipantId`]; both halves are 0 if it is unknown.
    pub publisher_high: u64,
    /// Second half.
    pub publisher_low: u64,
}

impl EchoMark {
    /// Creates the mark of a publisher's sample.
    pub(crate) fn of(seq_num: u64, publisher: Option<ParticipantId>) -> Self {
        let id = publisher.map_or(0, |ParticipantId(id)| u128::from_be_bytes(id));
        Self { seq_num, publisher_high: (id >> 64) as u64, publisher_low: id as u64 }
    }

    /// Returns the publisher of the sample; `None` if it is unknown.
    pub(crate) fn publisher(&self) -> Option<ParticipantId> {
        let id = u128::from(self.publisher_high) << 64 | u128::from(self.publisher_low);
        (id != 0).then(|| ParticipantId(id.to_be_bytes()))
    }
}

fields!("tickwire::EchoMark" EchoMark {
    ;
    seq_num "seq_num", publisher_high "publisher_high", publisher_low "publisher_low",
});

//! Publishes the samples of the order and market-data templates on their topics.

use super::{FilledSamples, SampleFiller};
use crate::delivery::{SecurityList, TopicSet};
use crate::publisher::Outlet;
use crate::{Change, MarketData, New, Quote, QuoteRequest, Remove};

/// Returns the topic sets of all samples that a filler can fill. A set has one topic, or one per security if
/// `securities` are given and its samples have a security.
#[must_use]
pub fn filled_sets(securities: Option<&SecurityList>) -> Vec<TopicSet> {
    let keyed = |alone: TopicSet, by_security: fn(&SecurityList) -> TopicSet| {
        securities.map_or(alone, by_security)
    };
    vec![
        TopicSet::of::<Quote>(),
        TopicSet::of::<New>(),
        TopicSet::of::<Change>(),
        TopicSet::of::<Remove>(),
        keyed(TopicSet::of::<MarketData>(), TopicSet::by_security::<MarketData>),
        keyed(TopicSet::of::<QuoteRequest>(), TopicSet::by_security::<QuoteRequest>),
    ]
}

/// Writes filled samples to a publisher of [`sets`](Self::sets).
#[derive(Debug)]
pub struct FilledTopics {
    sets: Vec<TopicSet>,
    change: usize,
    market_data: usize,
    new: usize,
    quote: usize,
    quote_request: usize,
    remove: usize,
}

impl FilledTopics {
    /// Creates the topic sets of the samples that `filler` fills.
    #[must_use]
    pub fn of(filler: &SampleFiller, securities: Option<&SecurityList>) -> Self {
        let mut sets = filled_sets(securities);
        sets.retain(|set| filler.makes(&set.name));
        // A set that is left out gets no index. The filler never fills its samples, so the index is never used.
        let index = |name| sets.iter().position(|set| set.name == name).unwrap_or(usize::MAX);
        Self {
            change: index("Change"),
            market_data: index("MarketData"),
            new: index("New"),
            quote: index("Quote"),
            quote_request: index("QuoteRequest"),
            remove: index("Remove"),
            sets,
        }
    }

    /// Returns the topic sets, in the order of their indexes.
    #[must_use]
    pub fn sets(&self) -> &[TopicSet] {
        &self.sets
    }

    /// Writes the samples of one message.
    ///
    /// # Errors
    /// Errors of the transport. A full buffer is not an error; it is counted.
    ///
    /// # Panics
    /// If the publisher does not have these sets, or `filled` comes from another filler.
    #[inline]
    pub fn publish<O: Outlet>(
        &self,
        publisher: &mut O,
        filled: FilledSamples<'_>,
    ) -> Result<(), O::Error> {
        match filled {
            FilledSamples::Change(sample) => publisher.publish(self.change, &sample),
            FilledSamples::MarketData(samples) => {
                samples.iter().try_for_each(|sample| publisher.publish(self.market_data, sample))
            }
            FilledSamples::New(sample) => publisher.publish(self.new, &sample),
            FilledSamples::Quote(sample) => publisher.publish(self.quote, &sample),
            FilledSamples::QuoteRequest(samples) => {
                samples.iter().try_for_each(|sample| publisher.publish(self.quote_request, sample))
            }
            FilledSamples::Remove(sample) => publisher.publish(self.remove, &sample),
            FilledSamples::Done | FilledSamples::Other => Ok(()),
        }
    }
}

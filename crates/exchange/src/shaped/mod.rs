//! Feeds in the shape of exchanges that still send FAST, for benchmarks and tests of decoders. This
//! project's own template files imitate their constructs, operators and sizes.
//!
//! The market behind them is that of the other feeds, but the messages do not determine books, so
//! the truth has none.

mod asts;
mod b3;
mod bse;
mod eurex;
mod mcx;
mod szse;
mod t7;

use crate::depth::{DepthEntry, DepthMarket, DepthTarget, ENTRIES_OF_EVENT_MAX};
use crate::draft::{DraftValue, MessageDraft};
use crate::error::ExchangeError;
use crate::market::MarketProfile;
use crate::options::FeedShape;
use crate::source::{EntryRoom, FeedSource, SourceMessage};
use crate::templates;
use crate::truth::TrueBook;
use std::sync::Arc;

/// Published price levels per side.
const DEPTH: usize = 10;
/// Maximum number of entries per message.
const ENTRIES_MAX: usize = 12;
/// Midnight of the simulated day in nanoseconds since 1970: 9 March 2016.
const DAY_NS: u64 = 1_457_481_600_000_000_000;
/// The simulated day in FIX form, YYYYMMDD.
const DATE: u64 = 20_160_309;

impl FeedShape {
    /// Returns the template file.
    pub(crate) fn templates(self) -> &'static str {
        match self {
            Self::Asts => templates::ASTS,
            Self::B3 => templates::B3,
            Self::Bse => templates::BSE,
            Self::Eurex => templates::EUREX,
            Self::Mcx => templates::MCX,
            Self::Szse => templates::SZSE,
        }
    }

    /// True if each packet begins with a packet header and a message that resets the dictionaries.
    fn has_packet_header(self) -> bool {
        matches!(self, Self::Bse | Self::Eurex | Self::Mcx)
    }

    /// Returns the percentage of events that concern another security than the event before.
    fn split_percent(self) -> u8 {
        match self {
            Self::Asts => 60,
            Self::B3 | Self::Bse | Self::Mcx => 20,
            Self::Eurex | Self::Szse => 0,
        }
    }

    /// Returns the maximum number of entries in an incremental message.
    fn entries_max(self) -> usize {
        match self {
            Self::Asts => 8,
            Self::B3 | Self::Bse | Self::Mcx => 5,
            Self::Eurex => 1,
            Self::Szse => 10,
        }
    }

    fn draft(self, told: &MessageInputs<'_>) -> MessageDraft {
        match self {
            Self::Asts => asts::draft(told),
            Self::B3 => b3::draft(told),
            Self::Bse => bse::draft(told),
            Self::Eurex => eurex::draft(told),
            Self::Mcx => mcx::draft(told),
            Self::Szse => szse::draft(told),
        }
    }
}

/// Period, in message numbers, of the optional parts of Eurex reference data: the least common
/// multiple of 3, 20 and 64.
const NUMBERS: u64 = 960;

/// The inputs of one message.
struct MessageInputs<'a> {
    entries: &'a [DepthEntry],
    time_ms: u64,
    /// Number of the message in the feed.
    number: u64,
    /// A number from 0 to 99 that selects the kind of message.
    choice: u8,
}

impl MessageInputs<'_> {
    /// Returns microseconds since midnight, with synthetic digits below the millisecond.
    fn time_us(&self) -> u64 {
        self.time_ms * 1_000 + self.number * 37 % 1_000
    }

    /// Returns nanoseconds since 1970.
    fn time_ns(&self) -> u64 {
        DAY_NS + self.time_us() * 1_000 + self.number * 89 % 1_000
    }

    /// Returns the time of day as digits, HHMMSSmmm.
    fn clock(&self) -> u64 {
        let (seconds, ms) = (self.time_ms / 1_000, self.time_ms % 1_000);
        let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        ((hours * 100 + minutes) * 100 + seconds) * 1_000 + ms
    }
}

/// Returns a string created at run time.
fn name(text: impl Into<Arc<str>>) -> DraftValue {
    DraftValue::Name(text.into())
}

/// Returns a byte vector.
fn bytes(bytes: &[u8]) -> DraftValue {
    DraftValue::Bytes(bytes.into())
}

/// A feed in one of the shapes.
#[derive(Debug)]
pub(crate) struct Shaped {
    shape: FeedShape,
    depth: DepthMarket,
    /// Number of messages per packet, including header and reset.
    packet_messages: u64,
    number: u64,
}

impl Shaped {
    pub(crate) fn new(
        shape: FeedShape,
        securities: u32,
        seed: u64,
        packet_messages: usize,
    ) -> Self {
        let profile = MarketProfile {
            securities,
            first_id: 20_001,
            id_step: 17,
            depth: DEPTH,
            price_ticks: 5_000..=200_000,
            tick: 5,
            exponent: |index| [-2, -2, -4, 0][index as usize % 4],
            lots: 1..=40,
            lot: 10,
        };
        let depth = DepthMarket::new(profile, seed);
        Self { shape, depth, packet_messages: packet_messages as u64, number: 0 }
    }

    /// Returns the packet header or the reset, if the next message is one of them.
    fn opening(&self) -> Option<MessageDraft> {
        if !self.shape.has_packet_header() {
            return None;
        }
        match self.number % self.packet_messages {
            0 => Some(t7::packet_header(self.number, DAY_NS + self.time_ms() * 1_000_000)),
            1 => Some(t7::reset()),
            _ => None,
        }
    }
}

impl FeedSource for Shaped {
    fn next(&mut self, _: &mut EntryRoom<'_>) -> Result<SourceMessage, ExchangeError> {
        let opening = self.opening();
        self.number += 1;
        let draft = match opening {
            Some(draft) => draft,
            None => {
                let market = &mut self.depth.market;
                market.advance(4);
                let wanted = DepthTarget {
                    entries: market.random.usize(1..=self.shape.entries_max()),
                    entries_sure: usize::MAX,
                    split_percent: self.shape.split_percent(),
                };
                let (time_ms, choice) = (market.time_ms, market.random.u8(0..100));
                let entries = self.depth.entries(wanted, |_| Ok(None))?;
                self.shape.draft(&MessageInputs { entries, time_ms, number: self.number, choice })
            }
        };
        Ok(SourceMessage { draft, books: Vec::new(), time_ms: self.time_ms() })
    }

    /// Returns messages of every kind. For Eurex reference data, whose contents depend only on the
    /// message's number, these are `NUMBERS` consecutive messages, which contain every combination
    /// of optional parts. Another number may still give a message that is a few bytes longer; if it
    /// does not fit its packet, it is refused with `PacketTooSmall` when it is created.
    fn largest(&self) -> Vec<MessageDraft> {
        let time_ms = 86_399_999;
        let last = u64::from(u32::MAX);
        if self.shape == FeedShape::Eurex {
            let told = |number| {
                [0, 99].map(|choice| {
                    self.shape.draft(&MessageInputs { entries: &[], time_ms, number, choice })
                })
            };
            return (last - NUMBERS..last).flat_map(told).collect();
        }
        let of_choice = |choice| {
            DepthEntry::largest(ENTRIES_MAX + ENTRIES_OF_EVENT_MAX).map(|entries| {
                self.shape.draft(&MessageInputs {
                    entries: &entries,
                    time_ms,
                    number: last,
                    choice,
                })
            })
        };
        (0..100).flat_map(of_choice).collect()
    }

    fn done(&self) -> Option<MessageDraft> {
        None
    }

    fn books(&self) -> Vec<TrueBook> {
        Vec::new()
    }

    fn time_ms(&self) -> u64 {
        self.depth.market.time_ms
    }
}

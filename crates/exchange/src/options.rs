//! Options of a feed.

use crate::error::ExchangeError;
use crate::packer::PACKET_BYTES_MAX;
use tickwire_feed::framing::Framing;

/// Maximum number of securities of a feed.
const SECURITIES_MAX: u32 = 10_000;

/// Maximum average number of entries per message.
const ENTRIES_MEAN_MAX: u32 = 500;

/// The distribution of message sizes in a cme feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CmeShape {
    /// Like a whole day of all channels: 4.83 entries per message on average, 116 at most.
    #[default]
    Average,
    /// Like the average message of channel 9: 4 entries, most of them for another security than the
    /// one before, 79 bytes.
    Channel9,
    /// Like the average message of channel 11: 1 entry, 36 bytes.
    Channel11,
}

/// The exchange whose feed a shaped feed imitates: its constructs, operators and template sizes,
/// but not its market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedShape {
    /// Moscow, ASTS: plain decimals with copy, strings longer than seven bytes, byte vectors in
    /// definitions, sequences to depth 2; one message per packet.
    Asts,
    /// B3, UMDF: decimals in parts, defaults without value, long order ids, optional inner
    /// sequences; one message per packet.
    B3,
    /// BSE India, EMDI: packet headers with byte vectors, optional groups in entries, 64-bit times;
    /// 16 messages per packet.
    Bse,
    /// Eurex T7, RDI: string deltas, optional groups, sequences to depth 3; 16 messages per packet.
    Eurex,
    /// MCX India, MDI: enums, sets and timestamps, optional groups; 16 messages per packet.
    Mcx,
    /// Shenzhen, STEP: operators that share entries by key, sequences with implicit length; up to
    /// three messages per packet.
    Szse,
}

impl FeedShape {
    /// All shapes.
    pub const ALL: [Self; 6] =
        [Self::Asts, Self::B3, Self::Bse, Self::Eurex, Self::Mcx, Self::Szse];

    /// Returns the name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Asts => "asts",
            Self::B3 => "b3",
            Self::Bse => "bse",
            Self::Eurex => "eurex",
            Self::Mcx => "mcx",
            Self::Szse => "szse",
        }
    }

    /// Returns the maximum number of messages per packet.
    fn packet_messages(self) -> usize {
        match self {
            Self::Asts | Self::B3 => 1,
            Self::Bse | Self::Eurex | Self::Mcx => 16,
            Self::Szse => 3,
        }
    }
}

/// The kind of feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedKind {
    /// Price levels, trades and statistics: MDIncrementalRefresh messages of
    /// [`templates::CME`](crate::templates::CME), ten levels per side, and snapshots on a separate
    /// channel: [`Generator::snapshot`](crate::Generator::snapshot). No Done message.
    Cme {
        /// Distribution of message sizes.
        shape: CmeShape,
        /// True if books are full and RptSeq is far from 1 when the feed begins, so that receivers
        /// need a snapshot.
        mid_session: bool,
    },
    /// Price levels, trades and quote requests: MarketData messages and 1 % QuoteRequest messages
    /// of [`templates::COMPLEX`](crate::templates::COMPLEX). Five levels per side.
    Complex {
        /// Average number of entries per MarketData message, 1 to 500. Each message has from 1 to
        /// twice this number less 1, if its packet has room.
        entries_mean: u32,
        /// True if a message may cover several securities.
        split: bool,
    },
    /// Market data whose values have unpredictable lengths, for benchmarks: MarketData messages of
    /// [`templates::RANDOM_CME`](crate::templates::RANDOM_CME) with 1 to 12 entries, 2.9 on
    /// average, 12 % of them trades. The values form no books, so the truth has none, and the
    /// number of securities is ignored.
    RandomCme,
    /// Messages in the shape of an exchange that still sends FAST, for benchmarks and tests of
    /// decoders. The messages do not determine books, so the truth has none.
    Shaped(FeedShape),
    /// Every order: Quote, New, Change and Remove messages of
    /// [`templates::SIMPLE`](crate::templates::SIMPLE), about equally many of each.
    Simple,
}

/// Properties of a feed. Start from one of the constructors and change individual fields.
#[derive(Clone, Debug)]
pub struct Options {
    /// The kind of feed.
    pub feed: FeedKind,
    /// Seed; the same seed gives the same feed.
    pub seed: u64,
    /// Number of messages, without the Done message. Default 30,000.
    pub messages: u64,
    /// True if a Done message ends the feed. Default: if the feed has one.
    pub done: bool,
    /// Maximum length of a packet in bytes, including the preamble.
    pub packet_bytes_max: usize,
    /// Maximum number of messages per packet, at least 1; use 1 to imitate exchanges that send one.
    pub messages_per_packet_max: usize,
    /// Number of securities of the feed. Default 100, up to 10,000.
    pub securities: u32,
    /// Framing: writes a preamble with the packet's sequence number, and defines when dictionaries
    /// are reset. Default none: bare FAST, dictionaries reset before every packet.
    pub framing: Option<Framing>,
    /// Sequence number of the first packet. Default 1.
    pub first_seq_num: u64,
}

/// Sequence number of the first packet of a session in progress: three bytes on the wire.
const MID_SESSION_SEQ_NUM: u64 = 1_000_000;

impl Options {
    /// Returns options of the cme feed from the start of a session: one message per packet, at most
    /// 1,472 bytes.
    ///
    /// The shapes of single channels start in the middle of a session, as their messages' sizes
    /// require.
    pub fn cme(shape: CmeShape) -> Self {
        let mid_session = shape != CmeShape::Average;
        Self {
            feed: FeedKind::Cme { shape, mid_session },
            packet_bytes_max: 1_472,
            messages_per_packet_max: 1,
            first_seq_num: if mid_session { MID_SESSION_SEQ_NUM } else { 1 },
            ..Self::simple()
        }
    }

    /// Returns options of the complex feed: three entries per message, one message per packet.
    pub fn complex() -> Self {
        Self {
            feed: FeedKind::Complex { entries_mean: 3, split: true },
            packet_bytes_max: PACKET_BYTES_MAX,
            messages_per_packet_max: 1,
            ..Self::simple()
        }
    }

    /// Returns options of the simple feed: packets of at most 1024 bytes with as many messages as
    /// fit.
    pub fn simple() -> Self {
        Self {
            feed: FeedKind::Simple,
            seed: 1,
            messages: 30_000,
            done: true,
            packet_bytes_max: 1_024,
            messages_per_packet_max: usize::MAX,
            securities: 100,
            framing: None,
            first_seq_num: 1,
        }
    }

    /// Returns options of market data for benchmarks, one message per packet. Use a long feed:
    /// after some passes a branch predictor has learnt 30,000 messages, but not a million.
    pub fn random_cme() -> Self {
        Self {
            feed: FeedKind::RandomCme,
            packet_bytes_max: 1_472,
            messages_per_packet_max: 1,
            ..Self::simple()
        }
    }

    /// Returns options of a feed in the shape of an exchange, with its number of messages per
    /// packet.
    pub fn shaped(shape: FeedShape) -> Self {
        Self {
            feed: FeedKind::Shaped(shape),
            packet_bytes_max: PACKET_BYTES_MAX,
            messages_per_packet_max: shape.packet_messages(),
            ..Self::simple()
        }
    }

    pub(crate) fn check(&self) -> Result<(), ExchangeError> {
        if !(1..=SECURITIES_MAX).contains(&self.securities) {
            let securities = self.securities;
            return Err(ExchangeError::Securities { securities, securities_max: SECURITIES_MAX });
        }
        if self.packet_bytes_max > PACKET_BYTES_MAX {
            let bytes = self.packet_bytes_max;
            return Err(ExchangeError::PacketTooLarge { bytes, bytes_max: PACKET_BYTES_MAX });
        }
        if let FeedKind::Complex { entries_mean: entries, .. } = self.feed
            && !(1..=ENTRIES_MEAN_MAX).contains(&entries)
        {
            return Err(ExchangeError::EntriesMean { entries, entries_max: ENTRIES_MEAN_MAX });
        }
        let last = self.first_seq_num.saturating_add(self.messages);
        if last > u32::MAX.into() {
            return Err(ExchangeError::SeqNumTooLarge { last });
        }
        Ok(())
    }
}

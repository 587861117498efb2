//! What feed to make.

use crate::error::Error;
use crate::packer::PACKET_BYTES_MAX;
use tickwire_feed::framing::Framing;

/// Most securities of a feed.
const SECURITIES_MAX: u32 = 10_000;

/// Most entries a message on average.
const ENTRIES_MEAN_MAX: u32 = 500;

/// How the messages of a cme feed are sized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CmeShape {
    /// As a whole day of all channels: 4.83 entries a message on average, 116 at most.
    #[default]
    Average,
    /// As the average message of channel 9: 4 entries, most of them about another security than the
    /// one before, 79 bytes.
    Channel9,
    /// As the average message of channel 11: 1 entry, 36 bytes.
    Channel11,
}

/// The exchange whose feed a shaped feed is like: its constructs, operators and sizes of templates, not its market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedShape {
    /// Moscow, ASTS: plain decimals with copy, strings longer than seven bytes, byte vectors in definitions, sequences
    /// to depth 2; one message a packet.
    Asts,
    /// B3, UMDF: decimals in parts, defaults without value, long order ids, optional inner sequences; one message a packet.
    B3,
    /// BSE India, EMDI: packet headers with byte vectors, optional groups in entries, times of 64 bits; 16 messages a packet.
    Bse,
    /// Eurex T7, RDI: string deltas, optional groups, sequences to depth 3; 16 messages a packet.
    Eurex,
    /// MCX India, MDI: enums, sets and timestamps, optional groups; 16 messages a packet.
    Mcx,
    /// Shenzhen, STEP: operators that share entries by key, sequences with implicit length; up to three messages a packet.
    Szse,
}

impl FeedShape {
    /// All.
    pub const ALL: [Self; 6] =
        [Self::Asts, Self::B3, Self::Bse, Self::Eurex, Self::Mcx, Self::Szse];

    /// Name in lower case.
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

    /// Most messages of a packet.
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
pub enum Feed {
    /// Price levels, trades and statistics: MDIncrementalRefresh messages of
    /// [`templates::CME`](crate::templates::CME), ten levels a side, and snapshots on a channel of
    /// their own: [`Generator::snapshot`](crate::Generator::snapshot). No Done message.
    Cme {
        /// How messages are sized.
        shape: CmeShape,
        /// Whether books are full and RptSeq is far from 1 when the feed begins, so that books need
        /// a snapshot.
        mid_session: bool,
    },
    /// Price levels, trades and quote requests: MarketData messages and a hundredth QuoteRequest
    /// messages of [`templates::COMPLEX`](crate::templates::COMPLEX). Five levels a side.
    Complex {
        /// Entries a MarketData message on average; each has from 1 to twice this less 1, if its
        /// packet has room. 1 to 500.
        entries_mean: u32,
        /// Whether a message tells of several securities.
        split: bool,
    },
    /// Market data whose values have unpredictable lengths, for benchmarks: MarketData messages of
    /// [`templates::RANDOM_CME`](crate::templates::RANDOM_CME) with 1 to 12 entries, 2.9 on average,
    /// 12 % of them trades. Nothing in it is a book, so the truth has none; securities do not count.
    RandomCme,
    /// Messages shaped as those of an exchange that still sends FAST, for benchmarks and tests of decoders. Books cannot be
    /// rebuilt from it, so the truth has none.
    Shaped(FeedShape),
    /// Every order: Quote, New, Change and Remove messages of [`templates::SIMPLE`](crate::templates::SIMPLE),
    /// about equally many.
    Simple,
}

/// What feed to make. Start from one of the constructors and change what should be otherwise.
#[derive(Clone, Debug)]
pub struct Options {
    /// The kind of feed.
    pub feed: Feed,
    /// The same seed gives the same feed.
    pub seed: u64,
    /// Messages, without the Done message. Default 30,000.
    pub messages: u64,
    /// Whether a Done message ends the feed. Default: if the feed has one.
    pub done: bool,
    /// Bytes of a packet, preamble included.
    pub packet_bytes_max: usize,
    /// Messages of a packet, at least 1; 1 where exchanges send one.
    pub messages_per_packet_max: usize,
    /// Securities of the feed. Default 100, up to 10,000.
    pub securities: u32,
    /// Writes a preamble with the packet's sequence number, and resets dictionaries as that
    /// framing does. Default none: bare FAST, dictionaries reset before every packet.
    pub framing: Option<Framing>,
    /// Number of the first packet. Default 1.
    pub first_seq_num: u64,
}

/// Number of the first packet of a session that has begun: three bytes.
const MID_SESSION_SEQ_NUM: u64 = 1_000_000;

impl Options {
    /// The cme feed from the start of a session: one message a packet, at most 1,472 bytes.
    ///
    /// The channels are in the middle of a session, as their messages' sizes say.
    pub fn cme(shape: CmeShape) -> Self {
        let mid_session = shape != CmeShape::Average;
        Self {
            feed: Feed::Cme { shape, mid_session },
            packet_bytes_max: 1_472,
            messages_per_packet_max: 1,
            first_seq_num: if mid_session { MID_SESSION_SEQ_NUM } else { 1 },
            ..Self::simple()
        }
    }

    /// The complex feed: three entries a message, one message a packet.
    pub fn complex() -> Self {
        Self {
            feed: Feed::Complex { entries_mean: 3, split: true },
            packet_bytes_max: PACKET_BYTES_MAX,
            messages_per_packet_max: 1,
            ..Self::simple()
        }
    }

    /// The simple feed: packets of at most 1024 bytes with as many messages as fit.
    pub fn simple() -> Self {
        Self {
            feed: Feed::Simple,
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

    /// Market data for benchmarks, one message a packet. Make it long: 30,000 messages are learnt by a
    /// branch predictor after some passes, a million are not.
    pub fn random_cme() -> Self {
        Self {
            feed: Feed::RandomCme,
            packet_bytes_max: 1_472,
            messages_per_packet_max: 1,
            ..Self::simple()
        }
    }

    /// A feed shaped as that of an exchange, in packets as that sends them.
    pub fn shaped(shape: FeedShape) -> Self {
        Self {
            feed: Feed::Shaped(shape),
            packet_bytes_max: PACKET_BYTES_MAX,
            messages_per_packet_max: shape.packet_messages(),
            ..Self::simple()
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if !(1..=SECURITIES_MAX).contains(&self.securities) {
            let securities = self.securities;
            return Err(Error::Securities { securities, securities_max: SECURITIES_MAX });
        }
        if self.packet_bytes_max > PACKET_BYTES_MAX {
            let bytes = self.packet_bytes_max;
            return Err(Error::PacketTooLarge { bytes, bytes_max: PACKET_BYTES_MAX });
        }
        if let Feed::Complex { entries_mean: entries, .. } = self.feed
            && !(1..=ENTRIES_MEAN_MAX).contains(&entries)
        {
            return Err(Error::EntriesMean { entries, entries_max: ENTRIES_MEAN_MAX });
        }
        let last = self.first_seq_num.saturating_add(self.messages);
        if last > u32::MAX.into() {
            return Err(Error::SeqNumTooLarge { last });
        }
        Ok(())
    }
}

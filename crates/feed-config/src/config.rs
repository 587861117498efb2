//! The model of a feed file.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tickwire_feed::framing::{Framing, FramingResetPolicy, ParseFramingError};

/// The channels of a feed, and default settings for all channels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeedConfig {
    /// One line about the feed.
    pub description: Option<String>,
    /// Settings of every channel that does not set its own.
    pub defaults: HandlerConfig,
    /// The channels in the order of the file; names are unique.
    pub channels: Vec<ChannelConfig>,
    /// Directory that template paths are relative to; set by [`FeedConfig::load`], not written.
    pub dir: PathBuf,
}

/// A channel: one sequence of numbered packets on one or two lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChannelConfig {
    /// Name of the channel, as passed to `--channel`.
    pub name: String,
    /// One line about the channel.
    pub description: Option<String>,
    /// The incremental feed.
    pub lines: LinesConfig,
    /// The snapshot feed.
    pub snapshots: LinesConfig,
    /// The feed of instrument definitions.
    pub definitions: LinesConfig,
    /// The TCP service that sends lost messages again.
    pub replay: Option<ReplayConfig>,
    /// Instruments known beforehand.
    pub instruments: Vec<InstrumentConfig>,
    /// Settings of this channel alone.
    pub settings: HandlerConfig,
}

/// Lines A and B of one feed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinesConfig {
    /// Line A.
    pub a: Option<Address>,
    /// Line B.
    pub b: Option<Address>,
}

/// Source of the packets of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Address {
    /// A UDP group.
    Group {
        /// Multicast group, or the address of one host for unicast.
        group: Ipv4Addr,
        /// UDP port.
        port: u16,
        /// Address of the sender, for source-specific multicast.
        source: Option<Ipv4Addr>,
        /// Name or address of the local interface.
        interface: Option<String>,
    },
    /// A capture file, relative to the feed file.
    Capture(PathBuf),
}

/// A TCP service that sends lost messages again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayConfig {
    /// Servers as `HOST:PORT`, tried in this order.
    pub addresses: Vec<String>,
    /// Name and password.
    pub login: Login,
    /// Most requests per session; the exchange refuses more.
    pub requests_max: Option<u32>,
    /// Most messages per request.
    pub messages_max: Option<u32>,
    /// Longest wait for an answer.
    pub timeout: Option<Duration>,
}

/// Name and password of a replay service. `Debug` hides the password.
#[derive(Clone, Default, PartialEq)]
pub struct Login {
    /// Username (553).
    pub user: Option<String>,
    /// Password (554).
    pub password: Option<String>,
    /// Environment variable that holds the password.
    pub password_env: Option<String>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "..."))
            .field("password_env", &self.password_env)
            .finish()
    }
}

/// An instrument known beforehand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstrumentConfig {
    /// SecurityID (48), or another key in the form that book lines print.
    pub id: String,
    /// Symbol (55).
    pub symbol: Option<String>,
    /// Smallest price step, a plain decimal.
    pub tick: Option<String>,
}

/// How a channel is decoded, arbitrated and kept in books. Absent values take the program's defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HandlerConfig {
    /// Template files that form one set, relative to the feed file; empty if not set.
    pub templates: Vec<PathBuf>,
    /// Framing of the packets.
    pub framing: Option<FramingText>,
    /// When dictionaries are reset, if it differs from the framing.
    pub reset: Option<FramingResetPolicy>,
    /// Position of sequence numbers; derived from framing and templates if absent.
    pub seq_num: Option<SeqNumSource>,
    /// Name or address of the local interface, for lines that do not set theirs.
    pub interface: Option<String>,
    /// Lines A and B.
    pub arbitration: ArbitrationConfig,
    /// Gaps and snapshots.
    pub recovery: RecoveryConfig,
    /// Books.
    pub books: BooksConfig,
}

/// How lines A and B are arbitrated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArbitrationConfig {
    /// Longest wait for a missing packet.
    pub hold: Option<Duration>,
    /// How far one line may be behind the other.
    pub skew: Option<Duration>,
    /// Longest silence of a line that still counts as alive.
    pub heartbeat: Option<Duration>,
    /// Most sequence numbers held while one is missing.
    pub held: Option<u32>,
    /// Longest wait for a missing packet that only one line can deliver.
    pub single_line_hold: Option<Duration>,
    /// True if sequence numbers restart only after a SequenceReset message.
    pub explicit_restarts: Option<bool>,
}

/// How books become fresh again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecoveryConfig {
    /// The numbers that reveal missing updates.
    pub continuity: Option<Continuity>,
    /// True if updates alone may make a book fresh.
    pub natural_refresh: Option<bool>,
    /// Silence after which books are stale.
    pub silence: Option<Duration>,
    /// Most updates held for one stale book.
    pub updates_held_max: Option<u32>,
    /// Most updates held for all stale books of the channel together.
    pub updates_held_total_max: Option<u32>,
}

/// Settings of books.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BooksConfig {
    /// How the levels of books are identified.
    pub by: Option<BooksBy>,
    /// Levels per side.
    pub depth: Option<u32>,
    /// Kinds of books that are kept.
    pub kinds: Option<Vec<BookKind>>,
    /// Fields that together identify an instrument.
    pub key: Option<Vec<KeyField>>,
    /// True if books are checked after each message.
    pub checks: Option<bool>,
    /// True if books are empty before the first sequence number.
    pub starts_empty: Option<bool>,
    /// Most instruments of the channel.
    pub instruments_max: Option<u32>,
}

/// The text of a framing, with its parsed form.
#[derive(Clone, Debug, PartialEq)]
pub struct FramingText {
    text: String,
    framing: Framing,
}

impl FramingText {
    /// Returns the text: a preset, or a description such as `preamble=5,seq=0:4:be,reset=packet`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the framing.
    pub const fn framing(&self) -> &Framing {
        &self.framing
    }
}

impl FromStr for FramingText {
    type Err = ParseFramingError;

    fn from_str(text: &str) -> Result<Self, ParseFramingError> {
        Ok(Self { text: text.to_owned(), framing: text.parse()? })
    }
}

/// Position of sequence numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeqNumSource {
    /// In a field of messages, by tag or name.
    Field(String),
    /// No sequence numbers.
    None,
    /// In the preamble that the framing describes.
    Preamble,
}

/// A field by tag or name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyField {
    /// By name.
    Name(String),
    /// By FIX tag.
    Tag(u32),
}

/// Defines an enumeration whose values have fixed words in the file.
macro_rules! words {
    ($(#[$attr:meta])* $name:ident { $($(#[$doc:meta])* $value:ident = $word:literal,)* }) => {
        $(#[$attr])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $value,)* }

        impl $name {
            /// All values, in the order to list them.
            pub const ALL: &'static [Self] = &[$(Self::$value),*];

            /// Returns the word used in the file.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $word,)* }
            }
        }
    };
}

words! {
    /// The numbers that reveal missing updates.
    Continuity {
        /// Numbers of packets or messages.
        MsgSeqNum = "msgseqnum",
        /// The count of each instrument's updates (RptSeq).
        RptSeq = "rptseq",
    }
}

words! {
    /// How the levels of books are identified.
    BooksBy {
        /// By number (MDPriceLevel).
        Level = "level",
        /// No books.
        None = "none",
        /// By order (MDEntryID).
        Order = "order",
        /// By price.
        Price = "price",
    }
}

words! {
    /// A kind of book (QuoteCondition 276).
    BookKind {
        /// Outright and implied levels together.
        Consolidated = "consolidated",
        /// Implied.
        Implied = "implied",
        /// Outright.
        Outright = "outright",
    }
}

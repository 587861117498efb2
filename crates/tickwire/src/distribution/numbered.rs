//! The kinds of samples, and what all of them tell.

use serde_json::{Map, Value};
use tickwire_dds::{Change, MarketData, New, Quote, QuoteRequest, Remove, Sample};
use tickwire_distribution::fill::Filler;

/// A kind of sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A quote.
    Quote,
    /// A new order.
    New,
    /// A change of an order.
    Change,
    /// The end of an order.
    Remove,
    /// Market data of one security.
    MarketData,
    /// A request for quotes of one security.
    QuoteRequest,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Quote, Self::New, Self::Change, Self::Remove, Self::MarketData, Self::QuoteRequest];

    /// Its name: that of its topic and of its template.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quote => Quote::TOPIC,
            Self::New => New::TOPIC,
            Self::Change => Change::TOPIC,
            Self::Remove => Remove::TOPIC,
            Self::MarketData => MarketData::TOPIC,
            Self::QuoteRequest => QuoteRequest::TOPIC,
        }
    }

    /// The kinds that messages become.
    pub fn of(filler: &Filler) -> Vec<Self> {
        let makes = |kind: &Self| match kind {
            Self::Quote => filler.makes::<Quote>(),
            Self::New => filler.makes::<New>(),
            Self::Change => filler.makes::<Change>(),
            Self::Remove => filler.makes::<Remove>(),
            Self::MarketData => filler.makes::<MarketData>(),
            Self::QuoteRequest => filler.makes::<QuoteRequest>(),
        };
        Self::ALL.into_iter().filter(makes).collect()
    }

    /// Whether the security is its key: so with market data, not with orders.
    pub fn has_key(self) -> bool {
        matches!(self, Self::MarketData | Self::QuoteRequest)
    }
}

/// A count by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByKind(pub [u64; Kind::ALL.len()]);

impl ByKind {
    /// Counts one more.
    pub fn add(&mut self, kind: Kind) {
        self.0[kind as usize] += 1;
    }

    /// All kinds together.
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The counts that are not 0, by name.
    pub fn to_json(self) -> Value {
        let counts = Kind::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0);
        let counts = counts.map(|(kind, count)| (kind.name().to_owned(), count.into()));
        Value::Object(counts.collect::<Map<_, _>>())
    }
}

/// A sample of a feed: numbered, and of a security.
pub trait Numbered: Sample {
    /// Its kind.
    const KIND: Kind;
    /// Sequence number of the message it comes from.
    fn seq_num(&self) -> u32;
}

macro_rules! numbered {
    ($($sample:ident $seq_num:ident)*) => {
        $(
            impl Numbered for $sample {
                const KIND: Kind = Kind::$sample;

                fn seq_num(&self) -> u32 {
                    self.$seq_num
                }
            }
        )*
    };
}

numbered! {
    Change sequence_number
    MarketData msg_seq_num
    New sequence_number
    Quote sequence_number
    QuoteRequest msg_seq_num
    Remove sequence_number
}

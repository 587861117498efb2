//! The fields of OPRA FAST and their presence-map slots in both versions.

use crate::OpraVersion;

/// The type of a field, with its width in the ASCII form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpraFieldKind {
    /// An unsigned integer that holds an ASCII character.
    Character,
    /// An unsigned integer, printed with this many digits.
    Number(u8),
    /// The message sequence number, printed with this many digits.
    SeqNum(u8),
    /// A string of at most this many characters, stored in the record.
    Chars(u8),
    /// A string of at most [`TEXT_CHARS_MAX`] characters, which remains in the packet.
    Text,
}

/// Maximum length of the text of an administrative, control or default message, in characters.
pub const TEXT_CHARS_MAX: usize = 450;

/// Maximum length of an unsigned integer on the wire, in bytes.
pub const INTEGER_BYTES_MAX: usize = 5;

/// Maximum length of a presence map, in bytes.
pub const PRESENCE_MAP_BYTES_MAX: usize = 8;

/// The slot of a field that a version does not have; no presence map is that long.
const ABSENT: u8 = 63;

/// The number of fields of both versions.
const COUNT: usize = 52;

/// The number of presence-map slots of version 2.0. Fields from there on exist only in 1.03.
pub(crate) const SLOTS_V2: u8 = 50;

macro_rules! fields {
    ($($slot:literal $variant:ident $name:literal $v1:tt $kind:expr, $kind_v1:expr; $doc:literal)*) => {
        /// A field; its discriminant is its presence-map slot in version 2.0, if that version has
        /// it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Field {
            $(#[doc = $doc] $variant = $slot,)*
        }

        impl Field {
            /// All fields: by slot in version 2.0, then those of version 1.03 only.
            pub const ALL: [Self; COUNT] = [$(Self::$variant),*];

            const NAMES: [&'static str; COUNT] = [$($name),*];
            const SLOTS_V1: [u8; COUNT] = [$($v1),*];
            const KINDS: [OpraFieldKind; COUNT] = [$($kind),*];
            const KINDS_V1: [OpraFieldKind; COUNT] = [$($kind_v1),*];
        }
    };
}

use OpraFieldKind::{Character, Chars, Number, SeqNum, Text};

fields! {
    0 Category "cat" 1 Character, Character; "Message category."
    1 MessageType "type" 2 Character, Character; "Message type; what it means depends on the category."
    2 Participant "part" 3 Character, Character; "Participant id."
    3 Retransmission "retran" 4 Character, Character; "Retransmission requester: space, or `V` for all."
    4 SeqNum "seq" 5 SeqNum(10), SeqNum(8); "Message sequence number."
    5 Time "time" 6 Number(9), Number(6); "Time: HHMMSSmmm as a number, in 1.03 HHMMSS."
    6 Symbol "symbol" 7 Chars(5), Chars(5); "Security symbol."
    7 ExpirationMonth "exp_month" ABSENT Character, Character; "Expiration month: A to L calls, M to X puts."
    8 ExpirationDate "exp_date" 8 Number(2), Character; "Expiration date; in 1.03 a code of month and call or put."
    9 Year "year" 9 Number(2), Character; "Expiration year."
    10 StrikeDenominator "strike_denom" 11 Character, Character; "Strike price denominator code."
    11 StrikePrice "strike" 12 Number(6), Number(7); "Explicit strike price."
    12 StrikeCode "strike_code" 10 Character, Character; "Strike price code."
    13 Volume "volume" 32 Number(6), Number(6); "Volume."
    14 OpenInterest "open_int" 31 Number(7), Number(7); "Open interest volume."
    15 PremiumDenominator "prem_denom" 13 Character, Character; "Premium price denominator code."
    16 Premium "premium" 33 Number(8), Number(8); "Premium price."
    17 Open "open" 34 Number(8), Number(8); "Open price."
    18 High "high" 35 Number(8), Number(8); "High price."
    19 Low "low" 36 Number(8), Number(8); "Low price."
    20 Last "last" 37 Number(8), Number(8); "Last price."
    21 NetChangeIndicator "net_chg_ind" 38 Character, Character; "Sign of the net change."
    22 NetChange "net_chg" 39 Number(8), Number(8); "Net change."
    23 UnderlyingDenominator "und_denom" 40 Character, Character; "Underlying price denominator code."
    24 UnderlyingPrice "und_price" 41 Number(11), Number(11); "Underlying stock price."
    25 Bid "bid" 14 Number(8), Number(8); "Bid price."
    26 BidSize "bid_size" 15 Number(5), Number(5); "Bid size."
    27 Offer "offer" 16 Number(8), Number(8); "Offer price."
    28 OfferSize "offer_size" 17 Number(5), Number(5); "Offer size."
    29 Session "session" 18 Character, Character; "Session indicator."
    30 Bbo "bbo" 19 Character, Character; "BBO indicator: says which appendage follows."
    31 BestBidParticipant "bb_part" 20 Character, Character; "Best bid participant id."
    32 BestBidDenominator "bb_denom" 21 Character, Character; "Best bid price denominator code."
    33 BestBid "bb_price" 22 Number(8), Number(8); "Best bid price."
    34 BestBidSize "bb_size" 23 Number(5), Number(5); "Best bid size."
    35 BestOfferParticipant "bo_part" 24 Character, Character; "Best offer participant id."
    36 BestOfferDenominator "bo_denom" 25 Character, Character; "Best offer price denominator code."
    37 BestOffer "bo_price" 26 Number(8), Number(8); "Best offer price."
    38 BestOfferSize "bo_size" 27 Number(5), Number(5); "Best offer size."
    39 IndexCount "n_index" 42 Number(2), Number(2); "Number of indices in the group."
    40 SpotCount "n_fco" 47 Number(2), Number(2); "Number of foreign currency spot values in the group."
    41 IndexSymbol "index_sym" 43 Chars(3), Chars(3); "Index symbol."
    42 IndexValue "index_val" 44 Chars(8), Chars(8); "Index value."
    43 BidIndexValue "bid_index" 45 Chars(8), Chars(8); "Bid index value."
    44 OfferIndexValue "offer_index" 46 Chars(8), Chars(8); "Offer index value."
    45 FcoSymbol "fco_sym" 48 Chars(3), Chars(3); "Foreign currency option symbol."
    46 DecimalPlacement "decimal" 49 Number(2), Number(2); "Decimal placement indicator."
    47 SpotValue "spot" 50 Number(8), Number(8); "Foreign currency spot value."
    48 Text "text" 51 Text, Text; "Text of an administrative or control message."
    49 DefaultMessage "def" 52 Text, Text; "A whole message in its ASCII form."
    50 Reserved1 "res1" 28 Chars(2), Chars(2); "Reserved in 1.03: behind symbols, and at the end of FCO summaries."
    51 Reserved2 "res2" 29 Chars(2), Chars(2); "Reserved in 1.03: at the end of messages, and behind appendages."
}

impl Field {
    /// Returns the short name used in JSON and in verdicts.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns the field of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    /// Returns the type of the field in `version`.
    pub const fn kind(self, version: OpraVersion) -> OpraFieldKind {
        match version {
            OpraVersion::V2 => Self::KINDS[self as usize],
            OpraVersion::V1 => Self::KINDS_V1[self as usize],
        }
    }

    /// Returns the field's presence-map slot in `version`. If the version does not have the field,
    /// the slot is one that no category uses: 63 in 1.03, and one past the last in 2.0.
    pub const fn slot(self, version: OpraVersion) -> u8 {
        match version {
            OpraVersion::V2 => self as u8,
            OpraVersion::V1 => Self::SLOTS_V1[self as usize],
        }
    }

    /// True if the field is reserved in version 1.03. In a packet that never sends it, the field is
    /// absent without an error.
    pub const fn is_reserved(self) -> bool {
        self as u8 >= SLOTS_V2
    }

    /// Returns the field's bit in a mask of fields.
    pub const fn bit(self) -> u64 {
        1 << self as u8
    }

    /// Returns the maximum length on the wire, in bytes.
    pub const fn bytes_max(self) -> usize {
        match Self::KINDS[self as usize] {
            Character | Number(_) | SeqNum(_) => INTEGER_BYTES_MAX,
            Chars(len) => len as usize,
            Text => TEXT_CHARS_MAX,
        }
    }
}

/// Iterates over the fields of a mask, lowest first.
pub(crate) fn fields_of(mut mask: u64) -> impl Iterator<Item = Field> {
    std::iter::from_fn(move || {
        let field = *Field::ALL.get(mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(field)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_a_version_are_distinct() {
        for version in [OpraVersion::V1, OpraVersion::V2] {
            let mut seen = 0u64;
            for field in Field::ALL {
                let bit = 1u64 << field.slot(version);
                assert_eq!(seen & bit, 0, "{field:?} {version:?}");
                seen |= bit;
            }
        }
    }

    #[test]
    fn names_lead_back_to_their_fields() {
        for field in Field::ALL {
            assert_eq!(Field::from_name(field.name()), Some(field));
        }
    }
}

//! Message categories and their fields in wire order, for both versions.

use crate::{Field, OpraVersion};

use Field::*;

/// A message category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// `a`: equity and index last sale.
    LastSale,
    /// `C`: administrative.
    Administrative,
    /// `d`: open interest.
    OpenInterest,
    /// `F`: FCO end of day summary.
    FcoEndOfDay,
    /// `f`: equity and index end of day summary.
    EndOfDay,
    /// `H`: control.
    Control,
    /// `k`: equity and index quote with size.
    Quote,
    /// `O`: FCO last sale.
    FcoLastSale,
    /// `U`: FCO quote.
    FcoQuote,
    /// `Y`: underlying value.
    Underlying,
    /// Any other code, sent as `?`: the whole message in its ASCII form.
    Default,
}

/// The fields of a best bid appendage.
pub const BEST_BID: [Field; 4] = [BestBidParticipant, BestBidDenominator, BestBid, BestBidSize];

/// The fields of a best offer appendage.
pub const BEST_OFFER: [Field; 4] =
    [BestOfferParticipant, BestOfferDenominator, BestOffer, BestOfferSize];

/// The maximum number of entries in the group of an underlying value: its count has two digits.
pub const GROUP_ENTRIES_MAX: u32 = 99;

pub(crate) const fn mask(fields: &[Field]) -> u64 {
    let mut bits = 0;
    let mut i = 0;
    while i < fields.len() {
        bits |= fields[i].bit();
        i += 1;
    }
    bits
}

/// Lists the six fields that begin every structured category, then the given ones.
macro_rules! body {
    ($($field:ident),* $(,)?) => {
        &[Category, MessageType, Participant, Retransmission, SeqNum, Time, $($field),*]
    };
}

#[rustfmt::skip]
const V2_QUOTE: &[Field] = body![
    Symbol, ExpirationMonth, ExpirationDate, Year, StrikeDenominator, StrikePrice, StrikeCode,
    PremiumDenominator, Bid, BidSize, Offer, OfferSize, Session, Bbo,
];
#[rustfmt::skip]
const V2_LAST_SALE: &[Field] = body![
    Symbol, ExpirationMonth, ExpirationDate, Year, StrikeDenominator, StrikePrice, StrikeCode,
    Volume, PremiumDenominator, Premium, Session,
];
#[rustfmt::skip]
const V2_OPEN_INTEREST: &[Field] = body![
    Symbol, ExpirationMonth, ExpirationDate, Year, StrikeDenominator, StrikePrice, StrikeCode,
    OpenInterest,
];
#[rustfmt::skip]
const V2_END_OF_DAY: &[Field] = body![
    Symbol, ExpirationMonth, ExpirationDate, Year, StrikeDenominator, StrikePrice, StrikeCode,
    Volume, OpenInterest, PremiumDenominator, Open, High, Low, Last, NetChangeIndicator, NetChange,
    UnderlyingDenominator, UnderlyingPrice, Bid, Offer,
];
const V2_FCO_LAST_SALE: &[Field] = body![Symbol, ExpirationDate, StrikeCode, Volume, Premium];
const V2_FCO_QUOTE: &[Field] = body![Symbol, ExpirationDate, StrikeCode, Bid, Offer];
#[rustfmt::skip]
const V2_FCO_END_OF_DAY: &[Field] = body![
    Symbol, ExpirationDate, StrikeCode, Volume, OpenInterest, Open, High, Low, Last,
    NetChangeIndicator, NetChange, UnderlyingPrice,
];

#[rustfmt::skip]
const V1_QUOTE: &[Field] = body![
    Symbol, Reserved1, ExpirationDate, Year, StrikeCode, StrikeDenominator, StrikePrice,
    PremiumDenominator, Bid, BidSize, Offer, OfferSize, Session, Bbo,
];
#[rustfmt::skip]
const V1_LAST_SALE: &[Field] = body![
    Symbol, Reserved1, ExpirationDate, Year, StrikeCode, StrikeDenominator, StrikePrice,
    Volume, PremiumDenominator, Premium, Session, Reserved2,
];
#[rustfmt::skip]
const V1_OPEN_INTEREST: &[Field] = body![
    Symbol, Reserved1, ExpirationDate, Year, StrikeCode, StrikeDenominator, StrikePrice,
    OpenInterest, Reserved2,
];
#[rustfmt::skip]
const V1_END_OF_DAY: &[Field] = body![
    Symbol, Reserved1, ExpirationDate, Year, StrikeCode, StrikeDenominator, StrikePrice,
    Volume, OpenInterest, PremiumDenominator, Open, High, Low, Last, NetChangeIndicator, NetChange,
    UnderlyingDenominator, UnderlyingPrice, Bid, Offer, Reserved2,
];
#[rustfmt::skip]
const V1_FCO_END_OF_DAY: &[Field] = body![
    Symbol, ExpirationDate, StrikeCode, Volume, OpenInterest, Open, High, Low, Last,
    NetChangeIndicator, NetChange, UnderlyingPrice, Reserved1,
];

const TEXT: &[Field] = body![Text];
const UNDERLYING: &[Field] = body![];
const DEFAULT: &[Field] = &[Category, DefaultMessage];

/// The group that follows the fields of an underlying value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpraGroup {
    /// The field that holds the number of entries.
    pub count: Field,
    /// The fields of an entry, in wire order.
    pub fields: &'static [Field],
}

const V2_LAST_SALE_GROUP: OpraGroup =
    OpraGroup { count: IndexCount, fields: &[IndexSymbol, IndexValue] };
const V2_BID_OFFER_GROUP: OpraGroup =
    OpraGroup { count: IndexCount, fields: &[IndexSymbol, BidIndexValue, OfferIndexValue] };
const V1_LAST_SALE_GROUP: OpraGroup =
    OpraGroup { count: IndexCount, fields: &[IndexSymbol, Reserved1, IndexValue] };
const V1_BID_OFFER_GROUP: OpraGroup = OpraGroup {
    count: IndexCount,
    fields: &[IndexSymbol, Reserved1, BidIndexValue, OfferIndexValue],
};
const SPOT_GROUP: OpraGroup =
    OpraGroup { count: SpotCount, fields: &[FcoSymbol, DecimalPlacement, SpotValue] };

impl Category {
    /// Returns the category of a code; unknown codes are default messages.
    pub const fn from_code(code: u32) -> Self {
        if code > 0x7F {
            return Self::Default;
        }
        match code as u8 {
            b'a' => Self::LastSale,
            b'C' => Self::Administrative,
            b'd' => Self::OpenInterest,
            b'F' => Self::FcoEndOfDay,
            b'f' => Self::EndOfDay,
            b'H' => Self::Control,
            b'k' => Self::Quote,
            b'O' => Self::FcoLastSale,
            b'U' => Self::FcoQuote,
            b'Y' => Self::Underlying,
            _ => Self::Default,
        }
    }

    /// Returns the category's code; `?` for default messages.
    pub const fn code(self) -> u8 {
        match self {
            Self::LastSale => b'a',
            Self::Administrative => b'C',
            Self::OpenInterest => b'd',
            Self::FcoEndOfDay => b'F',
            Self::EndOfDay => b'f',
            Self::Control => b'H',
            Self::Quote => b'k',
            Self::FcoLastSale => b'O',
            Self::FcoQuote => b'U',
            Self::Underlying => b'Y',
            Self::Default => b'?',
        }
    }

    /// Returns the fields of the category in `version` before any appendage and group, in wire
    /// order.
    pub const fn fields(self, version: OpraVersion) -> &'static [Field] {
        match (self, version) {
            (Self::Quote, OpraVersion::V2) => V2_QUOTE,
            (Self::Quote, OpraVersion::V1) => V1_QUOTE,
            (Self::LastSale, OpraVersion::V2) => V2_LAST_SALE,
            (Self::LastSale, OpraVersion::V1) => V1_LAST_SALE,
            (Self::OpenInterest, OpraVersion::V2) => V2_OPEN_INTEREST,
            (Self::OpenInterest, OpraVersion::V1) => V1_OPEN_INTEREST,
            (Self::EndOfDay, OpraVersion::V2) => V2_END_OF_DAY,
            (Self::EndOfDay, OpraVersion::V1) => V1_END_OF_DAY,
            (Self::FcoEndOfDay, OpraVersion::V2) => V2_FCO_END_OF_DAY,
            (Self::FcoEndOfDay, OpraVersion::V1) => V1_FCO_END_OF_DAY,
            (Self::FcoLastSale, _) => V2_FCO_LAST_SALE,
            (Self::FcoQuote, _) => V2_FCO_QUOTE,
            (Self::Administrative | Self::Control, _) => TEXT,
            (Self::Underlying, _) => UNDERLYING,
            (Self::Default, _) => DEFAULT,
        }
    }
}

/// Returns the group of an underlying value of `message_type`; `None` if the type has no body.
pub const fn group_of(version: OpraVersion, message_type: u32) -> Option<OpraGroup> {
    if message_type > 0x7F {
        return None;
    }
    match (message_type as u8, version) {
        (b' ', OpraVersion::V1) => Some(V1_LAST_SALE_GROUP),
        (b' ', OpraVersion::V2) => Some(V2_LAST_SALE_GROUP),
        (b'I', OpraVersion::V1) => Some(V1_BID_OFFER_GROUP),
        (b'I', OpraVersion::V2) => Some(V2_BID_OFFER_GROUP),
        (b'F' | b'C', _) => Some(SPOT_GROUP),
        _ => None,
    }
}

/// The appendage that a BBO indicator announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appendage {
    /// A best bid follows.
    pub best_bid: bool,
    /// A best offer follows, after the best bid.
    pub best_offer: bool,
}

/// Returns the appendage that a BBO indicator announces; `None` for an unknown code.
pub const fn appendage_of(bbo: u32) -> Option<Appendage> {
    if bbo > 0x7F {
        return None;
    }
    let (best_bid, best_offer) = match bbo as u8 {
        b' ' | b'A' | b'B' | b'D' | b'E' | b'F' | b'H' | b'I' | b'J' | b'L' => (false, false),
        b'C' | b'G' | b'K' => (false, true),
        b'M' | b'N' | b'P' => (true, false),
        b'O' => (true, true),
        _ => return None,
    };
    Some(Appendage { best_bid, best_offer })
}

impl Appendage {
    /// Returns the fields of the appendage, in wire order.
    ///
    /// In version 1.03 it ends with a reserved field. Samples show this after a best offer; for a
    /// best bid without best offer it is an assumption.
    pub const fn fields(self, version: OpraVersion) -> &'static [Field] {
        match (version, self.best_bid, self.best_offer) {
            (_, false, false) => &[],
            (OpraVersion::V2, true, false) => &BEST_BID,
            (OpraVersion::V2, false, true) => &BEST_OFFER,
            (OpraVersion::V2, true, true) => V2_BEST,
            (OpraVersion::V1, true, false) => V1_BEST_BID,
            (OpraVersion::V1, false, true) => V1_BEST_OFFER,
            (OpraVersion::V1, true, true) => V1_BEST,
        }
    }

    /// Returns the fields of the appendage as a mask.
    pub const fn bits(self, version: OpraVersion) -> u64 {
        mask(self.fields(version))
    }
}

/// Lists the fields of a best bid, then the given ones.
macro_rules! best_bid {
    ($($field:ident),*) => {
        &[BestBidParticipant, BestBidDenominator, BestBid, BestBidSize, $($field),*]
    };
}

#[rustfmt::skip]
const V2_BEST: &[Field] =
    best_bid![BestOfferParticipant, BestOfferDenominator, BestOffer, BestOfferSize];
const V1_BEST_BID: &[Field] = best_bid![Reserved2];
const V1_BEST_OFFER: &[Field] =
    &[BestOfferParticipant, BestOfferDenominator, BestOffer, BestOfferSize, Reserved2];
#[rustfmt::skip]
const V1_BEST: &[Field] =
    best_bid![BestOfferParticipant, BestOfferDenominator, BestOffer, BestOfferSize, Reserved2];

/// [`Category::fields`] as masks, by version and category.
static BASE_BITS: [[u64; 11]; 2] = {
    let mut table = [[0; 11]; 2];
    let mut index = 0;
    while index < 11 {
        table[0][index] = mask(CATEGORIES[index].fields(OpraVersion::V1));
        table[1][index] = mask(CATEGORIES[index].fields(OpraVersion::V2));
        index += 1;
    }
    table
};

/// All categories, in the order of their discriminants.
const CATEGORIES: [Category; 11] = [
    Category::LastSale,
    Category::Administrative,
    Category::OpenInterest,
    Category::FcoEndOfDay,
    Category::EndOfDay,
    Category::Control,
    Category::Quote,
    Category::FcoLastSale,
    Category::FcoQuote,
    Category::Underlying,
    Category::Default,
];

/// Returns [`Category::fields`] as a mask.
pub(crate) fn base_bits(category: Category, version: OpraVersion) -> u64 {
    BASE_BITS[version as usize][category as usize]
}

/// Returns all fields of a message as a mask, from its category, type and BBO indicator.
///
/// An unknown BBO indicator adds no fields.
pub(crate) fn field_bits(
    version: OpraVersion,
    category: Category,
    message_type: u32,
    bbo: u32,
) -> u64 {
    let extra = match category {
        Category::Quote => appendage_of(bbo).map_or(0, |appendage| appendage.bits(version)),
        Category::Underlying => group_of(version, message_type)
            .map_or(0, |group| group.count.bit() | mask(group.fields)),
        _ => 0,
    };
    base_bits(category, version) | extra
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_those_of_the_specification() {
        let bits = |code: u8, message_type: u8, bbo: u8| {
            let category = Category::from_code(code.into());
            field_bits(OpraVersion::V2, category, message_type.into(), bbo.into())
        };
        assert_eq!(bits(b'k', b' ', b'A'), 0x7E00_9FFF);
        assert_eq!(bits(b'k', b' ', b'C'), 0x78_7E00_9FFF);
        assert_eq!(bits(b'k', b' ', b'M'), 0x7_FE00_9FFF);
        assert_eq!(bits(b'k', b' ', b'O'), 0x7F_FE00_9FFF);
        assert_eq!(bits(b'a', b' ', b' '), 0x2001_BFFF);
        assert_eq!(bits(b'd', b' ', b' '), 0x5FFF);
        assert_eq!(bits(b'f', b' ', b' '), 0xBFE_FFFF);
        assert_eq!(bits(b'C', b' ', b' '), 0x1_0000_0000_003F);
        assert_eq!(bits(b'Y', b' ', b' '), 0x680_0000_003F);
        assert_eq!(bits(b'Y', b'I', b' '), 0x1A80_0000_003F);
        assert_eq!(bits(b'Y', b'F', b' '), 0xE100_0000_003F);
        assert_eq!(bits(b'O', b' ', b' '), 0x1_317F);
        assert_eq!(bits(b'U', b' ', b' '), 0xA00_117F);
        assert_eq!(bits(b'F', b' ', b' '), 0x17E_717F);
        assert_eq!(bits(b'q', b' ', b' '), 0x2_0000_0000_0001);
    }

    #[test]
    fn categories_stand_at_their_discriminants() {
        for (index, category) in CATEGORIES.into_iter().enumerate() {
            assert_eq!(category as usize, index);
        }
        assert_eq!((OpraVersion::V1 as usize, OpraVersion::V2 as usize), (0, 1));
    }

    #[test]
    fn wire_order_ascends_in_version_2() {
        for code in 0..128 {
            let fields = Category::from_code(code).fields(OpraVersion::V2);
            assert!(fields.is_sorted(), "{}", code as u8 as char);
        }
    }

    #[test]
    fn appendages_are_the_best_bid_then_the_best_offer_then_a_reserved_field() {
        for code in 0..128 {
            let Some(appendage) = appendage_of(code) else { continue };
            let bid = BEST_BID.into_iter().filter(|_| appendage.best_bid);
            let fields: Vec<Field> =
                bid.chain(BEST_OFFER.into_iter().filter(|_| appendage.best_offer)).collect();
            assert_eq!(appendage.fields(OpraVersion::V2), fields, "{}", code as u8 as char);
            let reserved = if fields.is_empty() { &[][..] } else { &[Reserved2] };
            assert_eq!(appendage.fields(OpraVersion::V1), [&fields, reserved].concat());
        }
    }

    #[test]
    fn reserved_fields_are_those_of_version_1() {
        let reserved = Reserved1.bit() | Reserved2.bit();
        for code in 0..128 {
            let category = Category::from_code(code);
            assert_eq!(field_bits(OpraVersion::V2, category, 32, b'O'.into()) & reserved, 0);
        }
        let bits = |code: u8| {
            let category = Category::from_code(code.into());
            field_bits(OpraVersion::V1, category, b'I'.into(), b'C'.into()) & reserved
        };
        assert!(b"kadf".iter().all(|code| bits(*code) == reserved));
        assert!(b"FY".iter().all(|code| bits(*code) == Reserved1.bit()));
        assert!(b"OUCH?".iter().all(|code| bits(*code) == 0));
    }
}

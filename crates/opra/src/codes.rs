//! The meanings of codes, and prices with their denominators applied.
//!
//! Codes without a name here are shown as characters.

use std::fmt;

use crate::{Category, Field, OpraMessage, Price};

impl Field {
    /// Returns the field that holds this price's denominator code.
    pub const fn denominator(self) -> Option<Self> {
        match self {
            Self::StrikePrice => Some(Self::StrikeDenominator),
            Self::Premium
            | Self::Open
            | Self::High
            | Self::Low
            | Self::Last
            | Self::NetChange
            | Self::Bid
            | Self::Offer => Some(Self::PremiumDenominator),
            Self::UnderlyingPrice => Some(Self::UnderlyingDenominator),
            Self::BestBid => Some(Self::BestBidDenominator),
            Self::BestOffer => Some(Self::BestOfferDenominator),
            _ => None,
        }
    }
}

/// A decimal number: `digits / 10^places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpraDecimal {
    /// The digits as an integer.
    pub digits: u32,
    /// Number of digits after the decimal point.
    pub places: u32,
}

impl fmt::Display for OpraDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = 10_u64.saturating_pow(self.places);
        let (whole, rest) = (u64::from(self.digits) / scale, u64::from(self.digits) % scale);
        match self.places {
            0 => write!(f, "{whole}"),
            places => write!(f, "{whole}.{rest:0width$}", width = places as usize),
        }
    }
}

impl Price {
    /// Returns the price as a decimal; `None` if its denominator is not a valid code.
    pub fn decimal(self) -> Option<OpraDecimal> {
        let places = match u8::try_from(self.denominator).ok()? {
            code @ b'A'..=b'H' => u32::from(code - b'A') + 1,
            b'I' => 0,
            _ => return None,
        };
        Some(OpraDecimal { digits: self.value, places })
    }
}

impl OpraMessage<'_> {
    /// Returns the price in a field; `None` if the message has no such field or no denominator for
    /// it.
    pub fn price(&self, field: Field) -> Option<Price> {
        let denominator = self.number(field.denominator()?)?;
        Some(Price { denominator, value: self.number(field)? })
    }

    /// Returns the name of the code in a field; `None` if the message has no such field or the code
    /// has no name.
    pub fn code_name(&self, field: Field) -> Option<&'static str> {
        let code = u8::try_from(self.number(field)?).ok()?;
        match field {
            Field::Category => Some(category_name(self.category())),
            Field::MessageType => type_name(self.category(), code),
            Field::Participant | Field::BestBidParticipant | Field::BestOfferParticipant => {
                participant_name(code)
            }
            Field::Retransmission => retransmission_name(code),
            Field::Bbo => bbo_name(code),
            Field::ExpirationMonth => month_name(code),
            _ => None,
        }
    }
}

const fn category_name(category: Category) -> &'static str {
    match category {
        Category::LastSale => "last sale",
        Category::Administrative => "administrative",
        Category::OpenInterest => "open interest",
        Category::FcoEndOfDay => "FCO end of day",
        Category::EndOfDay => "end of day",
        Category::Control => "control",
        Category::Quote => "quote",
        Category::FcoLastSale => "FCO last sale",
        Category::FcoQuote => "FCO quote",
        Category::Underlying => "underlying value",
        Category::Default => "default",
    }
}

/// Returns the name of a message type, which depends on the category.
fn type_name(category: Category, code: u8) -> Option<&'static str> {
    match category {
        Category::Quote => quote_type(code),
        Category::LastSale => sale_type(code),
        Category::Control => control_type(code),
        Category::Underlying => underlying_type(code),
        _ => None,
    }
}

fn quote_type(code: u8) -> Option<&'static str> {
    Some(match code {
        b' ' => "regular",
        b'A' => "automatic execution",
        b'B' => "bid has customer interest",
        b'C' => "both have customer interest",
        b'F' => "not firm",
        b'I' => "indicative",
        b'O' => "offer has customer interest",
        b'R' => "rotation",
        b'T' => "halted",
        b'X' => "offer not firm",
        b'Y' => "bid not firm",
        _ => return None,
    })
}

fn sale_type(code: u8) -> Option<&'static str> {
    const TYPES: [(u8, &str); 22] = [
        (b' ', "regular"),
        (b'A', "CANC"),
        (b'B', "OSEQ"),
        (b'C', "CNCL"),
        (b'D', "LATE"),
        (b'E', "CNCO"),
        (b'F', "OPEN"),
        (b'G', "CNOL"),
        (b'H', "OPNL"),
        (b'I', "AUTO"),
        (b'J', "REOP"),
        (b'K', "AJST"),
        (b'L', "SPRD"),
        (b'M', "STDL"),
        (b'N', "STPD"),
        (b'O', "CSTP"),
        (b'P', "BWRT"),
        (b'Q', "CMBO"),
        (b'R', "SPIM"),
        (b'S', "ISOI"),
        (b'T', "BNMT"),
        (b'X', "XMPT"),
    ];
    TYPES.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}

fn control_type(code: u8) -> Option<&'static str> {
    Some(match code {
        b'A' => "start of test cycle",
        b'B' => "end of test cycle",
        b'C' => "start of day",
        b'D' => "good morning",
        b'E' => "start of summary",
        b'F' => "end of summary",
        b'G' => "early close",
        b'H' => "end of transactions",
        b'I' => "good night",
        b'J' => "end of day",
        b'K' => "reset of sequence number",
        b'L' => "start of open interest",
        b'M' => "end of open interest",
        b'N' => "line integrity",
        b'P' => "disaster site active",
        _ => return None,
    })
}

fn underlying_type(code: u8) -> Option<&'static str> {
    Some(match code {
        b' ' => "last sale",
        b'I' => "bid and offer",
        b'C' | b'F' => "foreign currency spot values",
        _ => return None,
    })
}

/// Returns the name of an exchange, as of about 2012.
fn participant_name(code: u8) -> Option<&'static str> {
    Some(match code {
        b'A' => "NYSE Amex",
        b'B' => "BOX",
        b'C' => "CBOE",
        b'I' => "ISE",
        b'M' => "MIAX",
        b'N' => "NYSE Arca",
        b'O' => "OPRA",
        b'Q' => "NASDAQ",
        b'T' => "NASDAQ BX",
        b'W' => "C2",
        b'X' => "NASDAQ PHLX",
        b'Z' => "BATS",
        _ => return None,
    })
}

fn retransmission_name(code: u8) -> Option<&'static str> {
    match code {
        b' ' => Some("none"),
        b'V' => Some("all"),
        _ => None,
    }
}

/// Returns the effect of a BBO indicator on the best bid and the best offer.
fn bbo_name(code: u8) -> Option<&'static str> {
    const NAMES: [&str; 16] = [
        "bid same, offer same",
        "bid same, offer from quote",
        "bid same, offer appended",
        "bid same, offer none",
        "bid from quote, offer same",
        "bid from quote, offer from quote",
        "bid from quote, offer appended",
        "bid from quote, offer none",
        "bid none, offer same",
        "bid none, offer from quote",
        "bid none, offer appended",
        "bid none, offer none",
        "bid appended, offer same",
        "bid appended, offer from quote",
        "bid appended, offer appended",
        "bid appended, offer none",
    ];
    match code {
        b' ' => Some("not eligible"),
        b'A'..=b'P' => NAMES.get(usize::from(code - b'A')).copied(),
        _ => None,
    }
}

/// Returns the month name: A to L are calls from January on, M to X puts.
fn month_name(code: u8) -> Option<&'static str> {
    const NAMES: [&str; 24] = [
        "January call",
        "February call",
        "March call",
        "April call",
        "May call",
        "June call",
        "July call",
        "August call",
        "September call",
        "October call",
        "November call",
        "December call",
        "January put",
        "February put",
        "March put",
        "April put",
        "May put",
        "June put",
        "July put",
        "August put",
        "September put",
        "October put",
        "November put",
        "December put",
    ];
    NAMES.get(usize::from(code.checked_sub(b'A')?)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpraMessageDraft, OpraVersion, appendage_of};

    #[test]
    fn denominators_say_where_the_point_is() {
        let text = |code: u8, value| {
            let price = Price { denominator: code.into(), value };
            price.decimal().map(|decimal| decimal.to_string())
        };
        assert_eq!(text(b'D', 140_500).as_deref(), Some("14.0500"));
        assert_eq!(text(b'A', 7).as_deref(), Some("0.7"));
        assert_eq!(text(b'H', 7).as_deref(), Some("0.00000007"));
        assert_eq!(text(b'I', 1_955).as_deref(), Some("1955"));
        assert_eq!((text(b'J', 1), text(b' ', 1)), (None, None));
    }

    #[test]
    fn a_type_is_named_by_its_category() {
        let name = |category, code| type_name(category, code);
        assert_eq!(name(Category::Quote, b'A'), Some("automatic execution"));
        assert_eq!(name(Category::LastSale, b'A'), Some("CANC"));
        assert_eq!(name(Category::LastSale, b'X'), Some("XMPT"));
        assert_eq!(name(Category::LastSale, b'U'), None);
        assert_eq!(name(Category::Control, b'A'), Some("start of test cycle"));
        assert_eq!(name(Category::Control, b'Z'), None);
    }

    #[test]
    fn names_of_bbo_indicators_say_what_is_appended() {
        for code in b'A'..=b'P' {
            let name = bbo_name(code).unwrap();
            let appendage = appendage_of(code.into()).unwrap();
            assert_eq!(name.contains("bid appended"), appendage.best_bid, "{name}");
            assert_eq!(name.contains("offer appended"), appendage.best_offer, "{name}");
        }
    }

    #[test]
    fn codes_are_named_by_their_category_and_prices_by_their_denominator() {
        let mut draft = OpraMessageDraft::new(OpraVersion::V2);
        Field::ALL.into_iter().for_each(|field| draft.set_number(field, 32));
        draft.set_seq_num(1);
        for (field, value) in [
            (Field::Category, u32::from(b'k')),
            (Field::MessageType, u32::from(b'T')),
            (Field::Participant, u32::from(b'C')),
            (Field::ExpirationMonth, u32::from(b'N')),
            (Field::Bbo, u32::from(b'C')),
            (Field::PremiumDenominator, u32::from(b'B')),
            (Field::Bid, 345),
        ] {
            draft.set_number(field, value);
        }
        let message = draft.message().unwrap();
        let name = |field| message.code_name(field);
        assert_eq!(name(Field::Category), Some("quote"));
        assert_eq!(name(Field::MessageType), Some("halted"));
        assert_eq!(name(Field::Participant), Some("CBOE"));
        assert_eq!(name(Field::ExpirationMonth), Some("February put"));
        assert_eq!(name(Field::Bbo), Some("bid same, offer appended"));
        assert_eq!((name(Field::Session), name(Field::BestBid)), (None, None));
        let price = |field| message.price(field).and_then(Price::decimal);
        assert_eq!(price(Field::Bid).unwrap().to_string(), "3.45");
        assert_eq!((price(Field::Offer).unwrap().digits, price(Field::BestOffer)), (32, None));
        assert_eq!((message.price(Field::Premium), message.price(Field::BidSize)), (None, None));
    }
}

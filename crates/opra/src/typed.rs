//! Messages as structs, one for each category.

use crate::{Category, Chars, Field, OpraEntry, OpraMessage, WireText};

/// The fields that begin every structured message. Codes are ASCII characters as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preamble {
    /// Message type code.
    pub message_type: u32,
    /// Participant id.
    pub participant: u32,
    /// Retransmission requester; a space for none.
    pub retransmission: u32,
    /// Message sequence number.
    pub seq_num: u64,
    /// HHMMSSmmm as a number, in version 1.03 HHMMSS.
    pub time: u32,
}

/// The option that a message refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionKey {
    /// Security symbol.
    pub symbol: Chars,
    /// Month and call or put; absent in version 1.03.
    pub expiration_month: Option<u32>,
    /// Day; in version 1.03 a code for month and call or put.
    pub expiration_date: u32,
    /// Year.
    pub year: u32,
    /// Strike price with its denominator code.
    pub strike: Price,
    /// Strike price code.
    pub strike_code: u32,
}

/// A price: an integer, and the code that places the decimal point (`A` one decimal place to `H`
/// eight, `I` none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Denominator code.
    pub denominator: u32,
    /// The digits as an integer.
    pub value: u32,
}

/// Best bid appendage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestBid {
    /// Participant with the best bid.
    pub participant: u32,
    /// Best bid price.
    pub price: Price,
    /// Best bid size.
    pub size: u32,
}

/// Best offer appendage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestOffer {
    /// Participant with the best offer.
    pub participant: u32,
    /// Best offer price.
    pub price: Price,
    /// Best offer size.
    pub size: u32,
}

/// Equity and index quote with size (`k`). Bid and offer share one denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Common fields.
    pub preamble: Preamble,
    /// The option.
    pub option: OptionKey,
    /// Bid price.
    pub bid: Price,
    /// Bid size.
    pub bid_size: u32,
    /// Offer price.
    pub offer: Price,
    /// Offer size.
    pub offer_size: u32,
    /// Session indicator.
    pub session: u32,
    /// BBO indicator.
    pub bbo: u32,
    /// Best bid, if the BBO indicator announces one.
    pub best_bid: Option<BestBid>,
    /// Best offer, if the BBO indicator announces one.
    pub best_offer: Option<BestOffer>,
}

/// Equity and index last sale (`a`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastSale {
    /// Common fields.
    pub preamble: Preamble,
    /// The option.
    pub option: OptionKey,
    /// Volume.
    pub volume: u32,
    /// Premium price.
    pub premium: Price,
    /// Session indicator.
    pub session: u32,
}

/// Open interest (`d`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenInterest {
    /// Common fields.
    pub preamble: Preamble,
    /// The option.
    pub option: OptionKey,
    /// Open interest volume.
    pub volume: u32,
}

/// Equity and index end of day summary (`f`). All premium prices share one denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndOfDay {
    /// Common fields.
    pub preamble: Preamble,
    /// The option.
    pub option: OptionKey,
    /// Volume.
    pub volume: u32,
    /// Open interest volume.
    pub open_interest: u32,
    /// Denominator of the option's prices.
    pub denominator: u32,
    /// Open price.
    pub open: u32,
    /// High price.
    pub high: u32,
    /// Low price.
    pub low: u32,
    /// Last price.
    pub last: u32,
    /// Sign of the net change.
    pub net_change_indicator: u32,
    /// Net change.
    pub net_change: u32,
    /// Price of the underlying stock.
    pub underlying: Price,
    /// Bid price.
    pub bid: u32,
    /// Offer price.
    pub offer: u32,
}

/// FCO last sale (`O`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FcoLastSale {
    /// Common fields.
    pub preamble: Preamble,
    /// FCO symbol.
    pub symbol: Chars,
    /// Expiration date.
    pub expiration_date: u32,
    /// Strike price code.
    pub strike_code: u32,
    /// Volume.
    pub volume: u32,
    /// Premium price.
    pub premium: u32,
}

/// FCO quote (`U`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FcoQuote {
    /// Common fields.
    pub preamble: Preamble,
    /// FCO symbol.
    pub symbol: Chars,
    /// Expiration date.
    pub expiration_date: u32,
    /// Strike price code.
    pub strike_code: u32,
    /// Bid price.
    pub bid: u32,
    /// Offer price.
    pub offer: u32,
}

/// FCO end of day summary (`F`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FcoEndOfDay {
    /// Common fields.
    pub preamble: Preamble,
    /// FCO symbol.
    pub symbol: Chars,
    /// Expiration date.
    pub expiration_date: u32,
    /// Strike price code.
    pub strike_code: u32,
    /// Volume.
    pub volume: u32,
    /// Open interest volume.
    pub open_interest: u32,
    /// Open price.
    pub open: u32,
    /// High price.
    pub high: u32,
    /// Low price.
    pub low: u32,
    /// Last price.
    pub last: u32,
    /// Sign of the net change.
    pub net_change_indicator: u32,
    /// Net change.
    pub net_change: u32,
    /// Price of the underlying.
    pub underlying: u32,
}

/// A message by category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed<'a> {
    /// `C`: administrative.
    Administrative(Preamble, WireText<'a>),
    /// `H`: control.
    Control(Preamble, WireText<'a>),
    /// A whole message in its ASCII form, with its category code.
    Default(u32, WireText<'a>),
    /// `f`: end of day summary.
    EndOfDay(EndOfDay),
    /// `F`: FCO end of day summary.
    FcoEndOfDay(FcoEndOfDay),
    /// `O`: FCO last sale.
    FcoLastSale(FcoLastSale),
    /// `U`: FCO quote.
    FcoQuote(FcoQuote),
    /// `a`: last sale.
    LastSale(LastSale),
    /// `d`: open interest.
    OpenInterest(OpenInterest),
    /// `k`: quote with size.
    Quote(Quote),
    /// `Y`: underlying values.
    Underlying(Preamble, &'a [OpraEntry]),
}

impl<'a> OpraMessage<'a> {
    /// Returns the message as the struct of its category.
    pub fn typed(&self) -> Typed<'a> {
        let text = || self.text().unwrap_or_default();
        match self.category() {
            Category::Administrative => Typed::Administrative(self.preamble(), text()),
            Category::Control => Typed::Control(self.preamble(), text()),
            Category::Default => Typed::Default(self.category_code(), text()),
            Category::EndOfDay => Typed::EndOfDay(self.end_of_day()),
            Category::FcoEndOfDay => Typed::FcoEndOfDay(self.fco_end_of_day()),
            Category::FcoLastSale => Typed::FcoLastSale(self.fco_last_sale()),
            Category::FcoQuote => Typed::FcoQuote(self.fco_quote()),
            Category::LastSale => Typed::LastSale(self.last_sale()),
            Category::OpenInterest => Typed::OpenInterest(OpenInterest {
                preamble: self.preamble(),
                option: self.option_key(),
                volume: self.value(Field::OpenInterest),
            }),
            Category::Quote => Typed::Quote(self.quote()),
            Category::Underlying => Typed::Underlying(self.preamble(), self.entries()),
        }
    }

    /// Returns the value of a field that the category is known to have.
    #[inline]
    fn value(&self, field: Field) -> u32 {
        self.record.number(field)
    }

    #[inline]
    fn preamble(&self) -> Preamble {
        Preamble {
            message_type: self.value(Field::MessageType),
            participant: self.value(Field::Participant),
            retransmission: self.value(Field::Retransmission),
            seq_num: self.record.seq_num(),
            time: self.value(Field::Time),
        }
    }

    #[inline]
    fn price_of(&self, denominator: Field, value: Field) -> Price {
        Price { denominator: self.value(denominator), value: self.value(value) }
    }

    #[inline]
    fn option_key(&self) -> OptionKey {
        OptionKey {
            symbol: self.record.chars(Field::Symbol),
            expiration_month: self.number(Field::ExpirationMonth),
            expiration_date: self.value(Field::ExpirationDate),
            year: self.value(Field::Year),
            strike: self.price_of(Field::StrikeDenominator, Field::StrikePrice),
            strike_code: self.value(Field::StrikeCode),
        }
    }

    fn quote(&self) -> Quote {
        let best_bid = self.has(Field::BestBid).then(|| BestBid {
            participant: self.value(Field::BestBidParticipant),
            price: self.price_of(Field::BestBidDenominator, Field::BestBid),
            size: self.value(Field::BestBidSize),
        });
        let best_offer = self.has(Field::BestOffer).then(|| BestOffer {
            participant: self.value(Field::BestOfferParticipant),
            price: self.price_of(Field::BestOfferDenominator, Field::BestOffer),
            size: self.value(Field::BestOfferSize),
        });
        Quote {
            preamble: self.preamble(),
            option: self.option_key(),
            bid: self.price_of(Field::PremiumDenominator, Field::Bid),
            bid_size: self.value(Field::BidSize),
            offer: self.price_of(Field::PremiumDenominator, Field::Offer),
            offer_size: self.value(Field::OfferSize),
            session: self.value(Field::Session),
            bbo: self.value(Field::Bbo),
            best_bid,
            best_offer,
        }
    }

    fn last_sale(&self) -> LastSale {
        LastSale {
            preamble: self.preamble(),
            option: self.option_key(),
            volume: self.value(Field::Volume),
            premium: self.price_of(Field::PremiumDenominator, Field::Premium),
            session: self.value(Field::Session),
        }
    }

    fn end_of_day(&self) -> EndOfDay {
        EndOfDay {
            preamble: self.preamble(),
            option: self.option_key(),
            volume: self.value(Field::Volume),
            open_interest: self.value(Field::OpenInterest),
            denominator: self.value(Field::PremiumDenominator),
            open: self.value(Field::Open),
            high: self.value(Field::High),
            low: self.value(Field::Low),
            last: self.value(Field::Last),
            net_change_indicator: self.value(Field::NetChangeIndicator),
            net_change: self.value(Field::NetChange),
            underlying: self.price_of(Field::UnderlyingDenominator, Field::UnderlyingPrice),
            bid: self.value(Field::Bid),
            offer: self.value(Field::Offer),
        }
    }

    fn fco_last_sale(&self) -> FcoLastSale {
        FcoLastSale {
            preamble: self.preamble(),
            symbol: self.record.chars(Field::Symbol),
            expiration_date: self.value(Field::ExpirationDate),
            strike_code: self.value(Field::StrikeCode),
            volume: self.value(Field::Volume),
            premium: self.value(Field::Premium),
        }
    }

    fn fco_quote(&self) -> FcoQuote {
        FcoQuote {
            preamble: self.preamble(),
            symbol: self.record.chars(Field::Symbol),
            expiration_date: self.value(Field::ExpirationDate),
            strike_code: self.value(Field::StrikeCode),
            bid: self.value(Field::Bid),
            offer: self.value(Field::Offer),
        }
    }

    fn fco_end_of_day(&self) -> FcoEndOfDay {
        FcoEndOfDay {
            preamble: self.preamble(),
            symbol: self.record.chars(Field::Symbol),
            expiration_date: self.value(Field::ExpirationDate),
            strike_code: self.value(Field::StrikeCode),
            volume: self.value(Field::Volume),
            open_interest: self.value(Field::OpenInterest),
            open: self.value(Field::Open),
            high: self.value(Field::High),
            low: self.value(Field::Low),
            last: self.value(Field::Last),
            net_change_indicator: self.value(Field::NetChangeIndicator),
            net_change: self.value(Field::NetChange),
            underlying: self.value(Field::UnderlyingPrice),
        }
    }
}

//! The FIX tags that books use, and a dense index of each.

/// FIX tags.
pub(super) mod tag {
    pub(in super::super) const MSG_SEQ_NUM: u32 = 34;
    pub(in super::super) const MSG_TYPE: u32 = 35;
    pub(in super::super) const NEW_SEQ_NO: u32 = 36;
    pub(in super::super) const ORDER_ID: u32 = 37;
    pub(in super::super) const SECURITY_ID: u32 = 48;
    pub(in super::super) const SENDING_TIME: u32 = 52;
    pub(in super::super) const ORIG_SENDING_TIME: u32 = 122;
    pub(in super::super) const SYMBOL: u32 = 55;
    pub(in super::super) const TRANSACT_TIME: u32 = 60;
    pub(in super::super) const TRADE_DATE: u32 = 75;
    pub(in super::super) const RPT_SEQ: u32 = 83;
    pub(in super::super) const SECURITY_DESC: u32 = 107;
    pub(in super::super) const MATURITY_MONTH_YEAR: u32 = 200;
    pub(in super::super) const MARKET_DEPTH: u32 = 264;
    pub(in super::super) const ENTRY_TYPE: u32 = 269;
    pub(in super::super) const ENTRY_PX: u32 = 270;
    pub(in super::super) const ENTRY_SIZE: u32 = 271;
    pub(in super::super) const ENTRY_DATE: u32 = 272;
    pub(in super::super) const ENTRY_TIME: u32 = 273;
    pub(in super::super) const QUOTE_CONDITION: u32 = 276;
    pub(in super::super) const TRADE_CONDITION: u32 = 277;
    pub(in super::super) const ENTRY_ID: u32 = 278;
    pub(in super::super) const UPDATE_ACTION: u32 = 279;
    pub(in super::super) const SECURITY_TRADING_STATUS: u32 = 326;
    pub(in super::super) const TRADING_SESSION_ID: u32 = 336;
    pub(in super::super) const TRAD_SES_STATUS: u32 = 340;
    pub(in super::super) const NUMBER_OF_ORDERS: u32 = 346;
    pub(in super::super) const LAST_MSG_SEQ_NUM_PROCESSED: u32 = 369;
    pub(in super::super) const MATURITY_DATE: u32 = 541;
    pub(in super::super) const LAST_FRAGMENT: u32 = 893;
    pub(in super::super) const MIN_PRICE_INCREMENT: u32 = 969;
    pub(in super::super) const TRADE_ID: u32 = 1003;
    pub(in super::super) const MD_FEED_TYPE: u32 = 1022;
    pub(in super::super) const PRICE_LEVEL: u32 = 1023;
    pub(in super::super) const AGGRESSOR_SIDE: u32 = 5797;
}

/// All tags that are bound. The index of a tag in this list is its place in arrays of fields; tags
/// that every update needs come first.
pub(super) const TAGS: [u32; 35] = [
    tag::ENTRY_TYPE,
    tag::UPDATE_ACTION,
    tag::SECURITY_ID,
    tag::RPT_SEQ,
    tag::ENTRY_PX,
    tag::ENTRY_SIZE,
    tag::PRICE_LEVEL,
    tag::NUMBER_OF_ORDERS,
    tag::QUOTE_CONDITION,
    tag::MARKET_DEPTH,
    tag::ENTRY_ID,
    tag::ORDER_ID,
    tag::SYMBOL,
    tag::TRADING_SESSION_ID,
    tag::ENTRY_TIME,
    tag::ENTRY_DATE,
    tag::TRADE_CONDITION,
    tag::AGGRESSOR_SIDE,
    tag::TRADE_ID,
    tag::TRANSACT_TIME,
    tag::TRADE_DATE,
    tag::MSG_SEQ_NUM,
    tag::SENDING_TIME,
    tag::ORIG_SENDING_TIME,
    tag::LAST_MSG_SEQ_NUM_PROCESSED,
    tag::LAST_FRAGMENT,
    tag::NEW_SEQ_NO,
    tag::SECURITY_TRADING_STATUS,
    tag::TRAD_SES_STATUS,
    tag::SECURITY_DESC,
    tag::MIN_PRICE_INCREMENT,
    tag::MATURITY_DATE,
    tag::MATURITY_MONTH_YEAR,
    tag::MD_FEED_TYPE,
    tag::MSG_TYPE,
];

/// Places in arrays of fields: one per tag of [`TAGS`], and further ones for other key fields.
pub(super) const PLACES: usize = TAGS.len() + super::options::KEY_FIELDS_MAX;

/// Returns the place of a tag; [`PLACES`] if it is not in [`TAGS`].
pub(super) const fn place_of(tag: u32) -> usize {
    let mut at = 0;
    while at < TAGS.len() {
        if TAGS[at] == tag {
            return at;
        }
        at += 1;
    }
    PLACES
}

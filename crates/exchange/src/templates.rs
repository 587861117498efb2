//! Template files of the feeds.

/// Order messages of a small exchange: Quote (template 1), New (2), Change (3), Remove (4) and
/// Done (99).
pub const SIMPLE: &str = include_str!("../templates/simple.xml");

/// Market data and quote requests of many securities: MarketData (1), QuoteRequest (2), Done (99).
pub const COMPLEX: &str = include_str!("../templates/complex.xml");

/// Price levels as CME's FAST feeds told them: MDIncrementalRefresh (81) and MDSnapshotFullRefresh
/// (83).
pub const CME: &str = include_str!("../templates/cme.xml");

/// Market data with values of unpredictable lengths: MarketData (1).
pub const RANDOM_CME: &str = include_str!("../templates/random-cme.xml");

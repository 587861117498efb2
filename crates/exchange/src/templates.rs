//! Template files of the feeds.

/// Order messages of a small exchange: Quote (template 1), New (2), Change (3), Remove (4) and
/// Done (99).
pub const SIMPLE: &str = include_str!("../templates/simple.xml");

/// Market data and quote requests of many securities: MarketData (1), QuoteRequest (2), Done (99).
pub const COMPLEX: &str = include_str!("../templates/complex.xml");

/// Price levels in the form of CME's FAST feeds: MDIncrementalRefresh (81) and
/// MDSnapshotFullRefresh (83).
pub const CME: &str = include_str!("../templates/cme.xml");

/// Market data with values of unpredictable lengths: MarketData (1).
pub const RANDOM_CME: &str = include_str!("../templates/random-cme.xml");

/// A feed in the shape of Moscow's ASTS: Orders (2721), Statistics (2722), Definition (2715).
pub const ASTS: &str = include_str!("../templates/asts.xml");

/// A feed in the shape of B3's UMDF: IncrementalRefresh (144), SecurityList (146).
pub const B3: &str = include_str!("../templates/b3.xml");

/// A feed in the shape of BSE India's EMDI: PacketHeader (72), Reset (120), DepthIncremental (94),
/// DepthSnapshot (93), InstrumentStateChange (97).
pub const BSE: &str = include_str!("../templates/bse.xml");

/// A feed in the shape of Eurex T7's RDI: PacketHeader (72), Reset (120), ProductSnapshot (20),
/// InstrumentSnapshot (22).
pub const EUREX: &str = include_str!("../templates/eurex.xml");

/// A feed in the shape of MCX India's MDI: PacketHeader (72), Reset (120), DepthIncremental (34).
pub const MCX: &str = include_str!("../templates/mcx.xml");

/// A feed in the shape of Shenzhen's STEP: Snapshot (111), Order (192), Trade (191).
pub const SZSE: &str = include_str!("../templates/szse.xml");

//! FIX messages as Rust types. The build script generates them from the dictionaries of
//! `tickwire-fix`.
//!
//! | messages | feature |
//! |---|---|
//! | header, trailer and session messages of every version | always |
//! | orders with cancellation and replacement, execution reports | always |
//! | market data | `market-data` |
//! | quotes | `quotes` |
//! | allocations | `allocations` |
//!
//! A message with more than four required fields is created from a struct that names them.
//!
//! `tickwire fix generate` prints the source, and generates the same from a custom dictionary.
//!
//! ```
//! use tickwire_fix::typed::{FixText, TimeWithPrecision};
//! use tickwire_fix::{FixDecimal, Precision, Reader, UtcTimestamp};
//! use tickwire_fix_messages::fix42::{
//!     AnyMessage, HandlInst, Header, NewOrderSingle, NewOrderSingleRequired, OrdType, Side,
//! };
//!
//! let now = TimeWithPrecision::new(UtcTimestamp::EPOCH, Precision::Millis);
//! let header = Header::new(FixText::from("CLIENT"), FixText::from("MARKET"), 7, now);
//! let mut order = NewOrderSingle::new(NewOrderSingleRequired {
//!     cl_ord_id: "order-1".into(),
//!     handl_inst: HandlInst::from_char(b'1'),
//!     symbol: "XYZ".into(),
//!     side: Side::Buy,
//!     transact_time: now,
//!     ord_type: OrdType::Limit,
//! });
//! order.set_order_qty(FixDecimal::new(57, 0)).set_price(FixDecimal::new(298_075, -3));
//! let mut out = [0; 400];
//! let bytes = order.encode(&header, &mut out).expect("room");
//!
//! let mut reader = Reader::new();
//! let message = reader.decode(bytes).expect("whole");
//! let decoded = NewOrderSingle::decode(&message).expect("valid");
//! assert_eq!(decoded.price(), Some(FixDecimal::new(298_075, -3)));
//! assert_eq!(decoded, order);
//! // One of any type, to match on.
//! match AnyMessage::decode(&message).expect("valid") {
//!     AnyMessage::NewOrderSingle(found) => assert_eq!(*found, order),
//!     other => println!("{}", other.msg_type()),
//! }
//! ```
//!
//! # Features
//!
//! | feature | what it is |
//! |---|---|
//! | `allocations`, on by default | Allocation and its responses, AllocationReport, AllocationInstruction. |
//! | `market-data`, on by default | MarketDataRequest, its reject, snapshots and increments. |
//! | `quotes`, on by default | Quote, QuoteRequest, MassQuote and the other messages with these prefixes. |
//! | `fix40`, on by default | FIX 4.0. |
//! | `fix41`, on by default | FIX 4.1. |
//! | `fix42`, on by default | FIX 4.2. |
//! | `fix43`, on by default | FIX 4.3. |
//! | `fix44`, on by default | FIX 4.4. |
//! | `fix50`, on by default | FIX 5.0. |
//! | `fix50sp1`, on by default | FIX 5.0 SP1. |
//! | `fix50sp2`, on by default | FIX 5.0 SP2. |
//! | `fixt11`, on by default | FIXT 1.1: header, trailer and session messages of FIX 5.0 and later. |
#![forbid(unsafe_code)]

/// Header, trailer, session and application messages of FIX 4.0.
#[cfg(feature = "fix40")]
pub mod fix40 {
    include!(concat!(env!("OUT_DIR"), "/fix40.rs"));
}

/// Header, trailer, session and application messages of FIX 4.1.
#[cfg(feature = "fix41")]
pub mod fix41 {
    include!(concat!(env!("OUT_DIR"), "/fix41.rs"));
}

/// Header, trailer, session and application messages of FIX 4.2.
#[cfg(feature = "fix42")]
pub mod fix42 {
    include!(concat!(env!("OUT_DIR"), "/fix42.rs"));
}

/// Header, trailer, session and application messages of FIX 4.3.
#[cfg(feature = "fix43")]
pub mod fix43 {
    include!(concat!(env!("OUT_DIR"), "/fix43.rs"));
}

/// Header, trailer, session and application messages of FIX 4.4.
#[cfg(feature = "fix44")]
pub mod fix44 {
    include!(concat!(env!("OUT_DIR"), "/fix44.rs"));
}

/// Header, trailer and application messages of FIX 5.0; session messages are those of `fixt11`.
#[cfg(feature = "fix50")]
pub mod fix50 {
    include!(concat!(env!("OUT_DIR"), "/fix50.rs"));
}

/// Header, trailer and application messages of FIX 5.0 SP1; session messages are those of `fixt11`.
#[cfg(feature = "fix50sp1")]
pub mod fix50sp1 {
    include!(concat!(env!("OUT_DIR"), "/fix50sp1.rs"));
}

/// Header, trailer and application messages of FIX 5.0 SP2; session messages are those of `fixt11`.
#[cfg(feature = "fix50sp2")]
pub mod fix50sp2 {
    include!(concat!(env!("OUT_DIR"), "/fix50sp2.rs"));
}

/// Header, trailer and session messages of FIXT 1.1, for FIX 5.0 and later.
#[cfg(feature = "fixt11")]
pub mod fixt11 {
    include!(concat!(env!("OUT_DIR"), "/fixt11.rs"));
}

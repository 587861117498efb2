//! Simulated trading days, with faults of the lines, through the whole feed handler: arbiter, framing,
//! decoding, recovery and books.
//!
//! A [`Scenario`] is a trading day of the simulated exchange, the faults of lines A and B and of the snapshots, and how
//! the handler is set up. [`run()`] plays it and checks, after every packet:
//!
//! 1. A book that is called fresh equals the exchange's book after the last message delivered.
//! 2. Every message is delivered at most once, in order.
//! 3. A packet that came in time, within the hold time and before one that is further ahead than packets are held, is delivered; the
//!    rest is told as a gap.
//! 4. Trades, statistics and statuses of delivered messages are told once, with their values.
//! 5. A replayed packet was lost before, and is replayed once, with its content.
//! 6. Once faults end and snapshots have come round, every book is fresh.
//!
//! Lines lose, repeat, reorder and delay packets, fall silent, die, begin when the other one dies, carry another channel from the beginning or for a while; resets come, are lost, or are not
//! told at all; the time of day steps. Snapshots and updates come in one message or in fragments; the dynamic decoder or generated
//! code decodes them. In half of the scenarios a TCP replay server, with a login, limits and connections
//! that break, sends lost packets again. Scenarios leave out what nothing in the packets can tell: a wrong line B
//! that begins together with line A, or fills a number that line A has lost before both were ever compared;
//! a lost reset to numbers ahead, or near the last ones; a silence across a reset of more numbers than a handler
//! looks ahead. While line B carries another channel in the middle of the day, line A loses nothing, nothing is reset, packets
//! are numbered, and numbers do not go back; packets of line A with numbers that the other channel has used may be lost, until line A has passed them. What changes books without being counted by RptSeq (an empty book of the channel) comes on every line.
//!
//! The same seed gives the same run. A scenario can also be drawn from the bytes of a fuzzer:
//! [`Scenario::from_bytes`].

#![forbid(unsafe_code)]

mod arrivals;
mod checker;
mod choices;
mod decodable;
mod draw;
mod reception;
mod replay;
mod run;
mod scenario;
mod seeds;
mod setup;

pub use run::{Report, Violation, run, trace};
pub use scenario::{EngineChoice, HandlerSetup, ReplaySetup, Resets, Scenario, Size};
pub use seeds::{Summary, run_seeds};

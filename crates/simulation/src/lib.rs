//! Simulated trading days with line faults, run through the whole feed handler: arbiter, framing,
//! decoding, recovery and books.
//!
//! A [`Scenario`] is a trading day of the simulated exchange, the faults of lines A and B and of
//! the snapshots, and the configuration of the handler. [`run()`] runs it and checks after every
//! packet:
//!
//! 1. A fresh book equals the exchange's book after the last message delivered.
//! 2. Every message is delivered at most once, in order.
//! 3. A packet that arrived in time is delivered; any other packet is reported as a gap. "In time"
//!    means within the hold time, and before a packet that is ahead by more packets than the handler
//!    holds.
//! 4. Trades, statistics and statuses of delivered messages are reported once, with their values.
//! 5. A replayed packet was lost before, and is replayed once, with its content.
//! 6. After the faults have ended and a round of snapshots has arrived, every book is fresh.
//!
//! Faults and variants:
//!
//! | part | variants |
//! |---|---|
//! | lines | lose, duplicate, reorder and delay packets; fall silent; fail |
//! | second line | begins when the other fails; carries another channel, always or for a while |
//! | resets | arrive, may be lost, or are never sent |
//! | receiver | the time of day steps |
//! | messages | updates and snapshots in one message or in fragments |
//! | decoder | dynamic or generated code |
//! | replay | none, or a TCP server with login, limits and breaking connections |
//!
//! Scenarios exclude what no handler can detect from the packets:
//!
//! - A wrong line B that begins together with line A, or that fills a gap of line A before the two
//!   were ever compared.
//! - A lost reset to numbers ahead of, or near, the last ones.
//! - A silence across a reset of more numbers than a handler looks ahead.
//! - The loss of a change to books that RptSeq does not count (an empty book of the channel): such a
//!   change arrives on every line.
//!
//! While line B carries another channel in the middle of the day, line A loses nothing, there are
//! no resets, packets are numbered, and numbers do not go back. Packets of line A with numbers that
//! the other channel has used may be lost until line A has passed them.
//!
//! The same seed gives the same run. A scenario can also be drawn from the bytes of a fuzzer:
//! [`Scenario::from_bytes`].
//!
//! # Examples
//!
//! ```
//! use tickwire_simulation::{Scenario, ScenarioSize, run};
//!
//! let report = run(&Scenario::new(7, ScenarioSize { packets_max: 200 }))?;
//! assert!(report.books_checked > 0);
//! # Ok::<(), tickwire_simulation::Violation>(())
//! ```

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

pub use run::{SimulationReport, Violation, run, trace};
pub use scenario::{HandlerSetup, ReplaySetup, Resets, Scenario, ScenarioSize, SimulationEngine};
pub use seeds::{SeedSummary, run_seeds};

//! Host services for loops: clocks, waiting, the stop flag, pinning to a CPU, latency
//! distributions.
//!
//! All crates with sockets, shared memory or middleware use these, so that their times are
//! comparable and one flag stops all of their loops.

pub mod affinity;
pub mod clock;
mod error;
pub mod histogram;
pub mod process;
mod stop;
mod throttle;
mod wait;

pub use error::{Action, Error};
pub use stop::Stop;
pub use throttle::Throttle;
pub use wait::{Step, Wait, Waiting};

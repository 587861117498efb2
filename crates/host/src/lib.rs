//! What loops need of the host: clocks, waiting, the stop flag, pinning to a CPU, times as distributions.
//!
//! Crates with sockets, shared memory or middleware share these, so that a time of one can be compared
//! with a time of another and one flag stops all of them.

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

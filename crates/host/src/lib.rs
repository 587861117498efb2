//! Host services for loops: clocks, waiting, the stop flag, pinning to a CPU, latency
//! distributions.
//!
//! All crates with sockets, shared memory or middleware use these services, so that their times are
//! comparable and one flag stops all of their loops.
//!
//! # Examples
//!
//! ```
//! use std::time::Duration;
//! use tickwire_host::clock::monotonic_ns;
//! use tickwire_host::{Wait, WaitPolicy, WaitStep, histogram};
//!
//! // Times as a distribution.
//! let mut times = histogram::latency();
//! for time_ns in [800, 900, 1_000, 25_000] {
//!     histogram::record(&mut times, time_ns);
//! }
//! assert!(times.value_at_quantile(0.5) < 1_000 && times.max() >= 25_000);
//!
//! // A loop that found nothing looks again for 50 microseconds, then sleeps.
//! let mut waiting = WaitPolicy::new(Wait::SpinThenBlock(Duration::from_micros(50)));
//! waiting.arrived();
//! while waiting.next(monotonic_ns) == WaitStep::Look {}
//! ```

pub mod affinity;
pub mod clock;
mod error;
pub mod histogram;
mod idle;
pub mod process;
mod stop;
mod throttle;
mod wait;

pub use error::{HostError, SystemOperation};
pub use idle::{IdleSetting, idle_setting};
pub use stop::Stop;
pub use throttle::Throttle;
pub use wait::{Wait, WaitPolicy, WaitStep};

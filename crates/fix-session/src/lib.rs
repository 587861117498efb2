//! FIX sessions: state machines without I/O.
//!
//! | call | purpose |
//! |---|---|
//! | [`Session::handle_connected`] | the transport is connected |
//! | [`Session::handle_bytes`] | input: received bytes |
//! | [`Session::handle_timeout`] | input: the time |
//! | [`Session::poll_event`] | output: events |
//! | [`Session::poll_transmit`] | output: bytes to send |
//! | [`Session::poll_timeout`] | output: time of the next timer |
//!
//! A session reads no clock and no socket. Its persistent state is in a [`Store`], which is
//! committed before bytes are sent. An accepted message is therefore never lost, and a received
//! message is stored together with all messages sent in response.
//!
//! # Examples
//!
//! In this example two sessions log on to each other. A real program passes the bytes through sockets.
//!
//! ```
//! use tickwire_fix_session::{BeginString, Config, MemoryStore, Now, Session, SessionId, SessionRole};
//!
//! let session = |role, sender, target| {
//!     let id = SessionId::new(BeginString::Fix44, sender, target);
//!     Session::new(Config::new(role, id), MemoryStore::new())
//! };
//! let mut trader = session(SessionRole::Initiator, "TRADER", "VENUE");
//! let mut venue = session(SessionRole::Acceptor, "VENUE", "TRADER");
//!
//! let now = Now { wall_ns: 1_700_000_000_000_000_000, steady_ns: 0 };
//! trader.handle_connected(now);
//! venue.handle_connected(now);
//!
//! let logon = trader.poll_transmit(now)?.to_vec();
//! venue.handle_bytes(&logon);
//! while venue.poll_event(now).is_some() {}
//!
//! let answer = venue.poll_transmit(now)?.to_vec();
//! trader.handle_bytes(&answer);
//! while trader.poll_event(now).is_some() {}
//!
//! assert!(trader.is_logged_on() && venue.is_logged_on());
//! # Ok::<(), tickwire_fix_session::StoreError>(())
//! ```

mod config;
mod error;
pub mod files;
mod id;
mod log;
mod now;
mod schedule;
mod secret;
mod session;
pub mod settings;
pub mod store;
mod tags;

pub use config::{Config, Dictionaries, SessionLimits, SessionRole};
pub use error::{SendError, StoreError};
pub use id::{ApplVersion, BeginString, PeerIdentity, SessionId};
pub use log::{Direction, LogLine};
pub use now::Now;
pub use schedule::{Schedule, ScheduleError};
pub use secret::Secret;
pub use session::{
    AdditionalFields, DisconnectReason, Event, Hooks, LogonRequest, MessageDelivery,
    OutgoingHeader, OutgoingMessage, Refusal, ResetOrigin, SendDecision, Session, SessionCounters,
    SessionEvent, admit, check_credentials, invalidity, is_admin, refusal_logout,
};
pub use store::{
    FileStore, FileStoreOptions, Fsync, MemoryStore, MovedAside, Store, StoreReport, check_store,
    cut_store, store_files,
};

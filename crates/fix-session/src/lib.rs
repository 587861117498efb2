//! FIX sessions: state machines that take bytes and time and give bytes and events.
//!
//! A [`Session`] is told when it is connected ([`Session::handle_connected`]), what arrived
//! ([`Session::handle_bytes`]) and that time has passed ([`Session::handle_timeout`]); it is asked for
//! what happened ([`Session::poll_event`]), what to send ([`Session::poll_transmit`]) and when it wants
//! to be woken ([`Session::poll_timeout`]). It reads no clock and no socket. What it must remember is in
//! a [`Store`], which is committed before a byte leaves: a message that was accepted for sending is
//! never lost, and a message that was received is forgotten only with everything that it caused.
//!
//! # Examples
//!
//! Two sessions that log on to each other; a program has sockets in place of the two calls.
//!
//! ```
//! use tickwire_fix_session::{BeginString, Config, MemoryStore, Now, Role, Session, SessionId};
//!
//! let session = |role, sender, target| {
//!     let id = SessionId::new(BeginString::Fix44, sender, target);
//!     Session::new(Config::new(role, id), MemoryStore::new())
//! };
//! let mut trader = session(Role::Initiator, "TRADER", "VENUE");
//! let mut venue = session(Role::Acceptor, "VENUE", "TRADER");
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

pub use config::{Config, Dictionaries, Limits, Role};
pub use error::{SendError, StoreError};
pub use id::{ApplVersion, BeginString, Identity, SessionId};
pub use log::{Direction, LogLine};
pub use now::Now;
pub use schedule::{Schedule, ScheduleError};
pub use secret::Secret;
pub use session::{
    Added, Counters, Delivery, Event, Head, Hooks, LogonRequest, Notice, Outgoing, Refusal,
    Session, Verdict, Why, admit, check_credentials, invalidity, is_admin, refusal_logout,
};
pub use store::{
    FileStore, FileStoreOptions, Fsync, MemoryStore, MovedAside, Store, StoreReport, check_store,
    cut_store, store_files,
};

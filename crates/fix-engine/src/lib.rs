//! FIX sessions over TCP: acceptors and initiators, driven by one loop.
//!
//! An [`Engine`] owns listeners, connections and sessions and runs them on the calling thread. One
//! thread handles the messages of hundreds of sessions and needs no locks. To use more cores, run
//! several engines with their own ports, or divide the sessions among them. The application
//! implements [`Application`].
//!
//! # Examples
//!
//! ```
//! use std::time::Duration;
//! use tickwire_fix_engine::{
//!     AcceptorOptions, Access, Application, BoxStore, Engine, EngineOptions, InitiatorOptions, SessionKey,
//! };
//! use tickwire_fix_session::{BeginString, Config, MemoryStore, MessageDelivery, SessionEvent, SessionId, SessionRole};
//!
//! /// Counts the sessions that have logged on.
//! struct LoggedOn(u32);
//!
//! impl Application for LoggedOn {
//!     fn handle_message(&mut self, _: SessionKey, _: MessageDelivery<'_, BoxStore>) {}
//!
//!     fn handle_session_event(&mut self, _: SessionKey, notice: &SessionEvent) {
//!         self.0 += u32::from(*notice == SessionEvent::LoggedOn);
//!     }
//! }
//!
//! // Both sides in one engine; port 0 selects a free port.
//! let mut engine = Engine::new(EngineOptions::default(), LoggedOn(0))?;
//! let listener = engine.listen(AcceptorOptions::new("127.0.0.1:0".parse()?))?;
//! let config = |role, sender, target| {
//!     Config::new(role, SessionId::new(BeginString::Fix44, sender, target))
//! };
//! let venue = config(SessionRole::Acceptor, "VENUE", "TRADER");
//! engine.add_acceptor(listener, venue, Box::new(MemoryStore::new()), Access::default())?;
//! let address = engine.address(listener).ok_or("the listener has an address")?;
//! let trader = config(SessionRole::Initiator, "TRADER", "VENUE");
//! engine.add_initiator(trader, Box::new(MemoryStore::new()), InitiatorOptions::new(address))?;
//!
//! while engine.application().0 < 2 {
//!     engine.turn(Duration::from_millis(100))?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | feature | what it is |
//! |---|---|
//! | `tokio` | Runs a session as a task of a tokio application. |

mod acceptor;
mod access;
mod admin;
mod admission;
mod application;
mod atomics;
mod configure;
mod connection;
mod descriptors;
mod engine;
mod events;
mod handle;
mod initiator;
mod library;
mod listener;
mod manage;
mod message_log;
mod metrics;
mod pending;
mod planned;
mod rate;
#[cfg(feature = "tokio")]
mod session_task;
mod sessions;
mod tls;
mod transport;
mod wake;

pub use acceptor::{AcceptorOptions, ListenerKey, Opener, SessionFactory, TemplateSession};
pub use access::{Access, AddressRange, Fingerprint, Peer};
pub use admission::{Decision, LogonAttempt, RefusedConnection, Ticket};
pub use application::Application;
pub use configure::{ConfigureError, Configured, open_store};
pub use engine::{Engine, EngineOptions};
pub use events::session_event_text;
pub use handle::{Answer, EngineHandle, HandleError};
pub use initiator::{Backoff, InitiatorOptions};
pub use manage::{NumbersError, SEQ_NUM_MAX};
pub use message_log::MessageLog;
pub use metrics::{FixCounters, FixMetrics};
pub use rate::Rate;
#[cfg(feature = "tokio")]
pub use session_task::{SessionTask, SessionTaskHandle, SessionTaskOptions, TaskEnd};
pub use sessions::{AddError, BoxStore, SessionKey, Sessions};
pub use tls::{ClientTls, ServerTls, TlsError};

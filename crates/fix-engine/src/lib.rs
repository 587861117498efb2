//! FIX sessions over TCP: acceptors and initiators, driven by one loop.
//!
//! An [`Engine`] owns listeners, connections and sessions and runs them on the calling thread. One
//! thread handles the messages of hundreds of sessions and needs no locks. To use more cores, run
//! several engines with their own ports, or divide the sessions among them. The application
//! implements [`Application`].

mod acceptor;
mod access;
mod admin;
mod admission;
mod application;
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

pub use acceptor::{AcceptorOptions, ListenerKey, Opener, Template, TemplateSession};
pub use access::{Access, AddressRange, Fingerprint, Peer};
pub use admission::{Decision, LogonAttempt, Refused, Ticket};
pub use application::Application;
pub use configure::{ConfigureError, Configured, open_store};
pub use engine::{Engine, EngineOptions};
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

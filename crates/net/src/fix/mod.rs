//! FIX sessions over TCP: acceptors and initiators, driven by one loop.
//!
//! An [`Engine`] owns listeners, connections and sessions and runs them on the thread that calls it.
//! One thread is enough for the messages of hundreds of sessions, keeps a session's state where its
//! bytes are, and needs no locks; whoever needs more cores runs several engines, each with its own
//! ports or with sessions divided among them. What the application does is in an [`Application`].

mod acceptor;
mod application;
mod configure;
mod connection;
mod engine;
mod initiator;
mod metrics;
mod rate;
mod sessions;
mod tls;
mod transport;

pub use acceptor::{AcceptorOptions, AddressRange, Template, TemplateSession};
pub use application::Application;
pub use configure::{ConfigureError, Configured};
pub use engine::{Engine, EngineOptions};
pub use initiator::{Backoff, InitiatorOptions};
pub use metrics::{FixCounters, FixMetrics};
pub use rate::Rate;
pub use sessions::{BoxStore, SessionKey, Sessions};
pub use tls::{ClientTls, ServerTls, TlsError};

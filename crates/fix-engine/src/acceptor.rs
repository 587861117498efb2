//! Listeners: permitted peers, rate limits, and session templates.

use std::net::{IpAddr, SocketAddr};

use tickwire_fix_session::{Config, SessionId};

use super::access::{Access, AddressRange};
use super::message_log::MessageLog;
use super::rate::Rate;
use super::sessions::BoxStore;
use super::tls::ServerTls;

/// Key of a listener of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerKey(pub(super) usize);

/// Creates sessions for unknown counterparties, by the id of the Logon; `None` refuses it. After
/// `None` it is called again with the same CompIDs and the other BeginStrings, to tell the reason.
/// Called for unauthenticated peers: do not open or count anything here.
pub type SessionFactory = Box<dyn FnMut(&SessionId) -> Option<TemplateSession> + Send>;

/// Opens the store of a session, and its message log if the configuration enables it. The error
/// describes what cannot be opened.
pub type Opener = Box<dyn FnOnce() -> Result<(BoxStore, Option<MessageLog>), String> + Send>;

/// Session created by a template.
pub struct TemplateSession {
    /// The configuration, with the id that the Logon names.
    pub config: Config,
    /// Peers that may log on.
    pub access: Access,
    /// Called only after the Logon has been accepted.
    pub open: Opener,
}

impl std::fmt::Debug for TemplateSession {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("TemplateSession").field("id", &self.config.id).finish_non_exhaustive()
    }
}

/// Options and limits of a listener. A connection is pending until its Logon has been accepted.
#[derive(Clone, Debug)]
pub struct AcceptorOptions {
    /// Address to listen on.
    pub address: SocketAddr,
    /// Peers that may connect; empty allows all. Sessions can be stricter ([`Access`]).
    pub allowed: Vec<AddressRange>,
    /// TLS; `None` for plain connections.
    pub tls: Option<ServerTls>,
    /// Most connections at a time. Default 1,024.
    pub connections_max: usize,
    /// Most pending connections. A further one closes the oldest of the address that has the most.
    /// Default 128.
    pub pending_max: usize,
    /// Most pending connections per address (for IPv6 per /64 network); a further one closes its
    /// oldest. Default 32.
    pub pending_per_address_max: usize,
    /// Connections per second. Default 400.
    pub connection_rate: Rate,
    /// Connections per second and address. Default 200.
    pub connection_rate_per_address: Rate,
    /// Logons per second. Default 400.
    pub logon_rate: Rate,
    /// Most connected sessions of the template; further ones are refused. Default 1,000.
    pub template_sessions_max: usize,
    /// Most bytes before the first message is complete. Default 8 KiB.
    pub first_message_len_max: usize,
    /// Seconds within which the first message must arrive. Default 10.
    pub first_message_timeout_s: u32,
    /// Most Logons that wait for the application's decision. Default 64.
    pub decisions_max: usize,
    /// Seconds within which the application must decide. Default 10.
    pub decision_timeout_s: u32,
}

impl AcceptorOptions {
    /// Creates options with defaults.
    pub const fn new(address: SocketAddr) -> Self {
        Self {
            address,
            allowed: Vec::new(),
            tls: None,
            connections_max: 1024,
            pending_max: 128,
            pending_per_address_max: 32,
            connection_rate: Rate { per_second: 400 },
            connection_rate_per_address: Rate { per_second: 200 },
            logon_rate: Rate { per_second: 400 },
            template_sessions_max: 1000,
            first_message_len_max: 8 << 10,
            first_message_timeout_s: 10,
            decisions_max: 64,
            decision_timeout_s: 10,
        }
    }

    pub(super) fn allows(&self, address: IpAddr) -> bool {
        self.allowed.is_empty() || self.allowed.iter().any(|range| range.contains(address))
    }
}

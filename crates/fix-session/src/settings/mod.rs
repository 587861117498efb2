//! Settings files in QuickFIX's form: sections `[DEFAULT]` and `[SESSION]` of lines `Key=value`.
//!
//! Keys of the default section hold for all sessions. A key that is unknown is a warning, because
//! every engine has keys of its own; a value that cannot be used is an error. All are reported at once.

mod keys;
mod schedule;
mod section;
mod tls;

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use crate::config::Config;
use crate::id::ApplVersion;
use section::sections;

/// Most bytes of a settings file.
const LEN_MAX: usize = 16 << 20;
/// Most sections of a settings file.
const SECTIONS_MAX: usize = 100_000;

/// Something to tell about a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// From 1; 0 for the file as a whole.
    pub line: u32,
    /// What, and what to do.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.text)
    }
}

/// Everything wrong with a settings file, in the order of its lines; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(pub Vec<Finding>);

impl fmt::Display for SettingsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, finding) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(out, "{separator}{finding}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingsError {}

/// Bounds of a listener; those not given are the listener's own. Sessions of one listener must not say
/// different things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptorLimits {
    /// `MaxConnections`: at a time.
    pub connections_max: Option<u32>,
    /// `MaxPendingConnections`: those whose Logon was not accepted yet.
    pub pending_max: Option<u32>,
    /// `MaxPendingConnectionsPerAddress`.
    pub pending_per_address_max: Option<u32>,
    /// `MaxConnectionsPerSecond`; 0 for any number.
    pub connections_per_second: Option<u32>,
    /// `MaxConnectionsPerSecondPerAddress`; 0 for any number.
    pub connections_per_second_per_address: Option<u32>,
    /// `MaxLogonsPerSecond`; 0 for any number.
    pub logons_per_second: Option<u32>,
    /// `MaxTemplateSessions`: sessions of templates that are connected at a time.
    pub template_sessions_max: Option<u32>,
    /// `FirstMessageTimeout` in seconds.
    pub first_message_timeout_s: Option<u32>,
    /// `MaxPendingDecisions`: Logons that the application has not decided on.
    pub decisions_max: Option<u32>,
    /// `DecisionTimeout` in seconds.
    pub decision_timeout_s: Option<u32>,
}

impl AcceptorLimits {
    /// Returns each key with its value.
    pub const fn values(&self) -> [(&'static str, Option<u32>); 10] {
        [
            ("MaxConnections", self.connections_max),
            ("MaxPendingConnections", self.pending_max),
            ("MaxPendingConnectionsPerAddress", self.pending_per_address_max),
            ("MaxConnectionsPerSecond", self.connections_per_second),
            ("MaxConnectionsPerSecondPerAddress", self.connections_per_second_per_address),
            ("MaxLogonsPerSecond", self.logons_per_second),
            ("MaxTemplateSessions", self.template_sessions_max),
            ("FirstMessageTimeout", self.first_message_timeout_s),
            ("MaxPendingDecisions", self.decisions_max),
            ("DecisionTimeout", self.decision_timeout_s),
        ]
    }

    /// Returns each key with its value to be changed.
    pub const fn values_mut(&mut self) -> [(&'static str, &mut Option<u32>); 10] {
        [
            ("MaxConnections", &mut self.connections_max),
            ("MaxPendingConnections", &mut self.pending_max),
            ("MaxPendingConnectionsPerAddress", &mut self.pending_per_address_max),
            ("MaxConnectionsPerSecond", &mut self.connections_per_second),
            ("MaxConnectionsPerSecondPerAddress", &mut self.connections_per_second_per_address),
            ("MaxLogonsPerSecond", &mut self.logons_per_second),
            ("MaxTemplateSessions", &mut self.template_sessions_max),
            ("FirstMessageTimeout", &mut self.first_message_timeout_s),
            ("MaxPendingDecisions", &mut self.decisions_max),
            ("DecisionTimeout", &mut self.decision_timeout_s),
        ]
    }
}

/// How a session gets its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionSettings {
    /// It is connected to.
    Acceptor {
        /// `SocketAcceptAddress`.
        address: Option<String>,
        /// `SocketAcceptPort`.
        port: u16,
        /// `AllowedRemoteAddresses`: addresses or ranges; empty for everyone.
        allowed: Vec<String>,
        /// `AllowedClientCertificates`: SHA-256 sums of certificates; empty for all.
        certificates: Vec<String>,
        /// Bounds on who comes; all are keys of Tickwire's own.
        limits: AcceptorLimits,
        /// `AcceptorTemplate` or `DynamicSession`: it stands for counterparties that are unknown.
        is_template: bool,
    },
    /// It connects.
    Initiator {
        /// `SocketConnectHost` and `SocketConnectPort`, with numbers for more: tried in turn.
        hosts: Vec<(String, u16)>,
        /// `ReconnectInterval` in seconds.
        reconnect_s: u32,
    },
}

/// A version of TLS. Older ones are not spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// 1.2.
    Tls12,
    /// 1.3.
    Tls13,
}

/// An encrypted connection: files, and what the peer must show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// Own certificates, PEM.
    pub certificates: Option<PathBuf>,
    /// Own key, PEM.
    pub key: Option<PathBuf>,
    /// Certificates that the peer's must come from, PEM.
    pub authorities: Option<PathBuf>,
    /// The name that the server's certificate must have; the host if not given.
    pub server_name: Option<String>,
    /// Versions that may be spoken; all if empty.
    pub versions: Vec<TlsVersion>,
}

/// When a message log is put aside for a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRotation {
    /// Most bytes of a file, but that a message is never split.
    pub bytes_max: u64,
    /// Files put aside that are kept.
    pub kept: u32,
}

/// The dictionaries that a file names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DictionarySettings {
    /// True if messages are validated.
    pub is_used: bool,
    /// `DataDictionary` or `TransportDataDictionary`; the one that comes with the library if not given.
    pub session: Option<PathBuf>,
    /// `AppDataDictionary`, by version; `None` for the session's default version.
    pub application: Vec<(Option<ApplVersion>, PathBuf)>,
}

/// One session of a settings file.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// Line of its section.
    pub line: u32,
    /// Configuration of the session, without dictionaries.
    pub config: Config,
    /// How it gets its connection.
    pub connection: ConnectionSettings,
    /// `FileStorePath`; messages are kept in memory if not given.
    pub store_folder: Option<PathBuf>,
    /// `FileStoreSync`: the disk is waited for with every commit.
    pub store_syncs: bool,
    /// `FileStoreArchives`: journals kept of numbers that a reset has ended.
    pub store_archives: usize,
    /// `FileLogPath`.
    pub log_folder: Option<PathBuf>,
    /// `FileLogMaxBytes` and `FileLogMaxFiles`; a log grows without end if not given.
    pub log_rotation: Option<LogRotation>,
    /// Dictionaries.
    pub dictionaries: DictionarySettings,
    /// Encryption, if the file asks for it.
    pub tls: Option<TlsSettings>,
}

/// The sessions of a settings file.
#[derive(Clone, Debug)]
pub struct Settings {
    /// In the order of the file.
    pub sessions: Vec<SessionSettings>,
    /// Keys that are unknown.
    pub warnings: Vec<Finding>,
}

impl Settings {
    /// Parses a settings file.
    ///
    /// # Errors
    /// Everything wrong with it.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        if text.len() > LEN_MAX {
            let text = format!("the file is longer than {LEN_MAX} bytes");
            return Err(SettingsError(vec![Finding { line: 0, text }]));
        }
        let mut errors = Vec::new();
        let (default, sections) = sections(text, &mut errors);
        let (mut found, mut warnings) = (Vec::new(), Vec::new());
        for section in &sections {
            match keys::read(&default, section, &mut warnings) {
                Ok(session) => found.push(session),
                Err(mut more) => errors.append(&mut more),
            }
        }
        duplicates(&found, &mut errors);
        if sections.is_empty() && errors.is_empty() {
            let text = "the file has no [SESSION] section".to_owned();
            errors.push(Finding { line: 0, text });
        }
        for findings in [&mut errors, &mut warnings] {
            findings.sort_by(|a, b| (a.line, &a.text).cmp(&(b.line, &b.text)));
            findings.dedup();
        }
        if errors.is_empty() {
            Ok(Self { sessions: found, warnings })
        } else {
            Err(SettingsError(errors))
        }
    }
}

/// Reports sections that define the same session.
fn duplicates(sessions: &[SessionSettings], errors: &mut Vec<Finding>) {
    let mut lines = HashMap::new();
    for session in sessions {
        let id = &session.config.id;
        if let Some(first) = lines.insert(id, session.line) {
            let text =
                format!("the session {id} is already defined in line {first}; keep one of the two");
            errors.push(Finding { line: session.line, text });
        }
    }
}

#[cfg(test)]
mod tests;

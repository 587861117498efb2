//! Settings files in QuickFIX's form: sections `[DEFAULT]` and `[SESSION]` of lines `Key=value`.
//!
//! Keys of the default section apply to all sessions. An unknown key is a warning, because every
//! engine has its own keys. In an acceptor's section it is an error if it resembles a key that
//! restricts access, or begins like one (`Required`, `Allowed`). An invalid value is an error. All findings are reported at once.

mod keys;
mod nearest;
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

/// A warning or error of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFinding {
    /// Line number from 1; 0 for the file as a whole.
    pub line: u32,
    /// The description and the remedy.
    pub text: String,
}

impl fmt::Display for SettingsFinding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(out, "line {}: ", self.line)?;
        }
        out.write_str(&self.text)
    }
}

/// All errors of a settings file, in the order of its lines; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(pub Vec<SettingsFinding>);

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

/// Limits of a listener; absent ones have the listener's defaults. Sessions of one listener must
/// not contradict each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptorLimits {
    /// `MaxConnections`: most connections at a time.
    pub connections_max: Option<u32>,
    /// `MaxPendingConnections`: most connections without an accepted Logon.
    pub pending_max: Option<u32>,
    /// `MaxPendingConnectionsPerAddress`.
    pub pending_per_address_max: Option<u32>,
    /// `MaxConnectionsPerSecond`; 0 for no limit.
    pub connections_per_second: Option<u32>,
    /// `MaxConnectionsPerSecondPerAddress`; 0 for no limit.
    pub connections_per_second_per_address: Option<u32>,
    /// `MaxLogonsPerSecond`; 0 for no limit.
    pub logons_per_second: Option<u32>,
    /// `MaxTemplateSessions`: most connected template sessions.
    pub template_sessions_max: Option<u32>,
    /// `FirstMessageTimeout` in seconds.
    pub first_message_timeout_s: Option<u32>,
    /// `MaxPendingDecisions`: most Logons waiting for the application's decision.
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

    /// Returns each key with a mutable reference to its value.
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

/// The connection settings of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionSettings {
    /// The peer connects to this side.
    Acceptor {
        /// `SocketAcceptAddress`.
        address: Option<String>,
        /// `SocketAcceptPort`.
        port: u16,
        /// `AllowedRemoteAddresses`: addresses or ranges; empty allows all.
        allowed: Vec<String>,
        /// `AllowedClientCertificates`: SHA-256 fingerprints; empty allows all.
        certificates: Vec<String>,
        /// Limits of the listener; all are Tickwire's own keys.
        limits: AcceptorLimits,
        /// `AcceptorTemplate` or `DynamicSession`: the section is a template for unknown
        /// counterparties.
        is_template: bool,
    },
    /// This side connects to the peer.
    Initiator {
        /// `SocketConnectHost` and `SocketConnectPort`, numbered if there are several; tried in
        /// turn.
        hosts: Vec<(String, u16)>,
        /// `ReconnectInterval` in seconds.
        reconnect_s: u32,
    },
}

/// A version of TLS. Older versions are not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// 1.2.
    Tls12,
    /// 1.3.
    Tls13,
}

/// TLS settings: files, and the requirements on the peer's certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// PEM file of the own certificate chain.
    pub certificates: Option<PathBuf>,
    /// PEM file of the own private key.
    pub key: Option<PathBuf>,
    /// PEM file of the authorities that must have signed the peer's certificate.
    pub authorities: Option<PathBuf>,
    /// The name that the server's certificate must have; default: the host.
    pub server_name: Option<String>,
    /// Permitted versions; empty permits all.
    pub versions: Vec<TlsVersion>,
}

/// Rotation of a message log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRotation {
    /// Most bytes of a file; a longer single message is written to a file of its own.
    pub bytes_max: u64,
    /// Number of rotated files that are kept.
    pub kept: u32,
}

/// The dictionaries that a file names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DictionarySettings {
    /// True if messages are validated.
    pub is_used: bool,
    /// `DataDictionary` or `TransportDataDictionary`; default: the built-in dictionary.
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
    /// Connection settings.
    pub connection: ConnectionSettings,
    /// `FileStorePath`; without it messages are kept in memory.
    pub store_folder: Option<PathBuf>,
    /// `FileStoreSync`: every commit is synced to the disk.
    pub store_syncs: bool,
    /// `FileStoreArchives`: number of journals kept from before resets.
    pub store_archives: usize,
    /// `FileLogPath`.
    pub log_folder: Option<PathBuf>,
    /// `FileLogMaxBytes` and `FileLogMaxFiles`; without them a log grows without limit.
    pub log_rotation: Option<LogRotation>,
    /// Dictionaries.
    pub dictionaries: DictionarySettings,
    /// TLS, if the file enables it.
    pub tls: Option<TlsSettings>,
}

/// The sessions of a settings file.
#[derive(Clone, Debug)]
pub struct Settings {
    /// In the order of the file.
    pub sessions: Vec<SessionSettings>,
    /// Warnings, such as unknown keys.
    pub warnings: Vec<SettingsFinding>,
}

impl Settings {
    /// Parses a settings file.
    ///
    /// # Errors
    /// All errors of the file.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        if text.len() > LEN_MAX {
            let text = format!("the file is longer than {LEN_MAX} bytes");
            return Err(SettingsError(vec![SettingsFinding { line: 0, text }]));
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
            errors.push(SettingsFinding { line: 0, text });
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
fn duplicates(sessions: &[SessionSettings], errors: &mut Vec<SettingsFinding>) {
    let mut lines = HashMap::new();
    for session in sessions {
        let id = &session.config.id;
        if let Some(first) = lines.insert(id, session.line) {
            let text =
                format!("the session {id} is already defined in line {first}; keep one of the two");
            errors.push(SettingsFinding { line: session.line, text });
        }
    }
}

#[cfg(test)]
mod tests;

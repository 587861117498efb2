//! Sets up listeners, connections and sessions from a settings file.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tickwire_fix_session::files::make_private_folder;
use tickwire_fix_session::settings::{
    ConnectionSettings, LogRotation, SessionSettings, Settings, TlsSettings,
};
use tickwire_fix_session::{
    Config, FileStore, FileStoreOptions, Fsync, MemoryStore, MovedAside, SessionId,
};

use super::acceptor::{AcceptorOptions, SessionFactory, TemplateSession};
use super::access::{Access, AddressRange, Fingerprint};
use super::application::Application;
use super::descriptors;
use super::engine::Engine;
use super::initiator::{Backoff, InitiatorOptions};
use super::library::Library;
use super::message_log::MessageLog;
use super::planned::{ListenerSessions, check_overlaps, check_templates, is_template};
use super::rate::Rate;
use super::sessions::{BoxStore, SessionKey};
use super::tls::{ClientTls, ServerTls};
use tickwire_host::clock::unix_ns;

/// Time between two attempts to open a session whose files have not changed.
const RETRY: Duration = Duration::from_secs(60);

/// The reason why a session of a settings file cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigureError {
    /// Line of the session's section.
    pub line: u32,
    /// Line of the section of another session that it conflicts with.
    pub other: Option<u32>,
    /// The description, with its file or address.
    pub text: String,
}

impl fmt::Display for ConfigureError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "session of line {}", self.line)?;
        if let Some(other) = self.other {
            write!(out, " and session of line {other}")?;
        }
        write!(out, ": {}", self.text)
    }
}

impl std::error::Error for ConfigureError {}

/// The sessions and listeners of a settings file.
#[derive(Clone, Debug, Default)]
pub struct Configured {
    /// Sessions in the order of the file; templates have no session yet.
    pub sessions: Vec<SessionKey>,
    /// Addresses of the listeners.
    pub addresses: Vec<SocketAddr>,
    /// Sessions whose store or message log cannot be opened, in the order of the file. An acceptor
    /// refuses their Logons ([`Refusal::Store`](tickwire_fix_session::Refusal::Store)) until the
    /// file is repaired. Then it opens them: at the next Logon if the journal has changed,
    /// otherwise (message log, permissions) within a minute. An initiator does not connect them.
    /// [`Sessions::unopened`](crate::Sessions::unopened) has those that are still not open.
    pub unopened: Vec<ConfigureError>,
}

impl<A: Application> Engine<A> {
    /// Sets up everything that a settings file names. A session whose store or message log cannot be
    /// opened stops no other session: it is logged, and is in [`Configured::unopened`].
    ///
    /// # Errors
    /// [`ConfigureError`] for the first session with wrong settings, or if no session can be opened.
    pub fn configure(
        &mut self,
        settings: &Settings,
        fsync: Fsync,
    ) -> Result<Configured, ConfigureError> {
        let mut configured = Configured::default();
        let mut has_template = false;
        let (mut sessions, mut library) = (Vec::new(), Library::default());
        let mut listeners: BTreeMap<SocketAddr, ListenerSessions> = BTreeMap::new();
        for session in &settings.sessions {
            let fail = |text: String| ConfigureError { line: session.line, other: None, text };
            let ConnectionSettings::Acceptor { address, port, .. } = &session.connection else {
                continue;
            };
            let address = accept_address(address.as_deref(), *port).map_err(fail)?;
            match listeners.entry(address) {
                Entry::Occupied(entry) => entry.into_mut().join(session)?,
                Entry::Vacant(entry) => drop(entry.insert(ListenerSessions::new(session))),
            }
        }
        check_overlaps(&listeners)?;
        check_templates(&listeners)?;
        let room = descriptors::make_room(settings, &listeners).map_err(|text| {
            let line = settings.sessions.first().map_or(0, |session| session.line);
            ConfigureError { line, other: None, text }
        })?;
        for (address, planned) in &listeners {
            let line = planned.first().line;
            let fail = |text: String| ConfigureError { line, other: None, text };
            let mut options = acceptor(*address, planned).map_err(fail)?;
            room.limit(&mut options);
            let key = self.listen(options).map_err(|error| fail(error.to_string()))?;
            let mut templates = Vec::new();
            for session in &planned.sessions {
                let fail = |text: String| ConfigureError { line: session.line, other: None, text };
                let prepared = PreparedSession::new(session, fsync, &mut library).map_err(fail)?;
                if is_template(session) {
                    has_template = true;
                    templates.push(Offer::Template(prepared));
                    continue;
                }
                let config = prepared.config.clone();
                let (store, log) = match prepared.open(&config.id) {
                    Ok(opened) => opened,
                    Err(text) => {
                        let until = "its Logons are refused until the file is repaired";
                        log_unopened(&config.id, &text, until);
                        self.sessions_mut().note_unopened(&config.id, text.clone());
                        configured.unopened.push(fail(text.clone()));
                        templates.push(Offer::Unopened(Unopened::new(prepared, text)));
                        continue;
                    }
                };
                let access = prepared.access.clone();
                let added = self.add_acceptor(key, config, store, access);
                let added = added.map_err(|error| fail(error.to_string()))?;
                self.keep_log(added, log);
                sessions.push((session.line, added));
            }
            if !templates.is_empty() {
                let set = self.set_template(key, template(templates));
                set.map_err(|error| fail(error.to_string()))?;
            }
            configured.addresses.extend(self.address(key));
        }
        for session in &settings.sessions {
            let ConnectionSettings::Initiator { hosts, reconnect_s } = &session.connection else {
                continue;
            };
            let fail = |text: String| ConfigureError { line: session.line, other: None, text };
            let prepared = PreparedSession::new(session, fsync, &mut library).map_err(fail)?;
            let options = initiator(session, hosts, *reconnect_s).map_err(fail)?;
            let (store, log) = match prepared.open(&prepared.config.id) {
                Ok(opened) => opened,
                Err(text) => {
                    log_unopened(&prepared.config.id, &text, "it is not connected");
                    self.sessions_mut().note_unopened(&prepared.config.id, text.clone());
                    configured.unopened.push(fail(text));
                    continue;
                }
            };
            let added = self.add_initiator(prepared.config, store, options);
            let added = added.map_err(|error| fail(error.to_string()))?;
            self.keep_log(added, log);
            sessions.push((session.line, added));
        }
        configured.unopened.sort_by_key(|error| error.line);
        if let (true, false, Some(error)) =
            (sessions.is_empty(), has_template, configured.unopened.first())
        {
            return Err(error.clone());
        }
        sessions.sort_by_key(|(line, _)| *line);
        configured.sessions = sessions.into_iter().map(|(_, key)| key).collect();
        Ok(configured)
    }

    fn keep_log(&mut self, key: SessionKey, log: Option<MessageLog>) {
        if let Some(log) = log {
            self.sessions_mut().keep_log(key, log);
        }
    }
}

fn log_unopened(id: &SessionId, text: &str, until: &str) {
    let session = id.to_string();
    tracing::error!(target: "tickwire::fix", session, "{text}; {until}, the other sessions run");
}

/// Opens a store, and logs an incomplete last commit of its journal.
///
/// # Errors
/// The reason why it cannot be opened.
pub fn open_store(options: FileStoreOptions) -> Result<FileStore, String> {
    let name = options.name.clone();
    let store = FileStore::open(options, unix_ns()).map_err(|error| error.to_string())?;
    if let Some(MovedAside { offset, len, path }) = store.moved_aside() {
        tracing::warn!(
            "message store {name}: {len} bytes from offset {offset} are not a complete commit and were moved to {}; their messages are lost to the session",
            path.display()
        );
    }
    Ok(store)
}

/// A session whose files were read.
#[derive(Clone)]
struct PreparedSession {
    config: Config,
    access: Access,
    store_folder: Option<PathBuf>,
    log_folder: Option<PathBuf>,
    log_rotation: Option<LogRotation>,
    fsync: Fsync,
    archives_max: usize,
}

impl PreparedSession {
    fn new(session: &SessionSettings, fsync: Fsync, library: &mut Library) -> Result<Self, String> {
        let mut config = session.config.clone();
        config.dictionaries = library.of(session)?;
        config.log_messages = session.log_folder.is_some();
        Ok(Self {
            config,
            access: access(session)?,
            store_folder: session.store_folder.clone(),
            log_folder: session.log_folder.clone(),
            log_rotation: session.log_rotation,
            fsync: if session.store_syncs { Fsync::Always } else { fsync },
            archives_max: session.store_archives,
        })
    }

    /// Opens store and message log for an id.
    fn open(&self, id: &SessionId) -> Result<(BoxStore, Option<MessageLog>), String> {
        let log = self.open_log(id)?;
        let Some(folder) = &self.store_folder else {
            return Ok((Box::new(MemoryStore::new()), log));
        };
        let options = FileStoreOptions {
            folder: folder.clone(),
            name: id.file_name(),
            fsync: self.fsync,
            archives_max: self.archives_max,
        };
        Ok((Box::new(open_store(options)?), log))
    }

    /// Returns the state of this session's own journal; `None` if it has none.
    fn journal_state(&self) -> Option<JournalState> {
        let folder = self.store_folder.as_ref()?;
        let path = folder.join(format!("{}.journal", self.config.id.file_name()));
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    }

    /// Opens the message log of a session, if it is enabled.
    fn open_log(&self, id: &SessionId) -> Result<Option<MessageLog>, String> {
        let Some(folder) = &self.log_folder else { return Ok(None) };
        let path = folder.join(format!("{}.messages.log", id.file_name()));
        let opened = make_private_folder(folder)
            .and_then(|()| MessageLog::open(path.clone(), self.log_rotation));
        opened.map(Some).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// True if a counterparty matches this template; `*` matches all.
    fn fits(&self, id: &SessionId) -> bool {
        let own = &self.config.id;
        let fits = |known: &str, asked: &str| known == "*" || known == asked;
        own.begin_string == id.begin_string
            && fits(&own.sender_comp_id, &id.sender_comp_id)
            && fits(&own.target_comp_id, &id.target_comp_id)
    }
}

/// An acceptor session whose store or message log could not be opened.
#[derive(Clone)]
struct Unopened {
    prepared: PreparedSession,
    failed: Arc<Mutex<Failed>>,
}

/// The last attempt to open a session.
struct Failed {
    text: String,
    tried: Instant,
    journal: Option<JournalState>,
}

/// Length and time of the last change of a journal.
type JournalState = (u64, SystemTime);

impl Unopened {
    fn new(prepared: PreparedSession, text: String) -> Self {
        let journal = prepared.journal_state();
        let failed = Failed { text, tried: Instant::now(), journal };
        Self { prepared, failed: Arc::new(Mutex::new(failed)) }
    }

    /// Tries again if the journal has changed or the last attempt is [`RETRY`] ago. No other
    /// session runs while a journal is read, which takes a second if it is long.
    fn open(&self) -> Result<(BoxStore, Option<MessageLog>), String> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let journal = self.prepared.journal_state();
        if failed.journal == journal && failed.tried.elapsed() < RETRY {
            return Err(failed.text.clone());
        }
        let opened = self.prepared.open(&self.prepared.config.id);
        opened.inspect_err(|text| {
            *failed = Failed { text: text.clone(), tried: Instant::now(), journal };
        })
    }
}

/// A session that a Logon creates.
enum Offer {
    /// Serves any counterparty that fits.
    Template(PreparedSession),
    /// Serves one counterparty.
    Unopened(Unopened),
}

impl Offer {
    const fn prepared(&self) -> &PreparedSession {
        match self {
            Self::Template(prepared) | Self::Unopened(Unopened { prepared, .. }) => prepared,
        }
    }

    /// The session for the id of a Logon.
    fn session(&self, id: &SessionId) -> TemplateSession {
        let PreparedSession { config, access, .. } = self.prepared().clone();
        match self {
            Self::Template(prepared) => {
                let (prepared, id) = (prepared.clone(), id.clone());
                let config = Config { id: id.clone(), ..config };
                TemplateSession { config, access, open: Box::new(move || prepared.open(&id)) }
            }
            Self::Unopened(unopened) => {
                let unopened = unopened.clone();
                TemplateSession { config, access, open: Box::new(move || unopened.open()) }
            }
        }
    }
}

/// Returns the template function for counterparties without an open session. A section that names
/// the counterparty takes precedence over one with `*`.
fn template(mut offers: Vec<Offer>) -> SessionFactory {
    offers.sort_by_key(|offer| {
        let id = &offer.prepared().config.id;
        let is_any = |comp_id: &str| comp_id == "*";
        (is_any(&id.target_comp_id), is_any(&id.sender_comp_id))
    });
    Box::new(move |id: &SessionId| {
        let offer = offers.iter().find(|offer| offer.prepared().fits(id))?;
        Some(offer.session(id))
    })
}

fn accept_address(address: Option<&str>, port: u16) -> Result<SocketAddr, String> {
    let ip = match address {
        None => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        Some(text) => {
            let found = (text, port).to_socket_addrs();
            let found = found.map_err(|error| format!("SocketAcceptAddress: '{text}': {error}"))?;
            let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
            let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
            *first.ok_or_else(|| format!("SocketAcceptAddress: '{text}' has no address"))?
        }
    };
    Ok(SocketAddr::from((ip, port)))
}

fn acceptor(
    address: SocketAddr,
    planned: &ListenerSessions<'_>,
) -> Result<AcceptorOptions, String> {
    let limits = &planned.limits;
    let mut options = AcceptorOptions::new(address);
    let number = |given: Option<u32>, own: usize| given.map_or(own, |number| number as usize);
    let rate =
        |per_second: Option<u32>, own| per_second.map_or(own, |per_second| Rate { per_second });
    options.connections_max = number(limits.connections_max, options.connections_max);
    options.pending_max = number(limits.pending_max, options.pending_max);
    options.pending_per_address_max =
        number(limits.pending_per_address_max, options.pending_per_address_max);
    options.connection_rate = rate(limits.connections_per_second, options.connection_rate);
    options.connection_rate_per_address =
        rate(limits.connections_per_second_per_address, options.connection_rate_per_address);
    options.logon_rate = rate(limits.logons_per_second, options.logon_rate);
    options.template_sessions_max =
        number(limits.template_sessions_max, options.template_sessions_max);
    options.first_message_timeout_s =
        limits.first_message_timeout_s.unwrap_or(options.first_message_timeout_s);
    options.decisions_max = number(limits.decisions_max, options.decisions_max);
    options.decision_timeout_s = limits.decision_timeout_s.unwrap_or(options.decision_timeout_s);
    if let Some(tls) = &planned.first().tls {
        let (own, key) = identity(tls)?.ok_or("TLS: an acceptor needs certificate and key")?;
        let server = ServerTls::from_files(own, key, tls.authorities.as_deref(), &tls.versions);
        options.tls = Some(server.map_err(|error| error.to_string())?);
    }
    Ok(options)
}

/// Reads the access restrictions of a session.
fn access(session: &SessionSettings) -> Result<Access, String> {
    let mut access = Access::default();
    let ConnectionSettings::Acceptor { allowed, certificates, .. } = &session.connection else {
        return Ok(access);
    };
    for text in allowed {
        let range = AddressRange::parse(text).ok_or_else(|| {
            format!(
                "AllowedRemoteAddresses: '{text}' is not an address or range such as 192.0.2.0/24"
            )
        })?;
        access.addresses.push(range);
    }
    for text in certificates {
        let fingerprint = Fingerprint::parse(text).ok_or_else(|| {
            format!("AllowedClientCertificates: '{text}' is not the SHA-256 of a certificate (64 hexadecimal digits)")
        })?;
        access.certificates.push(fingerprint);
    }
    let asks = session.tls.as_ref().is_some_and(|tls| tls.authorities.is_some());
    if !access.certificates.is_empty() && !asks {
        let text = "client certificates are requested only if CERTIFICATION_AUTHORITIES_FILE names authorities";
        return Err(format!("AllowedClientCertificates: {text}"));
    }
    Ok(access)
}

fn initiator(
    session: &SessionSettings,
    hosts: &[(String, u16)],
    reconnect_s: u32,
) -> Result<InitiatorOptions, String> {
    let mut addresses = Vec::new();
    for (host, port) in hosts {
        let found = (host.as_str(), *port).to_socket_addrs();
        let found = found.map_err(|error| format!("cannot find {host}:{port}: {error}"))?;
        addresses.extend(found.map(|address| (address, host.clone())));
    }
    let (first, _) = addresses.first().ok_or("no address to connect to")?;
    let mut options = InitiatorOptions::new(*first);
    options.addresses = addresses;
    options.hosts = hosts.to_vec();
    options.backoff = Backoff::fixed(Duration::from_secs(u64::from(reconnect_s.max(1))));
    if let Some(tls) = &session.tls {
        let authorities = tls.authorities.as_deref();
        let authorities =
            authorities.ok_or("TLS: an initiator needs CERTIFICATION_AUTHORITIES_FILE")?;
        let name = tls.server_name.as_deref();
        let client = ClientTls::from_files(authorities, identity(tls)?, name, &tls.versions);
        options.tls = Some(client.map_err(|error| error.to_string())?);
    }
    Ok(options)
}

/// Returns certificate and key; fails if only one of them is given.
fn identity(tls: &TlsSettings) -> Result<Option<(&Path, &Path)>, String> {
    match (&tls.certificates, &tls.key) {
        (Some(own), Some(key)) => Ok(Some((own, key))),
        (None, None) => Ok(None),
        _ => Err("TLS: certificate and key belong together; one is missing".to_owned()),
    }
}

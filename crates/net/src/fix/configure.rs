//! Settings files to listeners, connections and sessions.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tickwire_fix::Dictionary;
use tickwire_fix_session::settings::{
    AcceptorLimits, ConnectionSettings, SessionSettings, Settings, TlsSettings,
};
use tickwire_fix_session::{
    ApplVersion, BeginString, Config, Dictionaries, FileStore, FileStoreOptions, Fsync,
    MemoryStore, SessionId,
};

use super::acceptor::{AcceptorOptions, AddressRange, Template, TemplateSession};
use super::application::Application;
use super::engine::Engine;
use super::initiator::{Backoff, InitiatorOptions};
use super::rate::Rate;
use super::sessions::{BoxStore, SessionKey};
use super::tls::{ClientTls, ServerTls};
use crate::clock::unix_ns;

/// Most bytes of a dictionary file.
const DICTIONARY_LEN_MAX: u64 = 64 << 20;

/// Why a session of a settings file cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigureError {
    /// Line of the session's section.
    pub line: u32,
    /// What is wrong, and with which file or address.
    pub text: String,
}

impl fmt::Display for ConfigureError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "session of line {}: {}", self.line, self.text)
    }
}

impl std::error::Error for ConfigureError {}

/// What an engine was given by a settings file.
#[derive(Clone, Debug, Default)]
pub struct Configured {
    /// Sessions, in the order of the file; templates have none yet.
    pub sessions: Vec<SessionKey>,
    /// Where it listens.
    pub addresses: Vec<SocketAddr>,
}

impl<A: Application> Engine<A> {
    /// Sets up everything that a settings file names.
    ///
    /// # Errors
    /// [`ConfigureError`] for the first session that cannot be set up.
    pub fn configure(
        &mut self,
        settings: &Settings,
        fsync: Fsync,
    ) -> Result<Configured, ConfigureError> {
        let mut configured = Configured::default();
        let mut listeners: BTreeMap<SocketAddr, (AcceptorOptions, Vec<Prepared>)> = BTreeMap::new();
        for session in &settings.sessions {
            let fail = |text: String| ConfigureError { line: session.line, text };
            let prepared = Prepared::new(session, fsync).map_err(fail)?;
            match &session.connection {
                ConnectionSettings::Initiator { hosts, reconnect_s } => {
                    let options = initiator(session, hosts, *reconnect_s).map_err(fail)?;
                    let (config, store) = prepared.open(&session.config.id).map_err(fail)?;
                    let key = self.add_initiator(config, store, options);
                    prepared.log(self, key).map_err(fail)?;
                    configured.sessions.push(key);
                }
                ConnectionSettings::Acceptor { address, port, allowed, limits, is_template } => {
                    let address = accept_address(address.as_deref(), *port).map_err(fail)?;
                    let (_, templates) = match listeners.entry(address) {
                        std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                        std::collections::btree_map::Entry::Vacant(entry) => {
                            let options =
                                acceptor(address, session, allowed, limits).map_err(fail)?;
                            entry.insert((options, Vec::new()))
                        }
                    };
                    if *is_template {
                        templates.push(prepared);
                    } else {
                        let (config, store) = prepared.open(&session.config.id).map_err(fail)?;
                        let key = self.add_session(config, store);
                        prepared.log(self, key).map_err(fail)?;
                        configured.sessions.push(key);
                    }
                }
            }
        }
        for (options, templates) in listeners.into_values() {
            let line = templates.first().map_or(0, |prepared| prepared.line);
            let address = self
                .listen(options, template(templates))
                .map_err(|error| ConfigureError { line, text: error.to_string() })?;
            configured.addresses.push(address);
        }
        Ok(configured)
    }
}

/// A session whose files were read.
#[derive(Clone)]
struct Prepared {
    line: u32,
    config: Config,
    store_folder: Option<PathBuf>,
    log_folder: Option<PathBuf>,
    fsync: Fsync,
}

impl Prepared {
    fn new(session: &SessionSettings, fsync: Fsync) -> Result<Self, String> {
        let mut config = session.config.clone();
        config.dictionaries = dictionaries(session)?;
        config.log_messages = session.log_folder.is_some();
        Ok(Self {
            line: session.line,
            config,
            store_folder: session.store_folder.clone(),
            log_folder: session.log_folder.clone(),
            fsync: if session.store_syncs { Fsync::Always } else { fsync },
        })
    }

    /// Makes configuration and store for an id.
    fn open(&self, id: &SessionId) -> Result<(Config, BoxStore), String> {
        let config = Config { id: id.clone(), ..self.config.clone() };
        let store: BoxStore = match &self.store_folder {
            None => Box::new(MemoryStore::new()),
            Some(folder) => {
                let options = FileStoreOptions {
                    folder: folder.clone(),
                    name: id.file_name(),
                    fsync: self.fsync,
                };
                let opened = FileStore::open(options, unix_ns());
                Box::new(opened.map_err(|error| error.to_string())?)
            }
        };
        Ok((config, store))
    }

    /// Lets the engine keep the message log.
    fn log<A: Application>(&self, engine: &mut Engine<A>, key: SessionKey) -> Result<(), String> {
        if let Some(file) = self.open_log(&self.config.id)? {
            engine.sessions_mut().keep_log(key, file);
        }
        Ok(())
    }

    /// Opens the message log of a session, if there is to be one.
    fn open_log(&self, id: &SessionId) -> Result<Option<fs::File>, String> {
        let Some(folder) = &self.log_folder else { return Ok(None) };
        let path = folder.join(format!("{}.messages.log", id.file_name()));
        let opened = fs::create_dir_all(folder)
            .and_then(|()| fs::OpenOptions::new().append(true).create(true).open(&path));
        opened.map(Some).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Whether a counterparty may use this template; `*` stands for anyone.
    fn fits(&self, id: &SessionId) -> bool {
        let own = &self.config.id;
        let fits = |known: &str, asked: &str| known == "*" || known == asked;
        own.begin_string == id.begin_string
            && fits(&own.sender_comp_id, &id.sender_comp_id)
            && fits(&own.target_comp_id, &id.target_comp_id)
    }
}

fn template(templates: Vec<Prepared>) -> Option<Template> {
    if templates.is_empty() {
        return None;
    }
    Some(Box::new(move |id: &SessionId| {
        let prepared = templates.iter().find(|prepared| prepared.fits(id))?;
        // A counterparty whose files cannot be opened is not let in.
        let log = prepared.open_log(id).ok()?;
        let (config, store) = prepared.open(id).ok()?;
        Some(TemplateSession { config, store, log })
    }))
}

fn accept_address(address: Option<&str>, port: u16) -> Result<SocketAddr, String> {
    let ip = match address {
        None => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        Some(text) => {
            text.parse().map_err(|_| format!("SocketAcceptAddress: '{text}' is not an address"))?
        }
    };
    Ok(SocketAddr::from((ip, port)))
}

fn acceptor(
    address: SocketAddr,
    session: &SessionSettings,
    allowed: &[String],
    limits: &AcceptorLimits,
) -> Result<AcceptorOptions, String> {
    let mut options = AcceptorOptions::new(address);
    let rate =
        |per_second: Option<u32>, own| per_second.map_or(own, |per_second| Rate { per_second });
    options.connections_max = limits.connections_max.unwrap_or(options.connections_max);
    options.connection_rate = rate(limits.connections_per_second, options.connection_rate);
    options.logon_rate = rate(limits.logons_per_second, options.logon_rate);
    options.template_sessions_max =
        limits.template_sessions_max.unwrap_or(options.template_sessions_max);
    for text in allowed {
        let range = AddressRange::parse(text).ok_or_else(|| {
            format!("AllowedRemoteAddresses: '{text}' is no address or range, as 192.0.2.0/24")
        })?;
        options.allowed.push(range);
    }
    if let Some(tls) = &session.tls {
        let (own, key) = identity(tls)?.ok_or("TLS: an acceptor needs certificate and key")?;
        let server = ServerTls::from_files(own, key, tls.authorities.as_deref());
        options.tls = Some(server.map_err(|error| error.to_string())?);
    }
    Ok(options)
}

fn initiator(
    session: &SessionSettings,
    hosts: &[(String, u16)],
    reconnect_s: u32,
) -> Result<InitiatorOptions, String> {
    let mut addresses = Vec::new();
    for (host, port) in hosts {
        let found = (host.as_str(), *port).to_socket_addrs();
        addresses.extend(found.map_err(|error| format!("cannot find {host}:{port}: {error}"))?);
    }
    let first = addresses.first().copied().ok_or("no address to connect to")?;
    let mut options = InitiatorOptions::new(first);
    options.addresses = addresses;
    options.backoff = Backoff::fixed(Duration::from_secs(u64::from(reconnect_s.max(1))));
    if let Some(tls) = &session.tls {
        let authorities = tls.authorities.as_deref();
        let authorities =
            authorities.ok_or("TLS: an initiator needs CERTIFICATION_AUTHORITIES_FILE")?;
        let host = hosts.first().map_or("", |(host, _)| host.as_str());
        let name = tls.server_name.as_deref().unwrap_or(host);
        let client = ClientTls::from_files(authorities, identity(tls)?, name);
        options.tls = Some(client.map_err(|error| error.to_string())?);
    }
    Ok(options)
}

/// Returns certificate and key, which belong together.
fn identity(tls: &TlsSettings) -> Result<Option<(&Path, &Path)>, String> {
    match (&tls.certificates, &tls.key) {
        (Some(own), Some(key)) => Ok(Some((own, key))),
        (None, None) => Ok(None),
        _ => Err("TLS: certificate and key belong together; one is missing".to_owned()),
    }
}

/// Reads the dictionaries that a session names, or takes those that come with the library.
fn dictionaries(session: &SessionSettings) -> Result<Option<Dictionaries>, String> {
    let settings = &session.dictionaries;
    if !settings.is_used {
        return Ok(None);
    }
    let version = session.config.id.begin_string;
    let mut dictionaries = match (&settings.session, version) {
        // A dictionary of one's own needs not those of all versions.
        (Some(path), version) if version != BeginString::Fixt11 => {
            Dictionaries { session: read_dictionary(path)?, application: Vec::new() }
        }
        _ => Dictionaries::shipped(version).map_err(|problems| problems.to_string())?,
    };
    if let (Some(path), BeginString::Fixt11) = (&settings.session, version) {
        dictionaries.session = read_dictionary(path)?;
    }
    let default = session.config.default_appl_ver_id.as_deref();
    let default = default.and_then(|text| ApplVersion::parse(text.as_bytes()));
    for (version, path) in &settings.application {
        let Some(version) = version.or(default) else { continue };
        let dictionary = read_dictionary(path)?;
        dictionaries.application.retain(|(known, _)| *known != version);
        dictionaries.application.push((version, dictionary));
    }
    Ok(Some(dictionaries))
}

fn read_dictionary(path: &Path) -> Result<Arc<Dictionary>, String> {
    let fail = |error: io::Error| format!("dictionary {}: {error}", path.display());
    let len = fs::metadata(path).map_err(fail)?.len();
    if len > DICTIONARY_LEN_MAX {
        return Err(format!("dictionary {}: {len} bytes are too many", path.display()));
    }
    let text = fs::read_to_string(path).map_err(fail)?;
    let dictionary = Dictionary::parse(&text)
        .map_err(|problems| format!("dictionary {}:\n{problems}", path.display()))?;
    Ok(Arc::new(dictionary))
}

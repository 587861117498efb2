//! TLS for FIX connections: certificates and keys from PEM files.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tickwire_fix_session::settings::TlsVersion;

use mio::net::TcpStream;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{
    ALL_VERSIONS, ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection,
    SupportedProtocolVersion,
};

/// The reason why TLS cannot be set up, with the file at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError {
    /// The file, if there is one.
    pub path: Option<PathBuf>,
    /// The error.
    pub text: String,
}

impl TlsError {
    fn file(path: &Path, text: impl fmt::Display) -> Self {
        Self { path: Some(path.to_owned()), text: text.to_string() }
    }

    fn of(text: impl fmt::Display) -> Self {
        Self { path: None, text: text.to_string() }
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(out, "TLS: {}: {}", path.display(), self.text),
            None => write!(out, "TLS: {}", self.text),
        }
    }
}

impl std::error::Error for TlsError {}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| TlsError::file(path, error))?;
    if found.is_empty() {
        return Err(TlsError::file(path, "holds no certificate in PEM form"));
    }
    Ok(found)
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| TlsError::file(path, error))
}

fn roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| TlsError::file(path, error))?;
    }
    Ok(roots)
}

/// Returns the enabled versions; all if `wanted` is empty.
fn versions(wanted: &[TlsVersion]) -> Vec<&'static SupportedProtocolVersion> {
    let version = |version: &TlsVersion| match version {
        TlsVersion::Tls12 => &TLS12,
        TlsVersion::Tls13 => &TLS13,
    };
    match wanted {
        [] => ALL_VERSIONS.to_vec(),
        wanted => wanted.iter().map(version).collect(),
    }
}

/// TLS of a listener.
#[derive(Clone, Debug)]
pub struct ServerTls(Arc<ServerConfig>);

impl ServerTls {
    /// Reads certificates and key. With `authorities`, clients must present a certificate signed by
    /// one of them. `wanted` are the enabled versions; empty enables all.
    ///
    /// # Errors
    /// [`TlsError`] with the file that cannot be used.
    pub fn from_files(
        own: &Path,
        private: &Path,
        authorities: Option<&Path>,
        wanted: &[TlsVersion],
    ) -> Result<Self, TlsError> {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&versions(wanted))
            .map_err(TlsError::of)?;
        let builder = match authorities {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let roots = Arc::new(roots(path)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
                    .build()
                    .map_err(|error| TlsError::file(path, error))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config = builder
            .with_single_cert(certificates(own)?, key(private)?)
            .map_err(|error| TlsError::file(private, error))?;
        Ok(Self(Arc::new(config)))
    }

    pub(super) fn accept(&self, stream: TcpStream) -> Result<TlsStream, TlsError> {
        let session = ServerConnection::new(self.0.clone()).map_err(TlsError::of)?;
        Ok(TlsStream { stream, session: session.into() })
    }
}

fn server_name(text: &str) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(text.to_owned())
        .map_err(|_| TlsError::of(format!("'{text}' is not a server name")))
}

/// TLS of an initiator.
#[derive(Clone, Debug)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    name: Option<ServerName<'static>>,
}

impl ClientTls {
    /// Reads the authorities for the server's certificate, and own certificates and key if the
    /// server requires them. `name` is the name in the server's certificate if it differs from the
    /// host of the connection. `wanted` are the enabled versions; empty enables all.
    ///
    /// # Errors
    /// [`TlsError`] with the file that cannot be used.
    pub fn from_files(
        authorities: &Path,
        own: Option<(&Path, &Path)>,
        name: Option<&str>,
        wanted: &[TlsVersion],
    ) -> Result<Self, TlsError> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&versions(wanted))
            .map_err(TlsError::of)?
            .with_root_certificates(roots(authorities)?);
        let config = match own {
            None => builder.with_no_client_auth(),
            Some((own, private)) => builder
                .with_client_auth_cert(certificates(own)?, key(private)?)
                .map_err(|error| TlsError::file(private, error))?,
        };
        let name = name.map(server_name).transpose()?;
        Ok(Self { config: Arc::new(config), name })
    }

    /// Starts TLS with a host.
    pub(super) fn connect(&self, stream: TcpStream, host: &str) -> Result<TlsStream, TlsError> {
        let name = self.name.clone().map_or_else(|| server_name(host), Ok)?;
        let session = ClientConnection::new(self.config.clone(), name);
        Ok(TlsStream { stream, session: session.map_err(TlsError::of)?.into() })
    }
}

/// True if these first bytes of a connection are a TLS record, not a FIX message.
pub(super) const fn is_record(bytes: &[u8]) -> bool {
    // The type of the record, then the major version.
    matches!(bytes, [0x14..=0x17, 3, ..])
}

/// Returns which side refused the connection, and why.
fn described(error: &rustls::Error) -> String {
    match error {
        rustls::Error::AlertReceived(alert) => {
            format!("the peer ended the connection with the alert {alert:?}")
        }
        rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => {
            format!("{error}; the peer seems not to use TLS")
        }
        error => error.to_string(),
    }
}

/// A non-blocking encrypted connection.
#[derive(Debug)]
pub(super) struct TlsStream {
    pub stream: TcpStream,
    session: rustls::Connection,
}

impl TlsStream {
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome,
            }
            if self.session.read_tls(&mut self.stream)? == 0 {
                return Ok(0);
            }
            let processed = self.session.process_new_packets();
            // Sends handshake messages and alerts to the peer.
            let flushed = self.flush();
            processed.map_err(|error| io::Error::other(TlsError::of(described(&error))))?;
            match flushed {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.flush()?;
        let written = self.session.writer().write(bytes)?;
        match self.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ if written == 0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(written),
        }
    }

    pub fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Returns the peer's certificate chain, its own certificate first.
    pub fn peer_certificates(&self) -> Vec<Vec<u8>> {
        let shown = self.session.peer_certificates().unwrap_or_default();
        shown.iter().map(|certificate| certificate.to_vec()).collect()
    }

    /// Writes the encrypted bytes that are ready.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(&mut self.stream)?;
        }
        self.stream.flush()
    }

    /// Sends the close notification to the peer.
    pub fn close(&mut self) {
        self.session.send_close_notify();
        // An error is harmless: the peer is already gone.
        let _ = self.flush();
    }
}

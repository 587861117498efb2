//! TLS of the HTTP server, and of clients of such servers: their own certificates, and the authorities of their peers.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Certificate and key of a server, and the clients that may connect.
#[derive(Clone)]
pub struct HttpTls(pub(super) TlsAcceptor);

impl fmt::Debug for HttpTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpTls")
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |text: &dyn fmt::Display| format!("{}: {text}", path.display());
    let found =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match found {
        Ok(found) if found.is_empty() => Err(failed(&"holds no certificate in PEM form")),
        found => found.map_err(|error| failed(&error)),
    }
}

fn authorities(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(roots)
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| format!("{}: {error}", path.display()))
}

impl HttpTls {
    /// Reads a certificate chain and its key from PEM files. With a file of authorities of `clients`, these must present a
    /// certificate that one of them has issued.
    ///
    /// # Errors
    /// A message that says which file cannot be used, and why.
    pub fn from_files(own: &Path, private: &Path, clients: Option<&Path>) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let roots = Arc::new(authorities(path)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
                let verifier = verifier.map_err(|error| format!("{}: {error}", path.display()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config = builder
            .with_single_cert(certificates(own)?, key(private)?)
            .map_err(|error| format!("{}: {error}", private.display()))?;
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }
}

/// TLS of a client of one server.
#[derive(Clone)]
pub struct HttpTlsClient {
    connector: TlsConnector,
    server: ServerName<'static>,
}

impl fmt::Debug for HttpTlsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTlsClient").field("server", &self.server).finish_non_exhaustive()
    }
}

impl HttpTlsClient {
    /// Reads the authorities of the server's certificate from a PEM file. The certificate must have the name `server`, a host
    /// name or an IP address. `own` are the files of the client's certificate chain and of its key, for a server that asks for
    /// a certificate.
    ///
    /// # Errors
    /// A message that says which file or name cannot be used, and why.
    pub fn from_files(
        servers: &Path,
        server: &str,
        own: Option<(&Path, &Path)>,
    ) -> Result<Self, String> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(authorities(servers)?);
        let config = match own {
            None => builder.with_no_client_auth(),
            Some((own, private)) => builder
                .with_client_auth_cert(certificates(own)?, key(private)?)
                .map_err(|error| format!("{}: {error}", private.display()))?,
        };
        let server = ServerName::try_from(server.to_owned())
            .map_err(|_| format!("{server:?} is no host name and no IP address"))?;
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), server })
    }

    /// Makes the handshake with the server on a connection.
    ///
    /// # Errors
    /// The handshake failed: for example, the certificate is not from these authorities or has another name.
    pub async fn connect(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.connector.connect(self.server.clone(), stream).await
    }
}

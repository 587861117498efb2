//! TLS of the HTTP server: its own certificate, and the authorities of client certificates.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

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

impl HttpTls {
    /// Reads a certificate chain and its key from PEM files. With `authorities`, clients must present a certificate
    /// that one of them has issued.
    ///
    /// # Errors
    /// A message that says which file cannot be used, and why.
    pub fn from_files(
        own: &Path,
        private: &Path,
        authorities: Option<&Path>,
    ) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match authorities {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let failed = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|error| failed(&error))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.map_err(|error| failed(&error))?)
            }
        };
        let failed = |error: &dyn fmt::Display| format!("{}: {error}", private.display());
        let key = PrivateKeyDer::from_pem_file(private).map_err(|error| failed(&error))?;
        let config =
            builder.with_single_cert(certificates(own)?, key).map_err(|error| failed(&error))?;
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }
}

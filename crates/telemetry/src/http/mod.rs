//! The HTTP server of a process. There is only one: it serves metrics, administration, and all that can be viewed from
//! outside.
//!
//! [`HttpServer`] runs on its own thread, and no feed or session waits for it. By default it listens on the loopback
//! interface ([`HttpAddress`]). There it answers only requests whose `Host` names this machine, so that no web page can
//! send requests under a name of its own. Routes that change something require a [`Token`]. A connection serves one
//! request.

mod address;
mod host;
mod tls;
mod token;

pub use address::{HttpAddress, UnknownAddress};
pub use tls::HttpTls;
pub use token::Token;

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use tickwire_host::{Action, Error};

/// Most connections at the same time; one more closes the oldest.
const CONNECTIONS_MAX: usize = 64;
/// Time limit for receiving the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for a whole connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);
/// Wait before accepting again when the process has no file descriptors left.
const RETRY: Duration = Duration::from_millis(100);

/// A server on its own thread. Dropping it ends the server.
pub struct HttpServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for HttpServer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("HttpServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl HttpServer {
    /// Serves `routes` at `address`. Port 0 selects any free port.
    ///
    /// # Errors
    /// [`Action::Bind`] with the operating system's error.
    pub fn serve(address: HttpAddress, routes: Router) -> Result<Self, Error> {
        Self::serve_over(address, routes, None)
    }

    /// Like [`serve`](Self::serve), over TLS.
    ///
    /// # Errors
    /// Those of [`serve`](Self::serve).
    pub fn serve_tls(address: HttpAddress, routes: Router, tls: HttpTls) -> Result<Self, Error> {
        Self::serve_over(address, routes, Some(tls))
    }

    fn serve_over(
        address: HttpAddress,
        routes: Router,
        tls: Option<HttpTls>,
    ) -> Result<Self, Error> {
        let wanted = address.0;
        let failed = |error| Error::at(Action::Bind, wanted, error);
        let listener = TcpListener::bind(wanted).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let routes = match address.ip().is_loopback() {
            true => routes.layer(from_fn(host::check)),
            false => routes,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(failed)?;
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("http".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        served = accept(listener, routes, tls) => {
                            if let Err(error) = served {
                                tracing::error!("HTTP at {address} ends: {error}");
                            }
                        }
                        // `stopped` is sent when the server is dropped.
                        _ = stopped => {}
                    }
                });
                // Do not wait for unfinished work of the server, such as an explanation: it would delay the end of the
                // process.
                runtime.shutdown_background();
            })
            .map_err(failed)?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the address of the server.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Accepts connections. Their number and the time of each are bounded.
async fn accept(listener: TcpListener, routes: Router, tls: Option<HttpTls>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(RETRY).await;
            continue;
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() == CONNECTIONS_MAX
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        // An event that follows another one is sent at once (Nagle's algorithm would wait for an acknowledgement).
        let _ = stream.set_nodelay(true);
        let (routes, tls) = (routes.clone(), tls.clone());
        let served = tokio::spawn(async move {
            match tls {
                None => serve_connection(stream, routes).await,
                Some(HttpTls(acceptor)) => {
                    // A client without a valid certificate is not an error.
                    if let Ok(Ok(stream)) = timeout(HEAD_TIMEOUT, acceptor.accept(stream)).await {
                        serve_connection(stream, routes).await;
                    }
                }
            }
        });
        open.push_back(served.abort_handle());
    }
}

/// Serves the single request of a connection.
async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    routes: Router,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    // A client that disconnects or takes too long is not an error.
    let _ = timeout(CONNECTION_TIMEOUT, connection).await;
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Sending fails only if the thread has already ended, which was logged.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            // Joining fails only if the thread panicked, which was printed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Instant;

    fn server() -> HttpServer {
        let routes = Router::new().route("/", get(|| async { "here" }));
        HttpServer::serve("0".parse().unwrap(), routes).unwrap()
    }

    fn read(address: SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET / HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn pages_are_served_until_it_is_dropped() {
        let server = server();
        let address = server.address();
        assert!(read(address).ends_with("here"));
        let open = TcpStream::connect(address).unwrap();
        drop(server);
        assert!(TcpStream::connect(address).is_err());
        drop(open);
    }

    #[test]
    fn clients_that_say_nothing_keep_nobody_out_and_end() {
        let server = server();
        let connect = |_| TcpStream::connect(server.address()).unwrap();
        let mut idle: Vec<_> = (0..2 * CONNECTIONS_MAX).map(connect).collect();
        let begun = Instant::now();
        for _ in 0..3 {
            assert!(read(server.address()).ends_with("here"));
        }
        assert!(begun.elapsed() < HEAD_TIMEOUT, "{:?}", begun.elapsed());
        let ended = |stream: &mut TcpStream| {
            // Closed or reset: either way, the connection has ended.
            !matches!(stream.read(&mut [0; 64]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
        };
        idle.iter().for_each(|stream| stream.set_nonblocking(true).unwrap());
        let open = idle.iter_mut().map(ended).filter(|ended| !ended).count();
        assert!(open <= CONNECTIONS_MAX, "{open} are open");
        idle.iter().for_each(|stream| stream.set_nonblocking(false).unwrap());
        idle.iter_mut().for_each(|stream| assert!(ended(stream)));
        assert!(begun.elapsed() < HEAD_TIMEOUT + Duration::from_secs(5), "{:?}", begun.elapsed());
    }

    #[test]
    fn over_tls_only_clients_with_a_certificate_are_answered() {
        use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
        use rustls::pki_types::{PrivateKeyDer, ServerName};
        use rustls::{ClientConfig, ClientConnection, RootCertStore, Stream};
        use std::sync::Arc;

        let folder = std::env::temp_dir().join(format!("tickwire-tls-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let authority_key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = params.self_signed(&authority_key).unwrap();
        let signed = || {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            (params.signed_by(&key, &authority, &authority_key).unwrap(), key)
        };
        let (own, own_key) = signed();
        let (of_client, client_key) = signed();
        let [own, own_key, authorities] = [
            write("own.pem", own.pem()),
            write("own.key", own_key.serialize_pem()),
            write("authorities.pem", authority.pem()),
        ];
        let tls = HttpTls::from_files(&own, &own_key, Some(&authorities)).unwrap();
        assert!(HttpTls::from_files(&own_key, &own_key, None).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
        let routes = Router::new().route("/", get(|| async { "here" }));
        let server = HttpServer::serve_tls("0".parse().unwrap(), routes, tls).unwrap();

        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone()).unwrap();
        let builder = || {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let builder = ClientConfig::builder_with_provider(provider);
            let builder = builder.with_safe_default_protocol_versions().unwrap();
            builder.with_root_certificates(roots.clone())
        };
        let key = PrivateKeyDer::try_from(client_key.serialize_der()).unwrap();
        let with = builder().with_client_auth_cert(vec![of_client.der().clone()], key).unwrap();
        let without = builder().with_no_client_auth();
        let ask = |config: ClientConfig| {
            let name = ServerName::try_from("localhost").unwrap();
            let mut session = ClientConnection::new(Arc::new(config), name).unwrap();
            let mut stream = TcpStream::connect(server.address()).unwrap();
            let mut stream = Stream::new(&mut session, &mut stream);
            let mut text = Vec::new();
            let _ = write!(stream, "GET / HTTP/1.0\r\n\r\n");
            let _ = stream.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        };
        assert!(ask(with).ends_with("here"));
        assert_eq!(ask(without), "");
        // A client that does not speak TLS gets no answer either.
        let mut plain = TcpStream::connect(server.address()).unwrap();
        let _ = write!(plain, "GET / HTTP/1.0\r\n\r\n");
        let mut text = Vec::new();
        let _ = plain.read_to_end(&mut text);
        assert!(!String::from_utf8_lossy(&text).contains("here"));
    }

    #[test]
    fn a_connection_is_for_one_request() {
        let server = server();
        let mut stream = TcpStream::connect(server.address()).unwrap();
        write!(stream, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let begun = Instant::now();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.ends_with("here") && begun.elapsed() < HEAD_TIMEOUT, "{text}");
    }

    #[test]
    fn names_that_are_not_of_this_machine_are_not_answered() {
        let server = server();
        let port = server.address().port();
        let status = |host: &str| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            write!(stream, "GET / HTTP/1.1\r\n{host}\r\n").unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text.split(' ').nth(1).unwrap().to_owned()
        };
        for own in ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"] {
            assert_eq!(status(&format!("Host: {own}:{port}\r\n")), "200", "{own}");
            assert_eq!(status(&format!("Host: {own}\r\n")), "200", "{own}");
        }
        for other in ["evil.example", "localhost.evil.example", "192.0.2.1", "", "a@localhost"] {
            assert_eq!(status(&format!("Host: {other}:{port}\r\n")), "403", "{other}");
        }
        for other in ["[::1]evil", "[::1", "127.0.0.1:80:evil", "localhost\r\nHost: evil.example"] {
            assert_eq!(status(&format!("Host: {other}\r\n")), "403", "{other}");
        }
    }
}

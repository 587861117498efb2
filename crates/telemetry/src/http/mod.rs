//! The HTTP server of a process. There is only one: it serves metrics, administration, and all that can be viewed from
//! outside.
//!
//! [`HttpServer`] runs on its own thread, and no feed or session waits for it. By default it listens on the loopback
//! interface ([`HttpAddress`]). There it answers only requests whose `Host` names this machine, so that no web page can
//! send requests under a name of its own. Routes that change something require a [`BearerToken`]. A connection serves one
//! request.

mod address;
mod host;
mod refused;
mod tls;
mod token;

pub use address::{HttpAddress, UnknownAddress};
pub use refused::HttpPeer;
pub(crate) use refused::unauthorized_requests;
pub use tls::{HttpTls, HttpTlsClient};
pub use token::BearerToken;

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use refused::note_handshake;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use tickwire_host::affinity::spawn_background;
use tickwire_host::{HostError, SystemOperation};

/// Most connections at the same time. One more closes the oldest of those that have sent no head of a request, or the oldest of
/// all. A viewer of the monitor has one or two.
const CONNECTIONS_MAX: usize = 256;
/// Longest head of a request, and most bytes of an answer that wait for a slow client.
const BUFFER_BYTES_MAX: usize = 64 << 10;
/// Time limit for receiving the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for a whole connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);
/// Send buffer of a connection. The kernel's would grow to megabytes for a slow client, who would then get events that are tens
/// of seconds old.
const SEND_BUFFER_BYTES: usize = 128 << 10;
/// Most bytes that a socket takes before it has sent them. The rest of its send buffer is for bytes on their way: a client on a slow
/// link would otherwise get all that waits here before the newest event, and compressed events are small.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 16 << 10;
/// Most encrypted bytes that wait in a TLS connection until the socket takes them. rustls would keep 64 KiB, many compressed events.
const TLS_BUFFER_BYTES_MAX: usize = 4 << 10;
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
    /// [`SystemOperation::Bind`] with the operating system's error.
    pub fn serve(address: HttpAddress, routes: Router) -> Result<Self, HostError> {
        Self::serve_over(address, routes, None)
    }

    /// Like [`serve`](Self::serve), over TLS.
    ///
    /// # Errors
    /// Those of [`serve`](Self::serve).
    pub fn serve_tls(
        address: HttpAddress,
        routes: Router,
        tls: HttpTls,
    ) -> Result<Self, HostError> {
        Self::serve_over(address, routes, Some(tls))
    }

    fn serve_over(
        address: HttpAddress,
        routes: Router,
        tls: Option<HttpTls>,
    ) -> Result<Self, HostError> {
        let wanted = address.0;
        let failed = |error| HostError::at(SystemOperation::Bind, wanted, error);
        let listener = TcpListener::bind(wanted).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        // Accepted connections inherit the listener's options.
        let options = SockRef::from(&listener);
        options.set_send_buffer_size(SEND_BUFFER_BYTES).map_err(failed)?;
        // Without this option a slow client gets older events.
        #[cfg(target_os = "linux")]
        if let Err(error) = options.set_tcp_notsent_lowat(UNSENT_BYTES_MAX) {
            tracing::debug!(
                "HTTP at {wanted}: no limit of unsent bytes (TCP_NOTSENT_LOWAT): {error}"
            );
        }
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
        let serve = move || {
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
        };
        let thread = spawn_background("http", serve).map_err(failed)?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the address of the server.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A connection that was accepted.
struct OpenConnection {
    task: AbortHandle,
    /// True once the head of its request has arrived.
    has_asked: Arc<AtomicBool>,
}

/// Closes the oldest connection that has sent no head of a request; if all have, the oldest.
fn close_one(open: &mut VecDeque<OpenConnection>) {
    let silent = open.iter().position(|of| !of.has_asked.load(Ordering::Relaxed));
    if let Some(closed) = open.remove(silent.unwrap_or(0)) {
        closed.task.abort();
    }
}

/// Accepts connections. Their number and the time of each are bounded.
async fn accept(listener: TcpListener, routes: Router, tls: Option<HttpTls>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut open: VecDeque<OpenConnection> = VecDeque::new();
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(RETRY).await;
            continue;
        };
        open.retain(|connection| !connection.task.is_finished());
        if open.len() == CONNECTIONS_MAX {
            close_one(&mut open);
        }
        // An event that follows another one is sent at once (Nagle's algorithm would wait for an acknowledgement).
        let _ = stream.set_nodelay(true);
        let has_asked = Arc::new(AtomicBool::new(false));
        let (tls, asked) =
            (tls.clone(), ConnectionContext { peer, routes: routes.clone(), has_asked });
        let has_asked = asked.has_asked.clone();
        let served = tokio::spawn(async move {
            match tls {
                None => serve_connection(stream, asked).await,
                Some(HttpTls(acceptor)) => {
                    match timeout(HEAD_TIMEOUT, accept_tls(&acceptor, stream)).await {
                        Ok(Ok(stream)) => serve_connection(stream, asked).await,
                        Ok(Err(error)) => note_handshake(peer, &error),
                        // A client that says nothing is not an error.
                        Err(_) => {}
                    }
                }
            }
        });
        open.push_back(OpenConnection { task: served.abort_handle(), has_asked });
    }
}

/// Makes the server's handshake, and limits the bytes that the connection keeps for a slow client.
async fn accept_tls<S: AsyncRead + AsyncWrite + Unpin>(
    acceptor: &TlsAcceptor,
    stream: S,
) -> io::Result<TlsStream<S>> {
    let mut stream = acceptor.accept(stream).await?;
    stream.get_mut().1.set_buffer_limit(Some(TLS_BUFFER_BYTES_MAX));
    Ok(stream)
}

/// The client of a connection, and the routes that answer its request.
struct ConnectionContext {
    peer: SocketAddr,
    routes: Router,
    has_asked: Arc<AtomicBool>,
}

/// Serves the single request of a connection.
async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    asked: ConnectionContext,
) {
    let ConnectionContext { peer, routes, has_asked } = asked;
    let routes = TowerToHyperService::new(routes);
    let answer = service_fn(move |mut request: hyper::Request<Incoming>| {
        has_asked.store(true, Ordering::Relaxed);
        request.extensions_mut().insert(HttpPeer(peer));
        routes.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), answer);
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
    use axum::body::Bytes;
    use axum::routing::get;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::thread;
    use std::time::Instant;
    use tickwire_host::process::resident_bytes;

    /// Tests with many connections run one after the other: a process has only so many files.
    static MANY: Mutex<()> = Mutex::new(());
    /// More connections than the server keeps.
    const TOO_MANY: usize = CONNECTIONS_MAX + 64;

    fn many() -> MutexGuard<'static, ()> {
        MANY.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
        let _many = many();
        let server = server();
        let connect = |_| TcpStream::connect(server.address()).unwrap();
        let mut idle: Vec<_> = (0..TOO_MANY).map(connect).collect();
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
    fn connections_that_ask_for_nothing_close_no_open_answer() {
        let _many = many();
        let answer = || async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            "late"
        };
        let routes = Router::new().route("/", get(answer));
        let server = HttpServer::serve("0".parse().unwrap(), routes).unwrap();
        let mut open = TcpStream::connect(server.address()).unwrap();
        write!(open, "GET / HTTP/1.0\r\n\r\n").unwrap();
        // The server has read the request by then.
        thread::sleep(Duration::from_millis(200));
        let connect = |_| TcpStream::connect(server.address()).unwrap();
        let idle: Vec<_> = (0..TOO_MANY).map(connect).collect();
        let mut text = String::new();
        open.read_to_string(&mut text).unwrap();
        assert!(text.ends_with("late"), "{text}");
        drop(idle);
    }

    /// A send buffer of 128 KiB takes 256 KiB, because the kernel counts its own records; the
    /// client's receive buffer adds to this.
    #[test]
    fn a_slow_client_is_never_far_behind() {
        const CHUNK: usize = 16 << 10;
        const BEHIND_MAX: usize = 768 << 10;
        let sent = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = sent.clone();
        let chunks = move || {
            let counted = counted.clone();
            let chunk = move || {
                counted.fetch_add(CHUNK, Ordering::Relaxed);
                Ok::<_, std::convert::Infallible>(vec![b'x'; CHUNK])
            };
            let body = axum::body::Body::from_stream(futures_util::stream::repeat_with(chunk));
            async move { body }
        };
        let routes = Router::new().route("/", get(chunks));
        let server = HttpServer::serve("0".parse().unwrap(), routes).unwrap();
        let mut slow = TcpStream::connect(server.address()).unwrap();
        write!(slow, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let (mut received, mut buffer) = (0, vec![0; 32 << 10]);
        for _ in 0..100 {
            received += slow.read(&mut buffer).unwrap();
            thread::sleep(Duration::from_millis(5));
            let behind = sent.load(Ordering::Relaxed).saturating_sub(received);
            assert!(behind < BEHIND_MAX, "{behind} bytes were sent and not read");
        }
    }

    #[test]
    fn memory_is_bounded_though_every_connection_is_slow() {
        const GROWTH_BYTES_MAX: u64 = 48 << 20;
        let _many = many();
        let chunk = || Ok::<_, std::convert::Infallible>(vec![b'x'; 16 << 10]);
        let endless = move || async move {
            axum::body::Body::from_stream(futures_util::stream::repeat_with(chunk))
        };
        let routes = Router::new().route("/", get(endless));
        let server = HttpServer::serve("0".parse().unwrap(), routes).unwrap();
        let before = resident_bytes().unwrap();
        // Half of the clients read nothing of an answer without an end, the others send a head without an end.
        let head =
            [&b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "[..], &vec![b'y'; 1 << 20]].concat();
        let client = |index: usize| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            stream.set_nonblocking(true).unwrap();
            let sent: &[u8] =
                if index.is_multiple_of(2) { b"GET / HTTP/1.0\r\n\r\n" } else { &head };
            // As much as the server takes.
            let _ = stream.write(sent);
            stream
        };
        let clients: Vec<TcpStream> = (0..CONNECTIONS_MAX).map(client).collect();
        let mut most = 0;
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(100));
            most = most.max(resident_bytes().unwrap().saturating_sub(before));
        }
        assert!(most < GROWTH_BYTES_MAX, "{} MiB more", most >> 20);
        drop(clients);
    }

    static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

    /// Keeps log lines in [`LOG`].
    struct LogLines;

    impl tracing::Subscriber for LogLines {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }

        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

        fn event(&self, event: &tracing::Event<'_>) {
            let mut text = String::new();
            event.record(&mut |_: &tracing::field::Field, value: &dyn std::fmt::Debug| {
                text += &format!("{value:?}");
            });
            LOG.lock().unwrap().push(text);
        }

        fn enter(&self, _: &tracing::span::Id) {}

        fn exit(&self, _: &tracing::span::Id) {}
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
        // No other test has handshakes, so the first warning is not held back.
        tracing::subscriber::set_global_default(LogLines).unwrap();
        assert!(ask(with).ends_with("here"));
        assert_eq!(ask(without), "");
        let begun = Instant::now();
        let is_logged = || {
            let lines = LOG.lock().unwrap();
            lines.iter().any(|line| line.contains("127.0.0.1:") && line.contains("certificate"))
        };
        while !is_logged() {
            assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", LOG.lock().unwrap());
            thread::sleep(Duration::from_millis(10));
        }
        // A client that does not speak TLS gets no answer either.
        let mut plain = TcpStream::connect(server.address()).unwrap();
        let _ = write!(plain, "GET / HTTP/1.0\r\n\r\n");
        let mut text = Vec::new();
        let _ = plain.read_to_end(&mut text);
        assert!(!String::from_utf8_lossy(&text).contains("here"));
    }

    /// A chunk that is counted when the connection drops it, after it was written.
    struct CountedChunk(Arc<AtomicUsize>);

    impl CountedChunk {
        const BYTES: [u8; 1 << 10] = [b'x'; 1 << 10];
    }

    impl AsRef<[u8]> for CountedChunk {
        fn as_ref(&self) -> &[u8] {
            &Self::BYTES
        }
    }

    impl Drop for CountedChunk {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn tls_keeps_few_bytes_for_a_client_that_reads_slowly() {
        use rustls::pki_types::{PrivateKeyDer, ServerName};
        use rustls::{ClientConfig, RootCertStore, ServerConfig};
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        use tokio_rustls::TlsConnector;
        const CHUNKS: usize = 256;
        const PIPE_BYTES: usize = 1 << 10;

        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::try_from(own.key_pair.serialize_der()).unwrap();
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(own.cert.der().clone()).unwrap();
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();

        let written = Arc::new(AtomicUsize::new(0));
        let counted = written.clone();
        let chunks = move || {
            let counted = counted.clone();
            let chunk = move |_| {
                Ok::<_, std::convert::Infallible>(Bytes::from_owner(CountedChunk(counted.clone())))
            };
            let chunks = futures_util::stream::iter((0..CHUNKS).map(chunk));
            async move { axum::body::Body::from_stream(chunks) }
        };
        let asked = ConnectionContext {
            peer: ([127, 0, 0, 1], 1).into(),
            routes: Router::new().route("/", get(chunks)),
            has_asked: Arc::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (near, far) = tokio::io::duplex(PIPE_BYTES);
            tokio::spawn(async move {
                let acceptor = TlsAcceptor::from(Arc::new(server));
                serve_connection(accept_tls(&acceptor, near).await.unwrap(), asked).await;
            });
            let connector = TlsConnector::from(Arc::new(client));
            let name = ServerName::try_from("localhost").unwrap();
            let mut slow = connector.connect(name, far).await.unwrap();
            slow.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
            slow.flush().await.unwrap();
            tokio::time::sleep(Duration::from_millis(200)).await;
            let kept = written.load(Ordering::Relaxed) * CountedChunk::BYTES.len();
            assert!(kept <= PIPE_BYTES + TLS_BUFFER_BYTES_MAX, "{kept} bytes wait in TLS");
            let mut answer = Vec::new();
            slow.read_to_end(&mut answer).await.unwrap();
            let end = CountedChunk::BYTES.repeat(CHUNKS);
            assert!(answer.ends_with(&end), "{} bytes", answer.len());
        });
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

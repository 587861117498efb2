//! The one HTTP server of a process: it serves metrics, administration, and everything else that is
//! viewed from outside.
//!
//! [`HttpServer`] runs on its own thread, and no feed or session waits for it. The default
//! interface is loopback ([`HttpAddress`]); at another one, only requests that name this machine
//! are answered, so that no web page can send requests under its own name. Routes that change
//! something require a [`Token`]. A connection serves one request.

mod address;
mod host;
mod token;

pub use address::{HttpAddress, UnknownAddress};
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
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use tickwire_host::{Action, Error};

/// Most connections at the same time; a further one closes the oldest.
const CONNECTIONS_MAX: usize = 64;
/// Time limit for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);
/// Wait when the process has no file descriptors left for connections.
const RETRY: Duration = Duration::from_millis(100);

/// A server on its own thread; dropping it ends the server.
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
                        served = accept(listener, routes) => {
                            if let Err(error) = served {
                                tracing::error!("HTTP at {address} ends: {error}");
                            }
                        }
                        // Sent when the server is dropped.
                        _ = stopped => {}
                    }
                });
                // Unfinished work of the server, such as an explanation, does not delay the end of
                // the process.
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

/// Accepts connections, a bounded number at a time, each for a bounded time.
async fn accept(listener: TcpListener, routes: Router) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(RETRY).await;
            continue;
        };
        let service = TowerToHyperService::new(routes.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(false)
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        open.retain(|connection| !connection.is_finished());
        if open.len() == CONNECTIONS_MAX
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        let served = tokio::spawn(async move {
            // A client that disconnects or takes too long is no error.
            let _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await;
        });
        open.push_back(served.abort_handle());
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // An error means that the thread has already ended, which was logged.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            // An error means that the thread panicked, which was printed.
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
            // Closed or reset: the connection has ended either way.
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

//! The one HTTP server: what serves metrics, administration and whatever else is looked at from outside.
//!
//! [`HttpServer`] runs on a thread of its own, which no feed and no session waits for. Addresses are of
//! the loopback interface unless another one is given ([`HttpAddress`]). What may change something asks for
//! a [`Token`].

mod address;
mod token;

pub use address::{HttpAddress, UnknownAddress};
pub use token::Token;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::{Semaphore, oneshot};

use crate::{Action, Error};

/// Most connections at a time; more wait to be accepted.
const CONNECTIONS_MAX: usize = 64;
/// How long the head of a request may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection may last.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);
/// How long to wait when there are no descriptors for connections.
const RETRY: Duration = Duration::from_millis(100);

/// A server on a thread of its own; it ends when this is dropped.
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
    /// Serves `routes` at `address`. Port 0 takes any that is free.
    ///
    /// # Errors
    /// [`Action::Bind`] with what the system says.
    pub fn serve(address: HttpAddress, routes: Router) -> Result<Self, Error> {
        let wanted = address.0;
        let failed = |error| Error::at(Action::Bind, wanted, error);
        let listener = TcpListener::bind(wanted).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
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
                        // Sent when the server is dropped, or never.
                        _ = stopped => {}
                    }
                });
            })
            .map_err(failed)?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it serves.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves all who connect, a bounded number at a time, each for a bounded time.
async fn accept(listener: TcpListener, routes: Router) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return Ok(()) };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(RETRY).await;
            continue;
        };
        let service = TowerToHyperService::new(routes.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            // A client that goes away or takes too long is no business of ours.
            let _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await;
            drop(place);
        });
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // It has ended already at worst; that was logged.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            // It panicked at worst; that was printed.
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
    fn clients_that_say_nothing_are_bounded_and_end() {
        let server = server();
        let idle: Vec<_> =
            (0..CONNECTIONS_MAX).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        let begun = Instant::now();
        assert!(read(server.address()).ends_with("here"));
        let waited = begun.elapsed();
        assert!(waited < HEAD_TIMEOUT + Duration::from_secs(5), "{waited:?}");
        assert!(waited > HEAD_TIMEOUT / 2, "one more was served at once: {waited:?}");
        drop(idle);
    }
}

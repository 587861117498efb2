//! Serving metrics over HTTP.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tiny_http::{Header, Method, Request, Response, Server};

use super::{Metrics, MetricsAddress};
use crate::{Action, Error};

const CONTENT_TYPE: &[u8] = b"application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A server of metrics on a thread of its own; it ends when this is dropped.
pub struct Exporter {
    server: Arc<Server>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Serves `metrics` at `address`, path `/metrics`. Port 0 takes any that is free.
    ///
    /// # Errors
    /// [`Action::Bind`] with what the system says.
    pub fn serve(address: MetricsAddress, metrics: Metrics) -> Result<Self, Error> {
        let wanted = address.0;
        let server = Server::http(wanted)
            .map_err(|error| Error::at(Action::Bind, wanted, io::Error::other(error)))?;
        let address = server.server_addr().to_ip().unwrap_or(wanted);
        let server = Arc::new(server);
        let serving = server.clone();
        let thread = thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || {
                for request in serving.incoming_requests() {
                    answer(request, &metrics);
                }
            })
            .map_err(|source| Error::at(Action::Open, address, source))?;
        Ok(Self { server, address, thread: Some(thread) })
    }

    /// Where it serves.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A client that goes away while it is answered is no business of ours.
fn answer(request: Request, metrics: &Metrics) {
    let path = request.url().split('?').next().unwrap_or_default();
    let is_read = matches!(request.method(), Method::Get | Method::Head);
    let _ = match path {
        "/metrics" if is_read => {
            let response = Response::from_string(metrics.encode());
            match Header::from_bytes(&b"Content-Type"[..], CONTENT_TYPE) {
                Ok(header) => request.respond(response.with_header(header)),
                Err(()) => request.respond(response),
            }
        }
        _ => request.respond(Response::from_string("see /metrics\n").with_status_code(404)),
    };
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            // It panicked at worst; that was printed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::{Duration, Instant};

    fn get(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn metrics_are_served_until_it_is_dropped() {
        let metrics = Metrics::new();
        let counter = metrics.counter("test_served_pages", "Pages", &[]);
        let exporter = Exporter::serve("0".parse().unwrap(), metrics).unwrap();
        let address = exporter.address();
        assert!(address.ip().is_loopback());
        counter.set(3);
        let text = get(address, "/metrics");
        assert!(text.starts_with("HTTP/1.0 200") || text.starts_with("HTTP/1.1 200"), "{text}");
        assert!(text.contains("tickwire_test_served_pages_total{} 3\n"), "{text}");
        assert!(get(address, "/").contains("404"));
        let taken = Exporter::serve(MetricsAddress(address), Metrics::new()).err().unwrap();
        assert_eq!(taken.action, Action::Bind);
        drop(exporter);
        let start = Instant::now();
        while TcpStream::connect(address).is_ok() {
            assert!(start.elapsed() < Duration::from_secs(10), "it ends");
            thread::yield_now();
        }
    }
}

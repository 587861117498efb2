//! Serves metrics over HTTP.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::routing::get;

use super::Metrics;
use crate::http::{HttpAddress, HttpServer};
use tickwire_host::HostError;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

async fn elsewhere() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "see /metrics\n")
}

impl Metrics {
    /// Returns the route `/metrics`, which returns all metrics in the OpenMetrics format.
    pub fn routes(&self) -> Router {
        let metrics = self.clone();
        let text = || async move { ([(header::CONTENT_TYPE, CONTENT_TYPE)], metrics.encode()) };
        Router::new().route("/metrics", get(text))
    }

    /// Serves `/metrics` at an address until the returned server is dropped.
    ///
    /// # Errors
    /// As [`HttpServer::serve`].
    pub fn serve(&self, address: HttpAddress) -> Result<HttpServer, HostError> {
        HttpServer::serve(address, self.routes().fallback(elsewhere))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use tickwire_host::SystemOperation;

    fn get(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn metrics_are_served_at_their_path() {
        let metrics = Metrics::new();
        let counter = metrics.counter("test_served_pages", "Pages", &[]);
        let server = metrics.serve("0".parse().unwrap()).unwrap();
        let address = server.address();
        assert!(address.ip().is_loopback());
        counter.set(3);
        let text = get(address, "/metrics");
        assert!(text.starts_with("HTTP/1.0 200") || text.starts_with("HTTP/1.1 200"), "{text}");
        assert!(text.contains("tickwire_test_served_pages_total{} 3\n"), "{text}");
        assert!(get(address, "/").contains("404"));
        let taken = Metrics::new().serve(HttpAddress(address)).err().unwrap();
        assert_eq!(taken.action, SystemOperation::Bind);
    }
}

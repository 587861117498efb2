//! Requests to the API of a running monitor.

use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::request::Builder;
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tickwire_telemetry::http::{BearerToken, HttpTlsClient};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest body that [`MonitorTarget`] reads as a whole.
const ANSWER_BYTES_MAX: usize = 32 << 20;
/// Time limit for connecting and receiving the head of an answer, and again for its body.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The address of a monitor's API, and the token for it.
#[derive(Clone, Debug)]
pub struct MonitorTarget {
    /// Address of the API.
    pub address: SocketAddr,
    /// The token sent with requests.
    pub token: Option<BearerToken>,
    /// TLS; `None` for plain HTTP.
    pub tls: Option<HttpTlsClient>,
    /// Name of a process behind a monitor of several; `None` for the monitor's own API.
    pub process: Option<String>,
}

/// Message that says why a monitor did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered(String);

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Unanswered {}

/// Returns the reason why there was no answer. A server that speaks TLS answers plain HTTP with an alert, which is no HTTP.
fn described(error: &hyper::Error) -> String {
    match error.is_parse() {
        true => format!(
            "the answer is not HTTP: the process seems to serve TLS (--monitor-tls-cert); name the authorities of its \
             certificate ({error})"
        ),
        false => error.to_string(),
    }
}

/// Sends a request on a new connection.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Body>,
) -> Result<Response<Incoming>, String> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error: hyper::Error| error.to_string())?;
    // The task of the connection ends with the answer.
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(|error| described(&error))
}

impl MonitorTarget {
    /// Returns the JSON of `path`.
    ///
    /// # Errors
    /// The monitor cannot be reached, refuses the request, or answers anything but JSON of at most 32 MiB.
    pub async fn get(&self, path: &str) -> Result<Value, Unanswered> {
        self.ask(Request::get(self.path_to(path)), Body::empty()).await
    }

    /// Sends JSON to `path` and returns the JSON of the answer.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, Unanswered> {
        let request = Request::post(self.path_to(path));
        let request = request.header(header::CONTENT_TYPE, "application/json");
        self.ask(request, Body::from(body.to_string())).await
    }

    /// True if tokens would travel over a network in plain text: its own, and those of users whose requests it forwards.
    pub fn is_exposed(&self) -> bool {
        !self.address.ip().is_loopback() && self.tls.is_none()
    }

    fn path_to(&self, path: &str) -> String {
        let process = self.process.as_ref().map(|name| format!("/p/{name}"));
        format!("{}{path}", process.unwrap_or_default())
    }

    async fn ask(&self, request: Builder, body: Body) -> Result<Value, Unanswered> {
        let failed = |text: String| Unanswered(format!("{}: {text}", self.address));
        let request = request.body(body).map_err(|error| failed(error.to_string()))?;
        let path = request.uri().to_string();
        let failed = |text: String| Unanswered(format!("{}{path}: {text}", self.address));
        let response = self.send(request).await?;
        let status = response.status();
        let body = timeout(TIMEOUT, to_bytes(response.into_body(), ANSWER_BYTES_MAX)).await;
        let body = body.map_err(|_| failed(format!("no complete answer within {TIMEOUT:?}")))?;
        let body = body.map_err(|error| failed(error.to_string()))?;
        let value: Result<Value, _> = serde_json::from_slice(&body);
        match (status, value) {
            (StatusCode::OK, Ok(value)) => Ok(value),
            (StatusCode::OK, Err(error)) => Err(failed(format!("no JSON: {error}"))),
            (status, value) => {
                let value = value.unwrap_or_default();
                let text = value["error"].as_str().unwrap_or_default();
                Err(failed(format!("{status}: {text}")))
            }
        }
    }

    /// Sends a request unchanged, except that it sets `Host` and adds the token unless the request has one. Returns the
    /// answer; its body is read as the caller asks for it.
    ///
    /// # Errors
    /// The monitor cannot be reached, or does not answer in time.
    pub(crate) async fn send(
        &self,
        mut request: Request<Body>,
    ) -> Result<Response<Body>, Unanswered> {
        let failed = |text: String| Unanswered(format!("{}: {text}", self.address));
        let headers = request.headers_mut();
        let host = HeaderValue::from_str(&self.address.to_string());
        headers.insert(header::HOST, host.map_err(|error| failed(error.to_string()))?);
        if let (Some(token), false) = (&self.token, headers.contains_key(header::AUTHORIZATION)) {
            let shown = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
            headers
                .insert(header::AUTHORIZATION, shown.map_err(|error| failed(error.to_string()))?);
        }
        // A body arrives at its client's pace; the server that reads it limits its time.
        let is_short = request.method() == Method::GET;
        let late = || format!("no answer within {TIMEOUT:?}");
        let answered = async {
            let connected = timeout(TIMEOUT, TcpStream::connect(self.address)).await;
            let stream = connected.map_err(|_| late())?.map_err(|error| error.to_string())?;
            match &self.tls {
                None => exchange(stream, request).await,
                Some(tls) => {
                    let stream = timeout(TIMEOUT, tls.connect(stream)).await.map_err(|_| late())?;
                    exchange(stream.map_err(|error| format!("TLS: {error}"))?, request).await
                }
            }
        };
        let answered = match is_short {
            true => timeout(TIMEOUT, answered).await.unwrap_or_else(|_| Err(late())),
            false => answered.await,
        };
        answered.map(|response| response.map(Body::new)).map_err(failed)
    }
}

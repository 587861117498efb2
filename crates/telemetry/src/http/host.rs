//! Check of the header `Host`. Protects against DNS rebinding, with which a web page could resolve its own name to this
//! machine and read the served data.

use std::net::IpAddr;

use axum::Json;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Returns true if `Host` names this machine, with or without a port.
fn is_own(host: &str) -> bool {
    let (name, rest) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or_default(),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    let is_whole = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
    let is_loopback = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_whole && (is_loopback || name.eq_ignore_ascii_case("localhost"))
}

/// Middleware for servers on the loopback interface: passes only requests whose `Host` names this machine, and requests
/// without that header.
pub(super) async fn check(request: Request, next: Next) -> Response {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    if hosts.all(|host| host.to_str().is_ok_and(is_own)) {
        return next.run(request).await;
    }
    let error = "only this machine is served: use 127.0.0.1 or localhost";
    (StatusCode::FORBIDDEN, Json(json!({"error": error}))).into_response()
}

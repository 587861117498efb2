//! Who a request is for: a page of a browser may have its own name point to this machine, and read what is served.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Whether `Host` names this machine.
fn is_own(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(address, _)| address),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_loopback = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback || name.eq_ignore_ascii_case("localhost")
}

/// Lets requests pass that name this machine, or nobody: a middleware for routes.
pub(super) async fn check(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST);
    if host.is_none_or(|host| host.to_str().is_ok_and(is_own)) {
        return next.run(request).await;
    }
    let text =
        "{\"error\":\"this is served to this machine alone: ask by 127.0.0.1 or localhost\"}\n";
    (StatusCode::FORBIDDEN, text).into_response()
}

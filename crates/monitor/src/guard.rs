//! Protects the API from pages of other sites. It answers its own page, and programs.

use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Longest request body in bytes: a capture of 8 MiB in hexadecimal, and templates.
pub(crate) const BODY_BYTES_MAX: usize = 20 << 20;

/// Headers of every response, for browsers: load nothing from other hosts, and let no other page frame this one.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Returns true if a browser sent the request for a page of another site.
pub(crate) fn is_of_another_site(request: &Request) -> bool {
    let text = |name: HeaderName| request.headers().get(name)?.to_str().ok();
    let site = text(HeaderName::from_static("sec-fetch-site"));
    if site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return true;
    }
    let Some(origin) = request.headers().get(header::ORIGIN) else { return false };
    let own = text(header::HOST);
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    origin.is_none_or(|(_, host)| Some(host) != own)
}

/// Middleware that refuses requests of other sites, for routes that reveal or change something.
pub(crate) async fn check_site(request: Request, next: Next) -> Response {
    if is_of_another_site(&request) {
        let error = "the request comes from a page of another site; open the monitor's own page";
        return (StatusCode::FORBIDDEN, Json(json!({"error": error}))).into_response();
    }
    next.run(request).await
}

/// Middleware that refuses a request that announces too long a body, before its body is received.
pub(crate) async fn check_length(request: Request, next: Next) -> Response {
    let len = request.headers().get(header::CONTENT_LENGTH).and_then(|len| len.to_str().ok());
    if len.and_then(|len| len.parse::<u64>().ok()).is_some_and(|len| len > BODY_BYTES_MAX as u64) {
        let error = format!("a body has at most {BODY_BYTES_MAX} bytes");
        return (StatusCode::PAYLOAD_TOO_LARGE, Json(json!({"error": error}))).into_response();
    }
    next.run(request).await
}

/// Middleware that adds [`HEADERS`] to every response.
pub(crate) async fn add_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(no_store);
    response
}

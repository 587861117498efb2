//! Gives every error response the same body: `{"error": "..."}`.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use serde_json::json;

/// Longest text of an error that is taken over.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// Middleware that turns error responses without JSON, such as those of unknown paths and unreadable parameters, into JSON.
/// Headers such as `Allow` stay.
pub(crate) async fn as_json(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let text = to_bytes(body, TEXT_BYTES_MAX).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let error = match text.trim() {
        "" => described(status),
        text => text,
    };
    let body = json!({"error": error}).to_string();
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(head, Body::from(body))
}

fn described(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "nothing is at this path: see /api/v1/openapi.json",
        StatusCode::METHOD_NOT_ALLOWED => "this path has other methods: see the header Allow",
        status => status.canonical_reason().unwrap_or("the request failed"),
    }
}

//! The routes, and the table of the API's routes.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, get, post};
use tickwire_telemetry::http::BearerToken;

use crate::assets;
use crate::compression::compress;
use crate::guard::{BODY_BYTES_MAX, add_headers, check_length, check_site};
use crate::monitor::{Monitor, MonitorShared};
use crate::{errors, pasted, requests};

/// A route of the API.
struct ApiRoute {
    method: &'static str,
    path: &'static str,
    handler: MethodRouter<Arc<MonitorShared>>,
}

fn table() -> Vec<ApiRoute> {
    let get_of = |path, handler| ApiRoute { method: "get", path, handler };
    vec![
        get_of("/api/v1/books", get(requests::books)),
        get_of("/api/v1/books/{instrument}", get(requests::book)),
        get_of("/api/v1/events", get(requests::kept_events)),
        ApiRoute { method: "post", path: "/api/v1/explain", handler: post(pasted::explain) },
        get_of("/api/v1/gaps", get(requests::gaps)),
        get_of("/api/v1/history", get(requests::history)),
        get_of("/api/v1/openapi.json", get(requests::openapi)),
        get_of("/api/v1/packets", get(requests::packets)),
        get_of("/api/v1/packets/{id}", get(requests::packet)),
        get_of("/api/v1/processes", get(requests::processes)),
        get_of("/api/v1/state", get(requests::state)),
        get_of("/api/v1/stream", get(requests::events)),
        get_of("/api/v1/summary", get(requests::summary)),
        get_of("/build", get(requests::build)),
        get_of("/health", get(requests::health)),
        get_of("/ready", get(requests::ready)),
    ]
}

/// Returns method and path of each route of the API, in order.
pub fn endpoints() -> Vec<(&'static str, &'static str)> {
    table().into_iter().map(|endpoint| (endpoint.method, endpoint.path)).collect()
}

impl Monitor {
    /// Returns the routes of the page and the API. With a token, every route that reveals anything about the process
    /// requires it; the page's files are the same everywhere and need none. Without a token, the page has the first state
    /// in it. `others` are further routes to protect in the same way, such as those of metrics. Routes of
    /// [`set_administration`](crate::MonitorBuilder::set_administration) check only their own token.
    pub fn routes(&self, token: Option<BearerToken>, others: Router) -> Router {
        let api = table()
            .into_iter()
            .fold(Router::new(), |router, endpoint| router.route(endpoint.path, endpoint.handler));
        let api = api.with_state(self.shared.clone()).merge(others);
        let page = match token {
            Some(_) => get(assets::page),
            None => get(assets::page_with_state).with_state(self.shared.clone()),
        };
        let api = match token {
            Some(token) => api.route_layer(from_fn_with_state(token, BearerToken::check)),
            None => api,
        };
        api.merge(self.administration.clone())
            .route_layer(from_fn(check_length))
            .route_layer(from_fn(check_site))
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .route("/", page)
            .route("/assets/{name}", get(assets::asset))
            .layer(from_fn(errors::as_json))
            .layer(from_fn(compress))
            .layer(from_fn(add_headers))
    }
}

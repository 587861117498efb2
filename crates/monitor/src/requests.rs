//! Handlers of the API's requests.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use tickwire_feed::market::BookKind;

use crate::history::{SECONDS_MAX, csv};
use crate::latency::BOUNDS_NS;
use crate::monitor::{Shared, to_json};
use crate::stream::stream;

/// Most ladders in one answer.
const LADDERS_MAX: usize = 16;
/// Number of instruments in an answer if the request has no limit.
const LIMIT: usize = 60;

type Context = State<Arc<Shared>>;

fn json_of(text: impl Into<axum::body::Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.into()).into_response()
}

pub(crate) fn refused(status: StatusCode, error: impl Into<String>) -> Response {
    (status, Json(json!({"error": error.into()}))).into_response()
}

fn no_channel() -> Response {
    refused(StatusCode::NOT_FOUND, "no such channel: see channels in /api/v1/state")
}

/// `GET /api/v1/state`.
pub(crate) async fn state(State(shared): Context) -> Response {
    json_of(shared.state_json().to_string())
}

/// `GET /api/v1/processes`: the processes that this monitor forwards; none, because it shows only its own.
pub(crate) async fn processes() -> Response {
    Json(json!({"processes": []})).into_response()
}

/// `GET /api/v1/openapi.json`.
pub(crate) async fn openapi() -> Response {
    json_of(include_str!("../openapi.json"))
}

/// `GET /health`: whether the handlers run.
pub(crate) async fn health(State(shared): Context) -> Response {
    let state = shared.state();
    let stalled: Vec<_> =
        state.channels.iter().filter(|channel| channel.status == "stalled").collect();
    let reasons: Vec<String> = stalled
        .iter()
        .map(|channel| format!("{}: its handler does not run", channel.name))
        .collect();
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({"healthy": reasons.is_empty(), "reasons": reasons}))).into_response()
}

/// `GET /ready`: whether the data can be trusted.
pub(crate) async fn ready(State(shared): Context) -> Response {
    let reasons = shared.state().process.not_ready;
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({"ready": reasons.is_empty(), "reasons": reasons}))).into_response()
}

/// `GET /build`.
pub(crate) async fn build(State(shared): Context) -> Response {
    let process = shared.state().process;
    Json(json!({
        "name": "tickwire",
        "version": process.version,
        "command": process.command,
        "pid": process.pid,
        "debug": cfg!(debug_assertions),
        "target": format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
    }))
    .into_response()
}

/// Query of the history.
#[derive(Debug, Deserialize)]
pub(crate) struct HistoryQuery {
    channel: Option<String>,
    seconds: Option<usize>,
    format: Option<String>,
}

/// `GET /api/v1/history`.
pub(crate) async fn history(State(shared): Context, Query(query): Query<HistoryQuery>) -> Response {
    let count = query.seconds.unwrap_or(SECONDS_MAX);
    let seconds =
        shared.of_channel(query.channel.as_deref(), |channel| channel.history.seconds(count));
    let Some(seconds) = seconds else { return no_channel() };
    match query.format.as_deref() {
        Some("csv") => {
            ([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], csv(&seconds)).into_response()
        }
        None | Some("json") => {
            let seconds: Vec<_> = seconds.iter().map(|second| &**second).collect();
            json_of(to_json(&json!({"bounds_ns": BOUNDS_NS, "seconds": seconds})))
        }
        Some(_) => refused(StatusCode::BAD_REQUEST, "format is json or csv"),
    }
}

/// Query of the books, also of a stream.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct BooksQuery {
    channel: Option<String>,
    search: Option<String>,
    stale: Option<bool>,
    offset: Option<usize>,
    limit: Option<usize>,
    /// Indexes of the instruments whose ladders are requested, separated by commas.
    watch: Option<String>,
    /// Content of a stream: `state`, `books` or `packets`.
    of: Option<String>,
}

impl BooksQuery {
    fn tell(&self, shared: &Shared) -> Option<String> {
        let watch = self.watch.as_deref().unwrap_or_default();
        let watch: Vec<usize> =
            watch.split(',').filter_map(|index| index.parse().ok()).take(LADDERS_MAX).collect();
        let search = self.search.as_deref().unwrap_or_default();
        let (offset, limit) = (self.offset.unwrap_or(0), self.limit.unwrap_or(LIMIT));
        let stale = self.stale.unwrap_or(false);
        let list = shared.of_channel(self.channel.as_deref(), |channel| {
            channel.list(search, stale, offset, limit, &watch)
        });
        list.map(|list| to_json(&list))
    }
}

/// `GET /api/v1/books`.
pub(crate) async fn books(State(shared): Context, Query(query): Query<BooksQuery>) -> Response {
    query.tell(&shared).map_or_else(no_channel, json_of)
}

/// Query of one book.
#[derive(Debug, Deserialize)]
pub(crate) struct BookQuery {
    channel: Option<String>,
    kind: Option<String>,
}

/// `GET /api/v1/books/{instrument}`.
pub(crate) async fn book(
    State(shared): Context,
    Path(instrument): Path<usize>,
    Query(query): Query<BookQuery>,
) -> Response {
    let kind = match query.kind.as_deref() {
        None | Some("outright") => BookKind::Outright,
        Some("implied") => BookKind::Implied,
        Some(_) => return refused(StatusCode::BAD_REQUEST, "kind is outright or implied"),
    };
    let book =
        shared.of_channel(query.channel.as_deref(), |channel| channel.book(instrument, kind));
    match book {
        None => no_channel(),
        Some(None) => refused(StatusCode::NOT_FOUND, "no instrument has this index"),
        Some(Some(book)) => json_of(to_json(&book)),
    }
}

/// Query of the packets.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct PacketsQuery {
    channel: Option<String>,
}

impl PacketsQuery {
    fn tell(&self, shared: &Shared) -> Option<String> {
        shared.want_packets();
        let packets = shared.of_channel(self.channel.as_deref(), |channel| {
            let packets = channel.packets.summaries(channel.description.epoch_ns);
            json!({"channel": channel.description.name, "packets": packets})
        });
        packets.map(|packets| packets.to_string())
    }
}

/// `GET /api/v1/packets`.
pub(crate) async fn packets(State(shared): Context, Query(query): Query<PacketsQuery>) -> Response {
    query.tell(&shared).map_or_else(no_channel, json_of)
}

/// `GET /api/v1/packets/{id}`: explains a packet.
pub(crate) async fn packet(
    State(shared): Context,
    Path(id): Path<u64>,
    Query(query): Query<PacketsQuery>,
) -> Response {
    let found = shared.of_channel(query.channel.as_deref(), |channel| {
        let packet = channel.packets.get(id)?;
        let summary = packet.summary(channel.description.epoch_ns);
        Some((summary, packet.bytes.clone(), channel.description.explaining.clone()))
    });
    let (summary, bytes, explaining) = match found {
        None => return no_channel(),
        Some(None) => return refused(StatusCode::NOT_FOUND, "the packet is not kept any more"),
        Some(Some(found)) => found,
    };
    let Some(explaining) = explaining else {
        return refused(StatusCode::NOT_FOUND, "packets of this channel cannot be explained");
    };
    let explain = move |deadline| {
        let explanation = explaining.packet(&bytes, deadline)?;
        Ok(json!({"packet": summary, "explanation": explanation}))
    };
    shared.workshop.explain(explain).await
}

/// `GET /api/v1/stream`: streams the answer of a GET request, again after each change.
pub(crate) async fn events(State(shared): Context, Query(query): Query<BooksQuery>) -> Response {
    let channel = query.channel.clone();
    if channel.is_some() && shared.of_channel(channel.as_deref(), |_| ()).is_none() {
        return no_channel();
    }
    match query.of.as_deref() {
        None | Some("state") => stream(shared, "state", |shared| Some(shared.state_json())),
        Some("books") => stream(shared, "books", move |shared| query.tell(shared).map(Into::into)),
        Some("packets") => {
            let packets = PacketsQuery { channel };
            stream(shared, "packets", move |shared| packets.tell(shared).map(Into::into))
        }
        Some(_) => refused(StatusCode::BAD_REQUEST, "of is state, books or packets"),
    }
}

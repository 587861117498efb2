//! Handlers of the API's requests.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tickwire_feed::market::BookKind;
use tickwire_telemetry::COMMIT;
use tokio::time::{Instant, timeout_at};

use crate::activity::{bus_csv, session_csv};
use crate::books::BookList;
use crate::channel::MonitoredChannel;
use crate::compression::accepts_gzip;
use crate::history::{SECONDS_MAX, csv};
use crate::kept::{events_csv, gaps_csv};
use crate::latency::BOUNDS_NS;
use crate::monitor::{MonitorShared, to_json};
use crate::packets::{PacketFilter, PacketKind};
use crate::sent_history::sent_csv;
use crate::stream::{StreamPace, stream};
use crate::summary::SummaryQuery;

/// Most ladders in one answer.
const LADDERS_MAX: usize = 16;
/// Longest wait for books that the handler does not publish yet; it publishes ten times a second.
const PUBLICATION_TIMEOUT: Duration = Duration::from_millis(300);
/// Instruments in one answer unless another number is asked for.
const LIMIT: usize = 60;

type Context = State<Arc<MonitorShared>>;

fn json_of(text: impl Into<axum::body::Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.into()).into_response()
}

pub(crate) fn refused(status: StatusCode, error: impl Into<String>) -> Response {
    (status, Json(json!({"error": error.into()}))).into_response()
}

pub(crate) fn no_channel() -> Response {
    refused(StatusCode::NOT_FOUND, "no such channel: see channels in /api/v1/state")
}

/// Data that clients get by a GET, or as a stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StreamSubject {
    State,
    Summary(SummaryQuery),
    Books(BooksQuery),
    Packets(PacketsQuery),
}

impl StreamSubject {
    /// Returns the name of its events.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Summary(_) => "summary",
            Self::Books(_) => "books",
            Self::Packets(_) => "packets",
        }
    }

    /// Returns its data as JSON and the pace of a stream of such data; `None` if there is no such channel.
    pub(crate) fn tell(
        &self,
        shared: &MonitorShared,
        version: u64,
    ) -> Option<(String, StreamPace)> {
        let json = match self {
            Self::State => to_json(&shared.state_of(version)),
            Self::Summary(query) => {
                let summary = shared.summary_of(version, query);
                let pace = match summary.leaves_out_details() {
                    true => StreamPace::Sparing,
                    false => StreamPace::Full,
                };
                return Some((to_json(&summary), pace));
            }
            Self::Books(query) => to_json(&query.list(shared)?),
            Self::Packets(query) => query.tell(shared)?,
        };
        Some((json, StreamPace::Full))
    }
}

fn answer(shared: &MonitorShared, subject: StreamSubject) -> Response {
    let frame = shared.frame(&Arc::new(subject));
    frame.map_or_else(no_channel, |frame| json_of(frame.json()))
}

/// `GET /api/v1/state`.
pub(crate) async fn state(State(shared): Context) -> Response {
    answer(&shared, StreamSubject::State)
}

/// Parameters of a query, of which each may be given several times.
type Parameters = Query<Vec<(String, String)>>;

/// `GET /api/v1/summary`.
pub(crate) async fn summary(State(shared): Context, Query(parameters): Parameters) -> Response {
    answer(&shared, StreamSubject::Summary(SummaryQuery::new(parameters)))
}

/// `GET /api/v1/processes`: the processes that this monitor forwards; none, because it shows only its own.
pub(crate) async fn processes() -> Response {
    Json(json!({"processes": []})).into_response()
}

/// `GET /api/v1/openapi.json`.
pub(crate) async fn openapi() -> Response {
    json_of(include_str!("../openapi.json"))
}

/// `GET /health`: whether the threads of handlers and topics run.
pub(crate) async fn health(State(shared): Context) -> Response {
    let reasons = shared.stalled();
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({"healthy": reasons.is_empty(), "reasons": reasons}))).into_response()
}

/// `GET /ready`: whether the data can be trusted.
pub(crate) async fn ready(State(shared): Context) -> Response {
    let reasons = shared.not_ready();
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({"ready": reasons.is_empty(), "reasons": reasons}))).into_response()
}

/// `GET /build`.
pub(crate) async fn build(State(shared): Context) -> Response {
    let process = shared.process();
    build_of(&process.command, &process.version).into_response()
}

/// Returns the build of this process.
pub(crate) fn build_of(command: &str, version: &str) -> Json<Value> {
    Json(json!({
        "name": "tickwire",
        "version": version,
        "commit": COMMIT,
        "command": command,
        "pid": std::process::id(),
        "debug": cfg!(debug_assertions),
        "target": format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
    }))
}

/// Query of the history.
#[derive(Debug, Deserialize)]
pub(crate) struct HistoryQuery {
    channel: Option<String>,
    /// Name of the FIX session whose history is requested.
    session: Option<String>,
    /// `channel`, `session`, `topics` or `sent`.
    of: Option<String>,
    seconds: Option<usize>,
    format: Option<String>,
}

/// Answers in the requested format.
fn in_format(
    format: Option<&str>,
    csv: impl FnOnce() -> String,
    json: impl FnOnce() -> serde_json::Value,
) -> Response {
    match format {
        Some("csv") => ([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], csv()).into_response(),
        None | Some("json") => json_of(to_json(&json())),
        Some(_) => refused(StatusCode::BAD_REQUEST, "format is json or csv"),
    }
}

/// `GET /api/v1/history`.
pub(crate) async fn history(State(shared): Context, Query(query): Query<HistoryQuery>) -> Response {
    let count = query.seconds.unwrap_or(SECONDS_MAX);
    let format = query.format.as_deref();
    match query.of.as_deref() {
        None | Some("channel") => {
            let seconds = shared
                .of_channel(query.channel.as_deref(), |channel| channel.history.seconds(count));
            let Some(seconds) = seconds else { return no_channel() };
            let of = || seconds.iter().map(|second| &**second).collect::<Vec<_>>();
            in_format(format, || csv(&seconds), || json!({"bounds_ns": BOUNDS_NS, "seconds": of()}))
        }
        Some("session") => {
            let name = query.session.as_deref().unwrap_or_default();
            let Some(seconds) = shared.activity().session(name, count) else {
                let text = "no such session in /api/v1/state, or more than 1,024 sessions exist and this one has no history";
                return refused(StatusCode::NOT_FOUND, text);
            };
            in_format(format, || session_csv(&seconds), || json!({"seconds": seconds}))
        }
        Some("topics") => {
            // Copies the seconds out of the lock: writing CSV or JSON must not delay the next second.
            let (topics, seconds) = shared.activity().bus(count);
            let of = || seconds.iter().map(|second| &**second).collect::<Vec<_>>();
            in_format(
                format,
                || bus_csv(&topics, &seconds),
                || json!({"topics": topics, "seconds": of()}),
            )
        }
        Some("sent") => {
            let Some((lines, seconds)) = shared.sent().map(|history| history.seconds(count)) else {
                return refused(StatusCode::NOT_FOUND, "this process sends no packets");
            };
            let of = || seconds.iter().map(|second| &**second).collect::<Vec<_>>();
            in_format(
                format,
                || sent_csv(&lines, &seconds),
                || json!({"lines": lines, "seconds": of()}),
            )
        }
        Some(_) => refused(StatusCode::BAD_REQUEST, "of is channel, session, topics or sent"),
    }
}

/// Query of the kept gaps or events of a channel.
#[derive(Debug, Deserialize)]
pub(crate) struct KeptQuery {
    channel: Option<String>,
    format: Option<String>,
}

/// `GET /api/v1/gaps`: all kept gaps of a channel.
pub(crate) async fn gaps(State(shared): Context, Query(query): Query<KeptQuery>) -> Response {
    let kept =
        |channel: &MonitoredChannel| (channel.description.name.clone(), channel.gaps(usize::MAX));
    let Some((channel, gaps)) = shared.of_channel(query.channel.as_deref(), kept) else {
        return no_channel();
    };
    let json = || json!({"channel": channel, "gaps": gaps});
    in_format(query.format.as_deref(), || gaps_csv(&gaps), json)
}

/// `GET /api/v1/events`: all kept events of a channel.
pub(crate) async fn kept_events(
    State(shared): Context,
    Query(query): Query<KeptQuery>,
) -> Response {
    let kept =
        |channel: &MonitoredChannel| (channel.description.name.clone(), channel.events(usize::MAX));
    let Some((channel, events)) = shared.of_channel(query.channel.as_deref(), kept) else {
        return no_channel();
    };
    let json = || json!({"channel": channel, "events": events});
    in_format(query.format.as_deref(), || events_csv(&events), json)
}

/// Which instruments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
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
    fn list(&self, shared: &MonitorShared) -> Option<BookList> {
        let watch = self.watch.as_deref().unwrap_or_default();
        let watch: Vec<usize> =
            watch.split(',').filter_map(|index| index.parse().ok()).take(LADDERS_MAX).collect();
        let search = self.search.as_deref().unwrap_or_default();
        let (offset, limit) = (self.offset.unwrap_or(0), self.limit.unwrap_or(LIMIT));
        let stale = self.stale.unwrap_or(false);
        shared.of_channel(self.channel.as_deref(), |channel| {
            channel.list(search, stale, offset, limit, &watch)
        })
    }
}

/// Returns the result of `look` once it is ready. The handler publishes requested books with its
/// next publications; after [`PUBLICATION_TIMEOUT`] the result is returned as it is.
async fn once_published<T>(
    shared: &MonitorShared,
    mut look: impl FnMut() -> T,
    is_ready: impl Fn(&T) -> bool,
) -> T {
    let mut changes = shared.version.subscribe();
    let end = Instant::now() + PUBLICATION_TIMEOUT;
    loop {
        let found = look();
        if is_ready(&found) || !matches!(timeout_at(end, changes.changed()).await, Ok(Ok(()))) {
            return found;
        }
    }
}

/// `GET /api/v1/books`.
pub(crate) async fn books(State(shared): Context, Query(query): Query<BooksQuery>) -> Response {
    let is_ready = |list: &Option<BookList>| list.as_ref().is_none_or(|list| list.is_ready);
    let list = once_published(&shared, || query.list(&shared), is_ready).await;
    list.map_or_else(no_channel, |list| json_of(to_json(&list)))
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
        Some(_) => return refused(StatusCode::BAD_REQUEST, "kind must be outright or implied"),
    };
    let look = || {
        shared.of_channel(query.channel.as_deref(), |channel| {
            (channel.is_published([instrument]), channel.book(instrument, kind))
        })
    };
    let is_ready = |found: &Option<(bool, _)>| found.as_ref().is_none_or(|(is_ready, _)| *is_ready);
    match once_published(&shared, look, is_ready).await {
        None => no_channel(),
        Some((_, None)) => refused(StatusCode::NOT_FOUND, "no instrument has this index"),
        Some((_, Some(book))) => json_of(to_json(&book)),
    }
}

/// Which packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub(crate) struct PacketsQuery {
    channel: Option<String>,
    kind: Option<PacketKind>,
    seq_num: Option<u64>,
}

impl PacketsQuery {
    fn tell(&self, shared: &MonitorShared) -> Option<String> {
        shared.want_packets();
        let packets = shared.of_channel(self.channel.as_deref(), |channel| {
            let filter = PacketFilter { kind: self.kind, seq_num: self.seq_num };
            let packets = channel.packets.summaries(channel.description.epoch_ns, &filter);
            json!({"channel": channel.description.name, "packets": packets})
        });
        packets.map(|packets| packets.to_string())
    }
}

/// `GET /api/v1/packets`.
pub(crate) async fn packets(State(shared): Context, Query(query): Query<PacketsQuery>) -> Response {
    answer(&shared, StreamSubject::Packets(query))
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
        let before = channel.packets.before(packet);
        let explaining = channel.description.explaining.clone();
        Some((summary, packet.bytes.clone(), before, explaining, channel.has_other_templates()))
    });
    let (summary, bytes, before, explaining, has_other_templates) = match found {
        None => return no_channel(),
        Some(None) => return refused(StatusCode::NOT_FOUND, "the packet is not kept any more"),
        Some(Some(found)) => found,
    };
    let Some(explaining) = explaining else {
        return refused(StatusCode::NOT_FOUND, "packets of this channel cannot be explained");
    };
    let explain = move |deadline| {
        let mut explanation = explaining.packet(&bytes, &before, deadline)?;
        if has_other_templates {
            explanation.warn_of_other_templates();
        }
        Ok(json!({"packet": summary, "explanation": explanation}))
    };
    shared.workshop.explain(explain).await
}

/// `GET /api/v1/stream`: streams the answer of a GET request, again after each change.
pub(crate) async fn events(
    State(shared): Context,
    Query(parameters): Parameters,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let is_gzip = accepts_gzip(&headers);
    let is_summary = |(name, value): &(String, String)| name == "of" && value == "summary";
    if parameters.iter().any(is_summary) {
        let subject = StreamSubject::Summary(SummaryQuery::new(parameters));
        return stream(shared, subject, is_gzip);
    }
    let query = match Query::<BooksQuery>::try_from_uri(&uri) {
        Ok(Query(query)) => query,
        Err(rejection) => return rejection.into_response(),
    };
    let channel = query.channel.as_deref();
    if channel.is_some() && shared.of_channel(channel, |_| ()).is_none() {
        return no_channel();
    }
    let subject = match query.of.as_deref() {
        None | Some("state") => StreamSubject::State,
        Some("books") => StreamSubject::Books(query),
        Some("packets") => match Query::<PacketsQuery>::try_from_uri(&uri) {
            Ok(Query(query)) => StreamSubject::Packets(query),
            Err(rejection) => return rejection.into_response(),
        },
        Some(_) => {
            return refused(StatusCode::BAD_REQUEST, "of is state, summary, books or packets");
        }
    };
    stream(shared, subject, is_gzip)
}

//! What is asked for, and the answers.

use std::sync::{Arc, LazyLock};

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use tickwire_fast::{DecoderOptions, TemplateId, TemplateSet};
use tickwire_feed::framing::{Framing, ResetPolicy};
use tickwire_feed::market::BookKind;
use tokio::sync::Semaphore;

use crate::explaining::{Explaining, Explanation};
use crate::history::{SECONDS_MAX, csv};
use crate::latency::BOUNDS_NS;
use crate::monitor::{Shared, to_json};
use crate::stream::stream;

/// Ladders in one answer.
const LADDERS_MAX: usize = 16;
/// Instruments in one answer unless another number is asked for.
const LIMIT: usize = 60;
/// Packets of a capture that are read before the one that is explained.
const CAPTURE_PACKETS_MAX: u64 = 100_000;

type Context = State<Arc<Shared>>;

fn json_of(text: impl Into<axum::body::Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.into()).into_response()
}

fn refused(status: StatusCode, error: impl Into<String>) -> Response {
    (status, Json(json!({"error": error.into()}))).into_response()
}

fn no_channel() -> Response {
    refused(StatusCode::NOT_FOUND, "no such channel: see channels in /api/v1/state")
}

/// `GET /api/v1/state`.
pub(crate) async fn state(State(shared): Context) -> Response {
    json_of(shared.state_json().to_string())
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

/// `GET /ready`: whether what is told can be trusted.
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

/// Which history.
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

/// Which instruments.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct BooksQuery {
    channel: Option<String>,
    search: Option<String>,
    stale: Option<bool>,
    offset: Option<usize>,
    limit: Option<usize>,
    /// Indexes of instruments whose ladders are wanted, with commas between them.
    watch: Option<String>,
    /// What is streamed: `state`, `books` or `packets`.
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

/// Which book.
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

/// Whose packets.
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

/// `GET /api/v1/packets/{id}`: a packet explained.
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
    beside(move || Ok(json!({"packet": summary, "explanation": explaining.packet(&bytes)}))).await
}

/// Bytes to explain. Nothing of it is kept.
#[derive(Debug, Deserialize)]
pub(crate) struct ExplainRequest {
    /// A template file.
    templates: String,
    /// What is around messages: a preset or a description, `none` if absent.
    framing: Option<String>,
    /// When dictionaries are emptied: `packet`, `message`, `template` or `never`; the framing says so if absent.
    reset: Option<String>,
    /// A packet, or a capture file, in hexadecimal; spaces and line ends are passed over.
    hex: String,
    /// Whether it is a capture file.
    #[serde(default)]
    is_capture: bool,
    /// Which packet of the capture, from 0.
    #[serde(default)]
    packet: u64,
}

impl ExplainRequest {
    fn explain(self) -> Result<Explanation, String> {
        let set =
            TemplateSet::parse(&self.templates).map_err(|error| format!("templates: {error}"))?;
        let framing = self.framing.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let framing: Framing = framing
            .map_or(Ok(Framing::default()), str::parse)
            .map_err(|error| format!("framing: {error}"))?;
        let reset = self.reset.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let reset: Option<ResetPolicy> =
            reset.map(str::parse).transpose().map_err(|error| format!("reset: {error}"))?;
        let framing = reset.map_or(framing, |reset| framing.reset(reset));
        let decoding = DecoderOptions::default().reset(framing.reset_policy().into());
        let set = match framing.reset_template_id() {
            Some(id) => set.with_reset_template(TemplateId(id)),
            None => set,
        };
        let bytes = bytes_of(&self.hex)?;
        let explaining = Explaining::new(set, decoding, framing)?;
        match self.is_capture {
            true if self.packet >= CAPTURE_PACKETS_MAX => {
                Err(format!("packet: at most {} can be asked for", CAPTURE_PACKETS_MAX - 1))
            }
            true => explaining.capture(&bytes, self.packet),
            false => Ok(explaining.packet(&bytes)),
        }
    }
}

/// The bytes of hexadecimal digits, among which white space is passed over.
fn bytes_of(hex: &str) -> Result<Vec<u8>, String> {
    let digit = |(at, character): (usize, char)| {
        let digit = character.to_digit(16);
        digit
            .map(|digit| digit as u8)
            .ok_or_else(|| format!("hex: character {at} is no hexadecimal digit"))
    };
    let digits = hex.char_indices().filter(|(_, character)| !character.is_whitespace());
    let digits: Vec<u8> = digits.map(digit).collect::<Result<_, _>>()?;
    let pairs = digits.chunks_exact(2);
    match pairs.remainder() {
        [] => Ok(pairs.map(|pair| pair[0] << 4 | pair[1]).collect()),
        _ => Err("hex: the last byte has one digit".to_owned()),
    }
}

/// `POST /api/v1/explain`.
pub(crate) async fn explain(Json(request): Json<ExplainRequest>) -> Response {
    beside(move || request.explain().map(|explanation| json!({"explanation": explanation}))).await
}

/// One explanation at a time: the threads of handlers have the CPUs.
static EXPLAINING: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(1)));

/// Does work beside the server's thread.
async fn beside(
    work: impl FnOnce() -> Result<serde_json::Value, String> + Send + 'static,
) -> Response {
    let Ok(permit) = EXPLAINING.clone().acquire_owned().await else {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "the server ends");
    };
    let permitted = move || {
        // The work goes on when the request is gone, so the permit is the work's.
        let _permit = permit;
        work()
    };
    match tokio::task::spawn_blocking(permitted).await {
        Ok(Ok(value)) => Json(value).into_response(),
        Ok(Err(error)) => refused(StatusCode::UNPROCESSABLE_ENTITY, error),
        Err(_) => {
            refused(StatusCode::INTERNAL_SERVER_ERROR, "the explanation failed; please report it")
        }
    }
}

/// `GET /api/v1/stream`: what a GET would answer, again after each change.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_may_have_white_space_and_nothing_else() {
        assert_eq!(bytes_of("c0 81\n85"), Ok(vec![0xC0, 0x81, 0x85]));
        assert_eq!(bytes_of(""), Ok(Vec::new()));
        assert!(bytes_of("c08").is_err() && bytes_of("0xc0").unwrap_err().contains("character 1"));
    }
}

//! Administration of an engine's sessions over HTTP.
//!
//! | request | what it does |
//! |---|---|
//! | `GET /sessions` | all sessions, those that cannot be opened, and connections refused by reason |
//! | `GET /sessions/NAME` | one session |
//! | `POST /sessions/NAME/logout` | a Logout; an initiator connects again |
//! | `POST /sessions/NAME/reset` | both numbers begin at 1: at once, or by a Logon with ResetSeqNumFlag |
//! | `POST /sessions/NAME/disable`, `.../enable` | [`Sessions::set_enabled`] |
//! | `POST /sessions/NAME/numbers` with `{"next_sender": N, "next_target": N}` | [`Sessions::set_numbers`] |
//!
//! NAME is `name` of the session's object:
//! [`SessionId::file_name`](tickwire_fix_session::SessionId::file_name), percent-encoded or not. A
//! change is answered with the session's object after the change, an error with `{"error": "..."}`
//! and a status from 400 on.

mod names;

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tickwire_fix_session::{Now, SessionRole, Store};

use self::names::{Unfound, find};
use super::handle::EngineHandle;
use super::manage::NumbersError;
use super::sessions::{SessionKey, Sessions};
use tickwire_telemetry::http::{BearerToken, HttpPeer};

/// Longest body of a request, in bytes.
const BODY_MAX: usize = 4 << 10;
/// Header with the address of the client whose request is forwarded.
const FORWARDED_FOR: &str = "x-forwarded-for";
/// Longest wait for the engine's answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The reason why a request failed.
struct AdminFailure(StatusCode, String);

impl AdminFailure {
    fn of(status: StatusCode, text: impl ToString) -> Self {
        Self(status, text.to_string())
    }

    fn unknown() -> Self {
        Self::of(StatusCode::NOT_FOUND, "no such session; GET /sessions lists all")
    }
}

impl IntoResponse for AdminFailure {
    fn into_response(self) -> Response {
        (self.0, Json(json!({"error": self.1}))).into_response()
    }
}

/// New sequence numbers.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSeqNums {
    next_sender: Option<u64>,
    next_target: Option<u64>,
}

/// An administrative action on a session.
#[derive(Clone, Copy, Debug)]
enum Act {
    Look,
    Logout,
    Reset,
    Enable(bool),
    Numbers(NewSeqNums),
}

/// Formats as in the event log.
impl fmt::Display for Act {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Look => out.write_str("read"),
            Self::Logout => out.write_str("logout"),
            Self::Reset => out.write_str("reset of the sequence numbers"),
            Self::Enable(true) => out.write_str("enabled"),
            Self::Enable(false) => out.write_str("disabled"),
            Self::Numbers(numbers) => {
                let next = [("sender", numbers.next_sender), ("target", numbers.next_target)];
                let set = next.iter().filter_map(|(side, next)| Some((side, (*next)?)));
                let set: Vec<_> = set.map(|(side, next)| format!("next {side} {next}")).collect();
                out.write_str(&set.join(", "))
            }
        }
    }
}

impl EngineHandle {
    /// Returns the administration routes. Each requires the token.
    pub fn admin_routes(&self, token: BearerToken) -> Router {
        Router::new()
            .route("/sessions", get(list))
            .route("/sessions/{name}", get(|state, asked| act(state, asked, Act::Look)))
            .route("/sessions/{name}/logout", post(|state, asked| act(state, asked, Act::Logout)))
            .route("/sessions/{name}/reset", post(|state, asked| act(state, asked, Act::Reset)))
            .route(
                "/sessions/{name}/enable",
                post(|state, asked| act(state, asked, Act::Enable(true))),
            )
            .route(
                "/sessions/{name}/disable",
                post(|state, asked| act(state, asked, Act::Enable(false))),
            )
            .route("/sessions/{name}/numbers", post(set_numbers))
            .fallback(|| async { AdminFailure::of(StatusCode::NOT_FOUND, "see GET /sessions") })
            .method_not_allowed_fallback(|| async {
                let text = "GET reads sessions, POST changes them";
                AdminFailure::of(StatusCode::METHOD_NOT_ALLOWED, text)
            })
            .layer(DefaultBodyLimit::max(BODY_MAX))
            .layer(from_fn_with_state(token, BearerToken::check))
            .with_state(self.clone())
    }
}

impl Sessions {
    /// Returns the answer of `GET /sessions`: all sessions, those whose store or message log cannot
    /// be opened, and refused connections by reason.
    pub fn to_json(&self) -> Value {
        let shown = self.keys().filter_map(|key| shown(self, key)).collect::<Vec<_>>();
        let unopened =
            self.unopened().map(|(id, text)| json!({"name": id.file_name(), "text": text}));
        json!({
            "sessions": shown,
            "unopened": unopened.collect::<Vec<_>>(),
            "refused_connections": refusals(self.all_refusals()),
        })
    }
}

/// Runs a function on the engine's thread and waits for its result.
async fn call<R: Send + 'static>(
    handle: &EngineHandle,
    act: impl FnOnce(&mut Sessions, Now) -> R + Send + 'static,
) -> Result<R, AdminFailure> {
    let busy = |text: String| AdminFailure(StatusCode::SERVICE_UNAVAILABLE, text);
    let answer = handle.call(act).map_err(|error| busy(error.to_string()))?;
    match tokio::time::timeout(PATIENCE, answer.received()).await {
        Ok(answer) => answer.map_err(|error| busy(error.to_string())),
        Err(_) => {
            Err(busy("the engine does not answer; it may still execute the request".to_owned()))
        }
    }
}

async fn list(State(handle): State<EngineHandle>) -> Result<Json<Value>, AdminFailure> {
    Ok(Json(call(&handle, |sessions, _| sessions.to_json()).await?))
}

/// The session that a request names, and the client that sent it.
struct AdminRequest {
    /// The name in the path, undecoded.
    name: String,
    client: String,
}

impl<S: Sync> FromRequestParts<S> for AdminRequest {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let name = parts.uri.path().split('/').nth(2).unwrap_or_default().to_owned();
        Ok(Self { name, client: client(parts) })
    }
}

/// Returns the address of a request's client. A monitor of several processes forwards requests and
/// names the client that sent them.
fn client(parts: &Parts) -> String {
    let Some(HttpPeer(peer)) = parts.extensions.get() else {
        return "an unknown client".to_owned();
    };
    let named = parts.headers.get(FORWARDED_FOR).and_then(|text| text.to_str().ok());
    match named.and_then(|text| text.parse::<SocketAddr>().ok()) {
        Some(client) => format!("{client} through {peer}"),
        None => peer.to_string(),
    }
}

async fn act(
    State(handle): State<EngineHandle>,
    asked: AdminRequest,
    act: Act,
) -> Result<Json<Value>, AdminFailure> {
    let AdminRequest { name, client } = asked;
    let done = call(&handle, move |sessions, now| {
        let key = named_by(sessions, &name)?;
        carry_out(sessions, key, act, now)?;
        if !matches!(act, Act::Look) {
            note(sessions, key, format!("{act}, by {client}"));
        }
        shown(sessions, key).ok_or_else(AdminFailure::unknown)
    });
    Ok(Json(done.await??))
}

async fn set_numbers(
    state: State<EngineHandle>,
    asked: AdminRequest,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, AdminFailure> {
    let body = body.map_err(|error| AdminFailure(error.status(), error.body_text()))?;
    // Only an object is accepted: serde would also read the struct from a list.
    let object = serde_json::from_slice::<Map<String, Value>>(&body);
    let read = object.and_then(|object| serde_json::from_value::<NewSeqNums>(object.into()));
    let wrong = |error: &str| {
        let form = "{\"next_sender\": N, \"next_target\": N}, either may be left out";
        AdminFailure(StatusCode::BAD_REQUEST, format!("{error}; expected {form}"))
    };
    let numbers = read.map_err(|error| wrong(&error.to_string()))?;
    if numbers.next_sender.or(numbers.next_target).is_none() {
        return Err(wrong("no number is given"));
    }
    act(state, asked, Act::Numbers(numbers)).await
}

fn carry_out(
    sessions: &mut Sessions,
    key: SessionKey,
    act: Act,
    now: Now,
) -> Result<(), AdminFailure> {
    match act {
        Act::Look => {}
        Act::Enable(is_enabled) => {
            sessions.set_enabled(key, is_enabled, now);
            if sessions.is_enabled(key) != is_enabled {
                return Err(AdminFailure::of(StatusCode::CONFLICT, "the session is being removed"));
            }
        }
        Act::Logout | Act::Reset => {
            let session = sessions.session_mut(key).ok_or_else(AdminFailure::unknown)?;
            match act {
                Act::Logout if !session.is_logged_on() => {
                    return Err(AdminFailure::of(
                        StatusCode::CONFLICT,
                        "the session is not logged on",
                    ));
                }
                Act::Logout => session.logout(now, ""),
                _ if session.is_connected() && !session.is_logged_on() => {
                    let text = "the session is logging on or out; try again";
                    return Err(AdminFailure::of(StatusCode::CONFLICT, text));
                }
                _ => session.reset(now),
            }
        }
        Act::Numbers(NewSeqNums { next_sender, next_target }) => {
            sessions.set_numbers(key, next_sender, next_target).map_err(|error| {
                let status = match &error {
                    NumbersError::Unknown => StatusCode::NOT_FOUND,
                    NumbersError::Connected => StatusCode::CONFLICT,
                    NumbersError::Range => StatusCode::BAD_REQUEST,
                    NumbersError::Store(_) => StatusCode::INTERNAL_SERVER_ERROR,
                };
                AdminFailure::of(status, error)
            })?;
        }
    }
    Ok(())
}

/// Logs a change, and keeps it for the application.
fn note(sessions: &mut Sessions, key: SessionKey, text: String) {
    let session = sessions.session(key).map(|session| session.config().id.to_string());
    let session = session.unwrap_or_default();
    tracing::info!(target: "tickwire::fix", session, "administration: {text}");
    sessions.administered.push((key, text));
}

/// Returns the session that a path names.
fn named_by(sessions: &Sessions, written: &str) -> Result<SessionKey, AdminFailure> {
    let name_of = |key: SessionKey| Some((key, sessions.session(key)?.config().id.file_name()));
    find(sessions.keys().filter_map(name_of), written).map_err(|unfound| match unfound {
        Unfound::Missing => AdminFailure::unknown(),
        Unfound::Ambiguous => {
            let text = "several sessions have this name; use the name that GET /sessions prints";
            AdminFailure::of(StatusCode::CONFLICT, text)
        }
    })
}

fn refusals(counts: impl Iterator<Item = (tickwire_fix_session::Refusal, u64)>) -> Value {
    counts
        .map(|(refusal, count)| (refusal.as_str().to_owned(), count.into()))
        .collect::<Map<_, _>>()
        .into()
}

/// Returns a session's object.
fn shown(sessions: &Sessions, key: SessionKey) -> Option<Value> {
    let session = sessions.session(key)?;
    let (config, store, counters) = (session.config(), session.store(), session.counters());
    let state = match (session.is_logged_on(), session.is_connected()) {
        (true, _) => "logged_on",
        (false, true) => "connected",
        (false, false) => "disconnected",
    };
    let role = match config.role {
        SessionRole::Acceptor => "acceptor",
        SessionRole::Initiator => "initiator",
    };
    Some(json!({
        "name": config.id.file_name(),
        "begin_string": config.id.begin_string.as_str(),
        "sender_comp_id": config.id.sender_comp_id,
        "target_comp_id": config.id.target_comp_id,
        "qualifier": config.id.qualifier,
        "role": role,
        "enabled": sessions.is_enabled(key),
        "state": state,
        "peer": sessions.peer(key).map(|peer| peer.to_string()),
        "next_sender": store.next_sender(),
        "next_target": store.next_target(),
        "numbers_since_ns": store.created_ns(),
        "queued": session.backlog(),
        "counters": {
            "received": counters.received,
            "delivered": counters.delivered,
            "sent": counters.sent,
            "resent": counters.resent,
            "rejected": counters.rejected,
            "refused": counters.refused,
            "garbled": counters.garbled,
            "resend_requests": counters.gaps,
            "duplicates": counters.duplicates,
            "logons": counters.logons,
        },
        "refused_connections": refusals(sessions.refusals_of(key)),
    }))
}

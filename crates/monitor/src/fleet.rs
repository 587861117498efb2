//! Several processes on one page: reads their APIs and forwards requests to them.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Path as PathPiece, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Json, Router};
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};
use tickwire_telemetry::http::{BearerToken, HttpPeer, HttpTlsClient};
use tokio::sync::Mutex;

use crate::client::MonitorTarget;
use crate::compression::compress;
use crate::guard::{add_headers, check_site};
use crate::requests::{build_of, openapi, refused};
use crate::stream::EVENT_STREAM;
use crate::unbuffered::unbuffered;
use crate::{assets, errors};

/// Most processes in a configuration file.
const PROCESSES_MAX: usize = 64;
/// Time for which a summary of the processes is reused.
const FRESH: Duration = Duration::from_millis(500);
/// Requests are forwarded if their path begins with one of these.
const PASSED_ON: [&str; 6] = ["/api/v1/", "/metrics", "/health", "/ready", "/build", "/sessions"];
/// Tells a process the address of the client whose request is forwarded.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Headers of a request that are forwarded.
const HEADERS: [HeaderName; 3] =
    [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::ACCEPT_ENCODING];
/// Headers of the answer that are forwarded.
const ANSWERED_HEADERS: [HeaderName; 3] =
    [header::CONTENT_TYPE, header::CONTENT_ENCODING, header::VARY];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    process: Vec<ConfigProcess>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigProcess {
    name: String,
    address: SocketAddr,
    token_file: Option<PathBuf>,
    tls_authorities: Option<PathBuf>,
    tls_name: Option<String>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
}

impl ConfigProcess {
    /// Reads the files of TLS; paths are relative to `directory`.
    fn tls(&self, directory: &Path) -> Result<Option<HttpTlsClient>, String> {
        let Self { address, tls_authorities, tls_name, tls_cert, tls_key, .. } = self;
        let Some(authorities) = tls_authorities else {
            let is_any = tls_name.is_some() || tls_cert.is_some() || tls_key.is_some();
            let text = "tls_name, tls_cert and tls_key need tls_authorities: a file with the authorities of the process's certificate";
            return if is_any { Err(text.to_owned()) } else { Ok(None) };
        };
        let own = match (tls_cert, tls_key) {
            (Some(own), Some(key)) => Some((directory.join(own), directory.join(key))),
            (None, None) => None,
            _ => return Err("tls_cert and tls_key belong together".to_owned()),
        };
        let own = own.as_ref().map(|(own, key)| (own.as_path(), key.as_path()));
        let name = tls_name.clone().unwrap_or_else(|| address.ip().to_string());
        HttpTlsClient::from_files(&directory.join(authorities), &name, own).map(Some)
    }
}

/// A process that runs a monitor.
#[derive(Clone, Debug)]
pub struct FleetProcess {
    /// Name of the process on the page.
    pub name: String,
    /// Address and token of its monitor.
    pub target: MonitorTarget,
}

/// Reads a configuration; paths of files are relative to `directory`.
///
/// # Errors
/// A description of the mistake, with the line if known.
pub fn read_fleet(text: &str, directory: &Path) -> Result<Vec<FleetProcess>, String> {
    let file: ConfigFile = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.process.is_empty() || file.process.len() > PROCESSES_MAX {
        return Err(format!("there must be 1 to {PROCESSES_MAX} [[process]] tables"));
    }
    let mut processes: Vec<FleetProcess> = Vec::new();
    for process in file.process {
        let tls = process.tls(directory);
        let ConfigProcess { name, address, token_file, .. } = process;
        let failed = |text: &dyn Display| format!("process \"{name}\": {text}");
        let is_plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || !name.bytes().all(is_plain) || name.starts_with('.') {
            return Err(failed(
                &"a name has only letters, digits, -, _ and ., and does not begin with .",
            ));
        }
        if processes.iter().any(|known| known.name == name) {
            return Err(failed(&"the name occurs twice"));
        }
        let token = token_file.map(|path| BearerToken::of_file(&directory.join(path)));
        let token = token.transpose().map_err(|error| failed(&error))?;
        let tls = tls.map_err(|error| failed(&error))?;
        let target = MonitorTarget { address, token, tls, process: None };
        if target.is_exposed() {
            tracing::warn!(
                "process {name}: tokens travel in plain text to {address}; set tls_authorities"
            );
        }
        processes.push(FleetProcess { name, target });
    }
    Ok(processes)
}

/// A summary of all processes, and when it was made.
type FleetSummary = Option<(Instant, Arc<Value>)>;

struct Fleet {
    processes: Vec<FleetProcess>,
    summary: Mutex<FleetSummary>,
}

impl Fleet {
    /// Returns the summary of all processes. It asks them all at once and reuses the answer for [`FRESH`], so that many
    /// clients cause one request.
    async fn summary(&self) -> Arc<Value> {
        let mut known = self.summary.lock().await;
        if let Some((at, summary)) = &*known
            && at.elapsed() < FRESH
        {
            return summary.clone();
        }
        let ask = |process: &FleetProcess| {
            let FleetProcess { name, target } = process.clone();
            async move { summary_of(&name, &target).await }
        };
        let processes = join_all(self.processes.iter().map(ask)).await;
        let summary = Arc::new(json!({ "processes": processes }));
        *known = Some((Instant::now(), summary.clone()));
        summary
    }
}

/// Returns the summary of one process.
async fn summary_of(name: &str, target: &MonitorTarget) -> Value {
    let address = target.address.to_string();
    match target.get("/api/v1/summary").await {
        Ok(summary) => {
            let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
            let sessions = list(&summary["sessions"]);
            let logged_on = sessions.iter().filter(|of| of["state"] == "logged_on").count();
            let process = &summary["state"]["process"];
            let (not_ready, warnings) = (list(&process["not_ready"]), list(&process["warnings"]));
            let level = match (not_ready.is_empty(), warnings.is_empty()) {
                (false, _) => "not_ready",
                (true, false) => "warning",
                (true, true) => "ready",
            };
            json!({
                "name": name,
                "address": address,
                "error": null,
                "level": level,
                "command": process["command"],
                "version": process["version"],
                "pid": process["pid"],
                "uptime_ms": process["uptime_ms"],
                "not_ready": not_ready,
                "warnings": warnings,
                "channels": list(&summary["channels"]),
                "sessions": sessions.len(),
                "logged_on": logged_on,
                "bus": bus_of(&summary["state"]["bus"]),
            })
        }
        Err(error) => {
            json!({
                "name": name,
                "address": address,
                "error": error.to_string(),
                "level": "no_answer",
                "not_ready": [],
                "warnings": [],
                "channels": [],
            })
        }
    }
}

/// Returns the topics of a process; `null` if it has none.
fn bus_of(bus: &Value) -> Value {
    if bus.is_null() {
        return Value::Null;
    }
    json!({
        "role": bus["role"],
        "transport": bus["transport"],
        "status": bus["status"],
        "late_joiners": bus["late_joiners"],
        "topics": bus["topics"],
    })
}

type FleetContext = State<Arc<Fleet>>;

/// `GET /api/v1/processes`.
async fn processes(State(fleet): FleetContext) -> Json<Value> {
    Json((*fleet.summary().await).clone())
}

/// `GET /ready`: whether all processes answer and are ready.
async fn ready(State(fleet): FleetContext) -> Response {
    let summary = fleet.summary().await;
    let mut reasons = Vec::new();
    for process in summary["processes"].as_array().into_iter().flatten() {
        let name = process["name"].as_str().unwrap_or_default();
        let own = process["not_ready"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let texts = process["error"].as_str().into_iter().chain(own);
        reasons.extend(texts.map(|text| format!("{name}: {text}")));
    }
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({"ready": reasons.is_empty(), "reasons": reasons}))).into_response()
}

/// `GET /health`: this process runs. `/ready` has the state of the others.
async fn health() -> Json<Value> {
    Json(json!({"healthy": true, "reasons": []}))
}

/// `GET /build`: the build of the page over several processes.
async fn build() -> Json<Value> {
    build_of("monitor", env!("CARGO_PKG_VERSION"))
}

/// Start of a path that names a process.
#[derive(Debug, Deserialize)]
struct ProcessPath {
    name: String,
}

/// Forwards a request for viewing with the page's own token for the process.
async fn pass_on(
    State(fleet): FleetContext,
    PathPiece(ProcessPath { name }): PathPiece<ProcessPath>,
    request: Request,
) -> Response {
    forward(&fleet, &name, request, false).await
}

/// Forwards a request of administration, whose token the process checks itself.
async fn administer(
    State(fleet): FleetContext,
    PathPiece(ProcessPath { name }): PathPiece<ProcessPath>,
    request: Request,
) -> Response {
    forward(&fleet, &name, request, true).await
}

/// Forwards a request to a process, and the answer to the client.
async fn forward(fleet: &Fleet, name: &str, request: Request, is_administration: bool) -> Response {
    let Some(process) = fleet.processes.iter().find(|process| process.name == name) else {
        return refused(StatusCode::NOT_FOUND, "no such process: see /api/v1/processes");
    };
    let (parts, body) = request.into_parts();
    // Use the path as it was sent: decoded here, it might differ from what the process decodes.
    let whole = parts.uri.path_and_query().map_or("", |whole| whole.as_str());
    let rest = whole.strip_prefix("/p/").and_then(|rest| rest.split_once('/'));
    let path = rest.map(|(_, path)| format!("/{path}")).unwrap_or_default();
    let is_passed_on = PASSED_ON.iter().any(|start| path.starts_with(start));
    let uri = path.parse::<Uri>().ok().filter(|uri| is_passed_on && !leads_up(uri));
    let Some(uri) = uri else {
        return refused(StatusCode::NOT_FOUND, "the API of a process is behind /p/NAME/api/v1/");
    };
    let authorization = parts.headers.get(header::AUTHORIZATION).filter(|_| is_administration);
    if is_administration && authorization.is_none() {
        // A request without a token must not reach the process: the token that the page itself has
        // for it permits only viewing.
        let error = "send the administration token: Authorization: Bearer TOKEN";
        return refused(StatusCode::UNAUTHORIZED, error);
    }
    let mut sent = Request::new(body);
    *sent.uri_mut() = uri;
    *sent.method_mut() = parts.method;
    for name in HEADERS {
        if let Some(value) = parts.headers.get(&name) {
            sent.headers_mut().insert(name, value.clone());
        }
    }
    if let Some(token) = authorization {
        sent.headers_mut().insert(header::AUTHORIZATION, token.clone());
        // The process logs the address of the client that changes a session.
        if let Some(HttpPeer(peer)) = parts.extensions.get()
            && let Ok(peer) = HeaderValue::from_str(&peer.to_string())
        {
            sent.headers_mut().insert(FORWARDED_FOR, peer);
        }
    }
    match process.target.send(sent).await {
        // The token of the process is wrong, and the client cannot know a better one.
        Ok(answer) if answer.status() == StatusCode::UNAUTHORIZED && !is_administration => {
            refused(StatusCode::BAD_GATEWAY, format!("{name} refuses the token of its token_file"))
        }
        Ok(answer) => {
            let (head, body) = answer.into_parts();
            let is_stream =
                head.headers.get(header::CONTENT_TYPE).is_some_and(|of| of == EVENT_STREAM);
            let body = if is_stream { unbuffered(body.into_data_stream()) } else { body };
            let mut response = (head.status, body).into_response();
            for name in ANSWERED_HEADERS {
                if let Some(value) = head.headers.get(&name) {
                    response.headers_mut().insert(name, value.clone());
                }
            }
            response
        }
        // A client without the token of the page must not learn the address of the process.
        Err(_) if is_administration => {
            refused(StatusCode::BAD_GATEWAY, format!("{name} does not answer"))
        }
        Err(error) => refused(StatusCode::BAD_GATEWAY, error.to_string()),
    }
}

/// True if a path has a segment `..`. A session's name may contain these characters.
fn leads_up(uri: &Uri) -> bool {
    uri.path().split('/').any(|segment| segment == "..")
}

/// Returns the routes of the page over several processes. With a token, all routes that reveal anything about the
/// processes require it; FIX administration requires the token of its process. `others` are further routes to protect in the
/// same way, such as those of metrics.
pub fn fleet_routes(
    processes: Vec<FleetProcess>,
    token: Option<BearerToken>,
    others: Router,
) -> Router {
    let fleet = Arc::new(Fleet { processes, summary: Mutex::new(None) });
    let told = Router::new()
        .route("/api/v1/processes", get(self::processes))
        .route("/ready", get(ready))
        .route("/health", get(health))
        .route("/build", get(build))
        .route("/api/v1/openapi.json", get(openapi))
        .route("/p/{name}/{*path}", any(pass_on))
        .with_state(fleet.clone())
        .merge(others);
    let told = match token {
        Some(token) => told.route_layer(from_fn_with_state(token, BearerToken::check)),
        None => told,
    };
    // Without the token of the page: the process itself checks the request's token.
    let administration = Router::new()
        .route("/p/{name}/sessions", any(administer))
        .route("/p/{name}/sessions/", any(administer))
        .route("/p/{name}/sessions/{*path}", any(administer))
        .with_state(fleet);
    told.merge(administration)
        .route_layer(from_fn(check_site))
        .route("/", get(assets::page_of_several))
        .route("/assets/{name}", get(assets::asset))
        .layer(from_fn(errors::as_json))
        .layer(from_fn(compress))
        .layer(from_fn(add_headers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_names_processes_and_what_is_wrong() {
        let read = |text: &str| read_fleet(text, Path::new("."));
        let good = "[[process]]\nname = \"feed-a\"\naddress = \"127.0.0.1:9100\"\n";
        let processes = read(good).unwrap();
        assert_eq!((processes.len(), processes[0].target.address.port()), (1, 9100));
        for (text, wanted) in [
            ("", "process"),
            ("[[process]]\nname = \"a\"\n", "address"),
            ("[[process]]\nname = \"a\"\naddress = \"nowhere\"\n", "line 3"),
            ("[[process]]\nname = \"a/b\"\naddress = \"127.0.0.1:1\"\n", "letters"),
            ("[[process]]\nname = \"..\"\naddress = \"127.0.0.1:1\"\n", "letters"),
            ("[[process]]\nname = \"a\"\naddress = \"127.0.0.1:1\"\ntoken = \"x\"\n", "token"),
            (format!("{good}{good}").as_str(), "twice"),
            (format!("{good}tls_cert = \"c.pem\"\n").as_str(), "need tls_authorities"),
            (format!("{good}tls_authorities = \"/nowhere.pem\"\n").as_str(), "/nowhere.pem"),
            (
                format!("{good}tls_authorities = \"a.pem\"\ntls_key = \"k.pem\"\n").as_str(),
                "belong together",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
    }
}

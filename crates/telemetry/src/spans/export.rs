//! Export of spans to an OpenTelemetry collector: OTLP over HTTP, as protobuf.

use std::env;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant, UNIX_EPOCH};

use futures_executor::block_on;
use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, Key, KeyValue, Value};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter as _, SpanLinks};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tickwire_host::affinity::spawn_background;
use ureq::http::Uri;
use ureq::http::uri::Scheme;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::client::{BatchExport, BlockingClient};
use super::{CompletedSpan, SpanSink, SpanValue, dropped};
use crate::metrics::{Counter, Metrics};

/// Most spans that wait for export.
const QUEUE_MAX: usize = 2048;
/// Most spans in a request.
const BATCH_MAX: usize = 512;
/// Longest time that a span waits for others to share its request.
const BATCH_WAIT: Duration = Duration::from_secs(1);
/// Interval at which the thread checks whether it should end.
const LOOK: Duration = Duration::from_millis(50);
/// Longest time that the end of a process waits for the last spans.
const END_WAIT: Duration = Duration::from_secs(2);
/// Time limit of a request with its retries, unless a variable sets it.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Path of traces below the address of a collector.
const TRACES: &str = "/v1/traces";

/// Returns the value of an environment variable; an empty one counts as not set.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns true if `OTEL_SDK_DISABLED` says that no program is to export anything.
pub fn is_export_disabled() -> bool {
    variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Address of a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorAddress(String);

impl CollectorAddress {
    /// Parses the base address of a collector, such as `http://localhost:4318`; spans go to `/v1/traces` below it.
    ///
    /// # Errors
    /// A text for the user: it is no `http` or `https` address. The text does not show the address, which may hold a password.
    pub fn parse(address: &str) -> Result<Self, String> {
        let base = address.trim_end_matches('/');
        let base = base.strip_suffix(TRACES).unwrap_or(base);
        Self::whole(&format!("{base}{TRACES}"))
    }

    /// Takes the address of a request as it is.
    fn whole(address: &str) -> Result<Self, String> {
        if address.contains('@') {
            return Err("user and password do not belong in the address of a collector: set \
                        OTEL_EXPORTER_OTLP_HEADERS=authorization=Basic%20..."
                .to_owned());
        }
        if address.contains(['?', '#']) {
            return Err("the address of a collector has no query: set OTEL_EXPORTER_OTLP_HEADERS \
                        to send a token"
                .to_owned());
        }
        let expected = || "expected http://HOST:PORT or https://HOST:PORT".to_owned();
        let uri: Uri = address.parse().map_err(|_| expected())?;
        let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(expected());
        };
        // After an invalid port the authority is longer than the host, although it has no port.
        let has_port = authority.port_u16().is_some_and(|port| port > 0);
        match authority.host() {
            "" => Err(expected()),
            host if host.len() == authority.as_str().len() || has_port => {
                Ok(Self(address.to_owned()))
            }
            _ => Err(expected()),
        }
    }

    /// Returns the settings of TLS; `None` for a plain address.
    ///
    /// # Errors
    /// A text for the user: there are no certificates of authorities, or they cannot be read.
    fn tls(&self) -> Result<Option<TlsConfig>, String> {
        let scheme = self.0.parse::<Uri>().ok().and_then(|uri| uri.scheme().cloned());
        if scheme != Some(Scheme::HTTPS) {
            return Ok(None);
        }
        let names = ["OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"];
        let named = names.into_iter().find_map(|name| Some((name, variable(name)?)));
        let authorities = named.map_or_else(system_authorities, |(name, path)| {
            authorities_of(Path::new(&path)).map_err(|error| format!("{name}: {path}: {error}"))
        })?;
        Ok(Some(
            TlsConfig::builder()
                .root_certs(RootCerts::new_with_certs(&authorities))
                .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
                .build(),
        ))
    }

    /// Returns the address that the environment sets: `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` as it is, else
    /// `OTEL_EXPORTER_OTLP_ENDPOINT` as a base address.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), with the name of the variable.
    pub fn of_environment() -> Result<Option<Self>, String> {
        let named = |name: &'static str| variable(name).map(|value| (name, value));
        let of_traces = named(opentelemetry_otlp::OTEL_EXPORTER_OTLP_TRACES_ENDPOINT);
        let of_all = named(opentelemetry_otlp::OTEL_EXPORTER_OTLP_ENDPOINT);
        let parsed = match (of_traces, of_all) {
            (Some((name, value)), _) => (name, Self::whole(&value)),
            (None, Some((name, value))) => (name, Self::parse(&value)),
            (None, None) => return Ok(None),
        };
        parsed.1.map(Some).map_err(|error| format!("{}: {error}", parsed.0))
    }
}

/// Reads certificates from a PEM file.
fn authorities_of(path: &Path) -> Result<Vec<Certificate<'static>>, String> {
    let found =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = found.map_err(|error| error.to_string())?;
    if found.is_empty() {
        return Err("holds no certificate in PEM form".to_owned());
    }
    Ok(found.iter().map(|der| Certificate::from_der(der).to_owned()).collect())
}

/// Returns the authorities that the operating system trusts.
fn system_authorities() -> Result<Vec<Certificate<'static>>, String> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(format!(
            "this system has no certificates of authorities{why}: name a file with those of the collector in \
             OTEL_EXPORTER_OTLP_CERTIFICATE"
        ));
    }
    Ok(found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect())
}

/// The process that the spans come from.
#[derive(Clone, Copy, Debug)]
pub struct SpanSource<'s> {
    /// Name of the service, unless `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` set another one.
    pub service: &'s str,
    /// Version of the service.
    pub version: &'s str,
    /// Command that the process runs.
    pub command: &'s str,
}

impl SpanSource<'_> {
    fn resource(self) -> Resource {
        // The detectors read the environment. Without a name there, they generate one.
        let detected = Resource::builder().build();
        let name = detected.get_ref(&Key::from_static_str("service.name"));
        let is_named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
        let builder = Resource::builder().with_attributes([
            KeyValue::new("service.version", self.version.to_owned()),
            KeyValue::new("process.pid", i64::from(std::process::id())),
            KeyValue::new("tickwire.command", self.command.to_owned()),
        ]);
        match is_named {
            true => builder.build(),
            false => builder.with_service_name(self.service.to_owned()).build(),
        }
    }
}

/// Returns the time limit of a request, in milliseconds by the variables of the specification.
fn timeout() -> Duration {
    let names = [
        opentelemetry_otlp::OTEL_EXPORTER_OTLP_TRACES_TIMEOUT,
        opentelemetry_otlp::OTEL_EXPORTER_OTLP_TIMEOUT,
    ];
    let Some((name, value)) = names.iter().find_map(|name| Some((name, variable(name)?))) else {
        return TIMEOUT;
    };
    match value.parse() {
        Ok(ms) if ms > 0 => Duration::from_millis(ms),
        _ => {
            tracing::warn!("{name}={value} is no number of milliseconds; {TIMEOUT:?} is used");
            TIMEOUT
        }
    }
}

/// A running export. Dropping it sends the last spans and ends the thread; it waits at most two seconds for that.
#[derive(Debug)]
pub struct SpanExport {
    stop: Arc<AtomicBool>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl SpanExport {
    /// Starts the thread. Spans that are sent to the returned sink are exported; `metrics` count those that were, and those
    /// that were dropped.
    ///
    /// # Errors
    /// A text for the user: the configuration is invalid, or the operating system refused to create a thread.
    pub fn start(
        address: &CollectorAddress,
        source: SpanSource<'_>,
        metrics: &Metrics,
    ) -> Result<(Self, SpanSink), String> {
        let timeout = timeout();
        let request = Arc::new(BatchExport::new());
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(BlockingClient::new(request.clone(), address.tls()?))
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(timeout)
            .with_endpoint(&address.0)
            .build();
        let mut exporter = exporter.map_err(|error| error.to_string())?;
        exporter.set_resource(&source.resource());
        let (sink, spans) = SpanSink::new(QUEUE_MAX, metrics);
        let stop = Arc::new(AtomicBool::new(false));
        let (ending, ended) = sync_channel(0);
        let exporting = ExportLoop {
            exporter,
            request,
            timeout,
            scope: InstrumentationScope::builder(source.service.to_owned())
                .with_version(source.version.to_owned())
                .build(),
            spans,
            stop: stop.clone(),
            address: address.0.clone(),
            exported: metrics.counter("trace_exported_spans", "Spans that the collector took", &[]),
            dropped_failed: dropped(metrics, "export_failed"),
            dropped_rejected: dropped(metrics, "rejected"),
            has_failed: false,
            _ending: ending,
        };
        spawn_background("spans", move || exporting.run()).map_err(|error| error.to_string())?;
        Ok((Self { stop, ended }, sink))
    }
}

impl Drop for SpanExport {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if self.ended.recv_timeout(END_WAIT) == Err(RecvTimeoutError::Timeout) {
            // The thread waits for the collector; it ends with the process.
            tracing::warn!(
                "the collector of spans did not answer within {END_WAIT:?}: the last spans are lost"
            );
        }
    }
}

/// The thread's state.
struct ExportLoop {
    exporter: SpanExporter,
    /// The state that the exporter's client shares.
    request: Arc<BatchExport>,
    /// Time limit of the export of a batch.
    timeout: Duration,
    scope: InstrumentationScope,
    spans: Receiver<CompletedSpan>,
    stop: Arc<AtomicBool>,
    address: String,
    exported: Counter,
    dropped_failed: Counter,
    dropped_rejected: Counter,
    /// True if an export has failed and this was logged.
    has_failed: bool,
    /// Dropped when the thread ends.
    _ending: SyncSender<()>,
}

impl ExportLoop {
    /// Exports spans until `stop` is set and the queue is empty.
    fn run(mut self) {
        while let Some(batch) = self.next_batch() {
            self.export(batch);
        }
    }

    /// Waits for spans and returns those that share a request; `None` at the end.
    fn next_batch(&self) -> Option<Vec<SpanData>> {
        let mut batch = Vec::new();
        let mut begun = Instant::now();
        loop {
            let is_ending = self.stop.load(Ordering::Relaxed);
            match self.spans.recv_timeout(if is_ending { Duration::ZERO } else { LOOK }) {
                Ok(span) => {
                    if batch.is_empty() {
                        begun = Instant::now();
                    }
                    batch.push(data(span, &self.scope));
                }
                Err(RecvTimeoutError::Timeout) if !is_ending => {}
                Err(_) => return (!batch.is_empty()).then_some(batch),
            }
            let is_due = !batch.is_empty() && begun.elapsed() >= BATCH_WAIT;
            if is_due || batch.len() == BATCH_MAX {
                return Some(batch);
            }
        }
    }

    /// Sends a batch. The exporter retries; a batch that fails all the same is dropped and counted.
    fn export(&mut self, batch: Vec<SpanData>) {
        let count = batch.len() as u64;
        self.request.begin(self.timeout);
        let exported = block_on(self.exporter.export(batch));
        let rejected = self.request.take_rejected().min(count);
        match exported {
            Ok(()) => {
                self.exported.add(count - rejected);
                self.dropped_rejected.add(rejected);
            }
            Err(error) => {
                self.dropped_failed.add(count);
                if !std::mem::replace(&mut self.has_failed, true) {
                    tracing::warn!(
                        "spans are not exported to {}: {error}; the metric trace_dropped_spans counts them",
                        self.address
                    );
                }
            }
        }
    }
}

/// Converts a span to the exporter's form.
fn data(span: CompletedSpan, scope: &InstrumentationScope) -> SpanData {
    let time = |ns| UNIX_EPOCH + Duration::from_nanos(ns);
    let CompletedSpan { name, identity, start_ns, end_ns, attributes, error } = span;
    let attribute = |(name, value)| {
        let value = match value {
            SpanValue::Integer(number) => Value::from(number),
            SpanValue::Text(text) => Value::from(text),
        };
        KeyValue::new(name, value)
    };
    SpanData {
        span_context: SpanContext::new(
            TraceId::from(identity.trace),
            SpanId::from(identity.span),
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        ),
        parent_span_id: identity.parent.map_or(SpanId::INVALID, SpanId::from),
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: name.into(),
        start_time: time(start_ns),
        end_time: time(end_ns),
        attributes: attributes.into_iter().map(attribute).collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: error.map_or(Status::Unset, Status::error),
        instrumentation_scope: scope.clone(),
    }
}

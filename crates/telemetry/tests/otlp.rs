//! Spans at a collector: what arrives, and collectors that are down, hang or reject.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tickwire_telemetry::metrics::Metrics;
use tickwire_telemetry::spans::{
    CollectorAddress, CompletedSpan, SpanExport, SpanIdentity, SpanSink, SpanSource,
};

/// A request as the collector received it.
struct Received {
    head: String,
    request: ExportTraceServiceRequest,
}

/// A collector that answers each request with this status and body.
fn collector(status: &'static str, answer: Vec<u8>) -> (SocketAddr, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, received) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).unwrap() > 0 {}
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse().unwrap())
            });
            let mut body = vec![0; length.unwrap()];
            stream.read_exact(&mut body).unwrap();
            let request = ExportTraceServiceRequest::decode(&body[..]).unwrap();
            let stream: &mut TcpStream = stream.get_mut();
            let length = answer.len();
            write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            )
            .unwrap();
            stream.write_all(&answer).unwrap();
            if sender.send(Received { head, request }).is_err() {
                return;
            }
        }
    });
    (address, received)
}

fn start(address: SocketAddr, metrics: &Metrics) -> (SpanExport, SpanSink) {
    let address = CollectorAddress::parse(&format!("http://{address}")).unwrap();
    let source = SpanSource { service: "tickwire", version: "1.2", command: "receive" };
    SpanExport::start(&address, source, metrics).unwrap()
}

fn span(name: &'static str, identity: SpanIdentity) -> CompletedSpan {
    CompletedSpan {
        name,
        identity,
        start_ns: 1_700_000_000_000_000_001,
        end_ns: 1_700_000_000_250_000_002,
        attributes: vec![("feed.channel", "futures".into()), ("feed.gap.seq_num_count", 3.into())],
        error: None,
    }
}

fn value_of<'v>(attributes: &'v [KeyValue], name: &str) -> &'v Value {
    let found = attributes.iter().find(|attribute| attribute.key == name);
    let AnyValue { value } = found.unwrap_or_else(|| panic!("no {name}")).value.as_ref().unwrap();
    value.as_ref().unwrap()
}

fn count(metrics: &Metrics, name: &str) -> u64 {
    let text = metrics.encode();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

const EXPORTED: &str = "tickwire_trace_exported_spans_total{}";
const FAILED: &str = "tickwire_trace_dropped_spans_total{reason=\"export_failed\"}";
const FULL: &str = "tickwire_trace_dropped_spans_total{reason=\"queue_full\"}";
const REJECTED: &str = "tickwire_trace_dropped_spans_total{reason=\"rejected\"}";

#[test]
fn the_collector_receives_names_times_attributes_and_parents() {
    let metrics = Metrics::new();
    let (address, received) = collector("200 OK", Vec::new());
    let (export, sink) = start(address, &metrics);
    let gap = SpanIdentity::root();
    sink.send(span("replay", gap.child()));
    sink.send(CompletedSpan { error: Some("not filled".to_owned()), ..span("gap recovery", gap) });
    drop(export);
    let Received { head, request } = received.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(head.to_lowercase().contains("content-type: application/x-protobuf\r\n"), "{head}");
    assert_eq!(count(&metrics, EXPORTED), 2);

    let [resource] = &request.resource_spans[..] else { panic!("{request:?}") };
    let attributes = &resource.resource.as_ref().unwrap().attributes;
    // The environment of a test may name another service.
    if std::env::var_os("OTEL_SERVICE_NAME").is_none()
        && std::env::var_os("OTEL_RESOURCE_ATTRIBUTES").is_none()
    {
        assert_eq!(*value_of(attributes, "service.name"), Value::StringValue("tickwire".into()));
    }
    assert_eq!(*value_of(attributes, "service.version"), Value::StringValue("1.2".into()));
    assert_eq!(*value_of(attributes, "tickwire.command"), Value::StringValue("receive".into()));
    let pid = i64::from(std::process::id());
    assert_eq!(*value_of(attributes, "process.pid"), Value::IntValue(pid));

    let spans: Vec<&Span> = resource.scope_spans.iter().flat_map(|scope| &scope.spans).collect();
    let [replay, gap] = spans[..] else { panic!("{spans:?}") };
    assert_eq!((&*replay.name, &*gap.name), ("replay", "gap recovery"));
    assert_eq!(replay.trace_id, gap.trace_id);
    assert_eq!((replay.trace_id.len(), replay.span_id.len()), (16, 8));
    assert_eq!((&replay.parent_span_id, &gap.parent_span_id), (&gap.span_id, &Vec::new()));
    assert_eq!(replay.start_time_unix_nano, 1_700_000_000_000_000_001);
    assert_eq!(replay.end_time_unix_nano, 1_700_000_000_250_000_002);
    assert_eq!(*value_of(&gap.attributes, "feed.channel"), Value::StringValue("futures".into()));
    assert_eq!(*value_of(&gap.attributes, "feed.gap.seq_num_count"), Value::IntValue(3));
    let status = |span: &Span| {
        let status = span.status.clone().unwrap();
        (status.code, status.message)
    };
    assert_eq!(status(replay), (0, String::new()));
    assert_eq!(status(gap), (2, "not filled".to_owned()));
}

#[test]
fn a_collector_that_hangs_delays_nobody_and_what_is_lost_is_counted() {
    // Accepts connections in its backlog and never answers.
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let metrics = Metrics::new();
    let (export, sink) = start(hanging.local_addr().unwrap(), &metrics);
    // The thread takes a batch and waits for the collector, while the queue fills.
    let begun = Instant::now();
    let mut sent: u64 = 0;
    while metrics.encode().lines().any(|line| line == format!("{FULL} 0")) {
        for _ in 0..256 {
            sink.send(span("test", SpanIdentity::root()));
        }
        sent += 256;
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(sent > 2048, "{sent}");
    let begun = Instant::now();
    (0..10_000).for_each(|_| sink.send(span("test", SpanIdentity::root())));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    // The queue may have been full before the thread took its batch, of at most 512 spans.
    assert!(count(&metrics, FULL) >= 10_000 - 512);
    assert_eq!(count(&metrics, EXPORTED), 0);
    let begun = Instant::now();
    drop(export);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[test]
fn spans_of_requests_that_fail_are_counted() {
    let metrics = Metrics::new();
    let (address, received) = collector("400 Bad Request", Vec::new());
    let (export, sink) = start(address, &metrics);
    sink.send(span("test", SpanIdentity::root()));
    drop(export);
    assert!(received.recv_timeout(Duration::from_secs(5)).is_ok());
    assert_eq!((count(&metrics, FAILED), count(&metrics, EXPORTED)), (1, 0));

    // No collector listens at this address.
    let metrics = Metrics::new();
    let (export, sink) = start("127.0.0.1:1".parse().unwrap(), &metrics);
    sink.send(span("test", SpanIdentity::root()));
    let begun = Instant::now();
    while count(&metrics, FAILED) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(20));
    }
    drop(export);
    assert_eq!(count(&metrics, EXPORTED), 0);
}

#[test]
fn spans_that_the_collector_rejects_are_counted() {
    let partial = ExportTracePartialSuccess { rejected_spans: 2, error_message: "old".to_owned() };
    let answer = ExportTraceServiceResponse { partial_success: Some(partial) };
    let metrics = Metrics::new();
    let (address, _received) = collector("200 OK", answer.encode_to_vec());
    let (export, sink) = start(address, &metrics);
    (0..5).for_each(|_| sink.send(span("test", SpanIdentity::root())));
    drop(export);
    assert_eq!((count(&metrics, REJECTED), count(&metrics, EXPORTED)), (2, 3));
}

#[test]
fn addresses_are_those_of_http_collectors() {
    let parse = CollectorAddress::parse;
    assert_eq!(parse("http://localhost:4318"), parse("http://localhost:4318/v1/traces/"));
    assert_ne!(parse("http://localhost:4318"), parse("http://localhost:4318/tempo"));
    assert!(parse("http://[::1]:4318").is_ok() && parse("http://collector").is_ok());
    assert!(parse("https://collector:4318").is_ok());
    for wrong in [
        "localhost:4318",
        "http://",
        "http://:4318",
        "http://localhost:",
        "http://localhost:0",
        "http://localhost:70000",
        "http://local host:4318",
        "grpc://localhost:4317",
        "",
    ] {
        let wanted = "expected http://HOST:PORT or https://HOST:PORT";
        assert_eq!(parse(wrong).unwrap_err(), wanted, "{wrong}");
    }
    for wrong in ["http://localhost:4318?token=x", "http://localhost:4318/tempo#x"] {
        assert!(parse(wrong).unwrap_err().contains("has no query"), "{wrong}");
    }
}

/// Variable with the address for [`exports_a_span_to_the_collector_of_a_variable`].
const COLLECTOR: &str = "TICKWIRE_TEST_COLLECTOR";

/// Run by the test below in a process whose environment names the collector and its authorities.
#[test]
#[ignore = "another test runs it with an environment of its own"]
fn exports_a_span_to_the_collector_of_a_variable() {
    let address = CollectorAddress::parse(&std::env::var(COLLECTOR).unwrap()).unwrap();
    let (source, metrics) =
        (SpanSource { service: "tickwire", version: "1", command: "receive" }, Metrics::new());
    let (export, sink) = SpanExport::start(&address, source, &metrics).unwrap();
    sink.send(span("over TLS", SpanIdentity::root()));
    drop(export);
    assert_eq!(count(&metrics, EXPORTED), 1);
}

#[test]
fn over_tls_only_a_collector_of_the_named_authorities_gets_spans() {
    use axum::Router;
    use axum::routing::post;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
    use tickwire_telemetry::http::{HttpServer, HttpTls};

    let folder = std::env::temp_dir().join(format!("tickwire-otlp-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let authority = || {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        (params.self_signed(&key).unwrap(), key)
    };
    let (own, other) = (authority(), authority());
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &own.0, &own.1).unwrap();
    let tls = HttpTls::from_files(
        &write("collector.pem", certificate.pem()),
        &write("collector.key", key.serialize_pem()),
        None,
    );
    let routes = Router::new().route("/v1/traces", post(|| async {}));
    let server = HttpServer::serve_tls("0".parse().unwrap(), routes, tls.unwrap()).unwrap();
    // Schemes are not case-sensitive.
    let address = format!("HTTPS://localhost:{}", server.address().port());
    let exports = |authority: &std::path::Path| {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--ignored", "--exact", "exports_a_span_to_the_collector_of_a_variable"]);
        child.env(COLLECTOR, &address).env("OTEL_EXPORTER_OTLP_CERTIFICATE", authority);
        child.output().unwrap().status.success()
    };
    assert!(exports(&write("own.pem", own.0.pem())));
    assert!(
        !exports(&write("other.pem", other.0.pem())),
        "its certificate is of another authority"
    );
    assert!(!exports(&folder.join("nowhere.pem")));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_password_in_an_address_is_refused_and_not_shown() {
    for wrong in [
        "http://user:secret@127.0.0.1:9",
        "https://user:secret@127.0.0.1:9",
        "user:secret@127.0.0.1:9",
        "http://user:sec/secret@127.0.0.1:9",
        "http://user:secret%40127.0.0.1:9",
        "http://127.0.0.1:9?token=secret",
    ] {
        let error = CollectorAddress::parse(wrong).unwrap_err();
        assert!(!error.contains("secret"), "{error}");
    }
    let error = CollectorAddress::parse("http://user:secret@127.0.0.1:9").unwrap_err();
    assert!(error.contains("OTEL_EXPORTER_OTLP_HEADERS"), "{error}");
}

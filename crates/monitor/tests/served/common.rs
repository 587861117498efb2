//! A monitored feed of small messages, and a minimal HTTP client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tickwire_fast::{Decoder, DecoderOptions, Message, Program, TemplateSet};
use tickwire_feed::arbiter::{Gap, Line};
use tickwire_feed::framing::Preset;
use tickwire_feed::handler::{
    Delivery, Dynamic, Fault, FeedLine, Handler, HandlerOptions, HandlerView, Replacement,
    SeqNumField, SequenceSource, Sink,
};
use tickwire_feed::market::NoBooks;
use tickwire_feed::recovery::Recovery;
use tickwire_host::clock::monotonic_ns;
use tickwire_monitor::{
    ChannelDescription, ExplanationSettings, Facts, LineDescription, MessageTimes, Monitor,
    MonitorBuilder, SocketFacts, Tap,
};
use tickwire_telemetry::http::{BearerToken, HttpServer};
use tickwire_telemetry::metrics::{Distribution, Metrics};

pub const TEMPLATES: &str =
    r#"<templates><template name="T" id="1"><uInt32 name="n"/></template></templates>"#;

/// A sink that passes events to the monitor's tap.
struct Tapped<'t>(&'t mut Tap);

impl Sink<Message> for Tapped<'_> {
    fn handle_message(&mut self, _: &Delivery, _: &Message) {}

    fn handle_gap(&mut self, gap: Gap) {
        self.0.gap(gap);
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        self.0.fault(fault);
    }
}

/// A feed and its handler.
pub struct Feed {
    handler: Handler<Dynamic, NoBooks>,
    pub tap: Tap,
    /// Published instead of the handler's books, of which there are none.
    pub books: Option<Recovery>,
    packets: [u64; 2],
    last_ns: [u64; 2],
    pub decode_times: Distribution,
}

impl Feed {
    pub fn new(builder: &mut MonitorBuilder) -> Self {
        Self::named(builder, "futures")
    }

    pub fn named(builder: &mut MonitorBuilder, name: &str) -> Self {
        let set = TemplateSet::parse(TEMPLATES).unwrap();
        let program = Arc::new(Program::compile(set.clone()).unwrap());
        let framing = Preset::Cme.framing();
        let decoding = DecoderOptions::default().reset(framing.reset_policy().into());
        let engine = || {
            Dynamic::new(Decoder::with_options(program.clone(), decoding), &SeqNumField::default())
        };
        let options = HandlerOptions { framing, ..Default::default() };
        let handler = Handler::new(options, engine, NoBooks).unwrap();
        let decode_times = Distribution::default();
        let line = |line, group: &str| LineDescription {
            source: FeedLine::Incremental(line),
            group: group.to_owned(),
            delays: Distribution::default(),
        };
        let tap = builder.add_channel(ChannelDescription {
            name: name.to_owned(),
            epoch_ns: 1_000_000_000_000_000_000,
            silent_after_ns: 3_000_000_000,
            lines: vec![line(Line::A, "239.1.1.1:5000"), line(Line::B, "239.1.1.1:5001")],
            times: MessageTimes { decode: decode_times.clone(), ..MessageTimes::default() },
            explaining: Some(ExplanationSettings::new(set, decoding, framing).unwrap()),
        });
        let last_ns = [monotonic_ns(); 2];
        Self { handler, tap, books: None, packets: [0; 2], last_ns, decode_times }
    }

    /// Receives a packet that has one message.
    pub fn receive(&mut self, line: Line, seq_num: u8, message: &[u8]) {
        let now_ns = monotonic_ns();
        let packet = [&[0, 0, 0, seq_num, 0], message].concat();
        let source = FeedLine::Incremental(line);
        self.packets[line.index()] += 1;
        self.last_ns[line.index()] = now_ns;
        self.tap.packet(now_ns, source, &packet);
        self.handler.handle_packet(now_ns, source, &packet, &mut Tapped(&mut self.tap));
    }

    /// Replaces the templates; these take effect at the first packet that only they can decode.
    pub fn replace_templates(&mut self, templates: &str) {
        let program = Arc::new(Program::compile(TemplateSet::parse(templates).unwrap()).unwrap());
        let reset = Preset::Cme.framing().reset_policy().into();
        let decoding = DecoderOptions::default().reset(reset);
        let engine = || {
            Dynamic::new(Decoder::with_options(program.clone(), decoding), &SeqNumField::default())
        };
        let replacement = Replacement::new(engine, NoBooks, SequenceSource::Preamble);
        self.handler.replace(replacement).unwrap();
    }

    /// Stops waiting for missing packets: declares the gap.
    pub fn give_up(&mut self) {
        std::thread::sleep(Duration::from_millis(20));
        self.handler.handle_timeout(monotonic_ns(), &mut Tapped(&mut self.tap));
    }

    pub fn publish(&mut self) {
        let socket = |line: Line| SocketFacts {
            source: FeedLine::Incremental(line),
            packets: self.packets[line.index()],
            bytes: 8 * self.packets[line.index()],
            dropped: 0,
            last_packet_ns: self.last_ns[line.index()],
        };
        let events =
            [("trade", 0), ("statistic", 0), ("status", 0), ("definition", 0), ("other", 0)];
        let sockets = Line::ALL.map(socket).to_vec();
        let view = self.handler.view();
        let recovery = self.books.as_ref().unwrap_or(view.recovery);
        let facts = Facts { sockets, view: HandlerView { recovery, ..view }, events };
        self.tap.publish(monotonic_ns(), &facts);
    }
}

/// Returns a message of template 1.
pub const fn message(n: u8) -> [u8; 3] {
    [0xC0, 0x81, 0x80 | n]
}

pub struct Served {
    // Dropped first, because it uses the monitor.
    pub server: HttpServer,
    _monitor: Monitor,
}

pub fn serve(builder: MonitorBuilder, token: Option<BearerToken>) -> Served {
    let monitor = builder.start().unwrap();
    let routes = monitor.routes(token, Metrics::new().routes());
    let server = HttpServer::serve("0".parse().unwrap(), routes).unwrap();
    Served { server, _monitor: monitor }
}

/// Returns a token that no other test uses.
pub fn token(name: &str) -> BearerToken {
    let folder = std::env::temp_dir().join(format!("tickwire-token-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let token = BearerToken::of_file(&folder.join("token")).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    token
}

/// Returns a feed that has received some packets, and its monitor.
pub fn feed() -> (Feed, Served) {
    let mut builder = MonitorBuilder::new("test", "0.0.0");
    let mut feed = Feed::new(&mut builder);
    let served = serve(builder, None);
    for number in 1..=3 {
        feed.receive(Line::A, number, &message(number));
        feed.receive(Line::B, number, &message(number));
    }
    feed.publish();
    (feed, served)
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// Sends the bytes of a request and reads the answer to its end.
pub fn send(address: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // A server that refuses the request may close the connection before all is sent.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { unchunked(body) } else { body.to_owned() };
    Answer { status, head: head.to_ascii_lowercase(), body }
}

fn unchunked(mut text: &str) -> String {
    let mut out = String::new();
    while let Some((len, rest)) = text.split_once("\r\n") {
        let len = usize::from_str_radix(len, 16).unwrap_or(0);
        out.push_str(rest.get(..len).unwrap_or_default());
        text = rest.get(len + 2..).unwrap_or_default();
    }
    out
}

pub fn get_with(address: SocketAddr, path: &str, headers: &str) -> Answer {
    send(address, format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n").as_bytes())
}

pub fn get(address: SocketAddr, path: &str) -> Answer {
    get_with(address, path, "")
}

pub fn post(address: SocketAddr, path: &str, headers: &str, body: &str) -> Answer {
    let len = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len}\r\n{headers}\r\n"
    );
    send(address, format!("{head}{body}").as_bytes())
}

/// Waits until the state fulfils a condition, and returns it.
pub fn wait(address: SocketAddr, is_met: impl Fn(&Value) -> bool) -> Value {
    wait_while(address, || (), is_met)
}

/// As [`wait`], and calls `meanwhile` before each check.
pub fn wait_while(
    address: SocketAddr,
    mut meanwhile: impl FnMut(),
    is_met: impl Fn(&Value) -> bool,
) -> Value {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        meanwhile();
        let state = get(address, "/api/v1/state").json();
        if is_met(&state) {
            return state;
        }
        assert!(Instant::now() < end, "{state:#}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

//! FIX sessions: whatever a peer sends, the answers are well-formed and numbered in order.

use std::sync::OnceLock;

use tickwire_fix::{FixFramer, FramerStep, Precision, Reader, Tag, UtcTimestamp, Writer};
use tickwire_fix_session::{
    BeginString, Config, Dictionaries, Event, MemoryStore, Now, OutgoingHeader, Session, SessionId,
    SessionRole, Store,
};

const START: Now = Now { wall_ns: 1_700_000_000_000_000_000, steady_ns: 1 };
/// Maximum number of steps per input.
const STEPS_MAX: usize = 200;

/// The sessions that the first byte of an input selects from.
const SESSIONS: [(BeginString, SessionRole); 8] = [
    (BeginString::Fix44, SessionRole::Acceptor),
    (BeginString::Fix44, SessionRole::Acceptor),
    (BeginString::Fix40, SessionRole::Acceptor),
    (BeginString::Fix41, SessionRole::Acceptor),
    (BeginString::Fix42, SessionRole::Acceptor),
    (BeginString::Fix43, SessionRole::Initiator),
    (BeginString::Fixt11, SessionRole::Acceptor),
    (BeginString::Fixt11, SessionRole::Initiator),
];

fn dictionaries(version: BeginString) -> Dictionaries {
    static SHIPPED: [OnceLock<Dictionaries>; 6] = [const { OnceLock::new() }; 6];
    let load = || Dictionaries::shipped(version).expect("ships");
    SHIPPED[version as usize].get_or_init(load).clone()
}

/// Runs a session. Each line of the input is a step: the first byte determines how much time passes
/// and what else happens; the rest is received from the peer, with `|` as delimiter. A line that
/// continues with `35=` is framed with correct length and sum.
pub fn fix_session(data: &[u8]) {
    let Some((switches, rest)) = data.split_first() else { return };
    let (version, role) = SESSIONS[usize::from(switches >> 5)];
    let mut config = Config::new(role, SessionId::new(version, "US", "THEM"));
    config.default_appl_ver_id = Some("9".to_owned());
    config.reset_on_logon = switches & 1 != 0;
    config.next_expected_seq_num = switches & 2 != 0;
    config.resend_request_max = u64::from(switches >> 2 & 3);
    config.last_seq_num_processed = switches & 8 != 0;
    config.check_seq_nums = switches & 0b1101 != 0b1101;
    config.silence_permille = (switches & 3 != 3).then_some(2400);
    config.limits.held_max = 8;
    config.limits.message_len_max = 2048;
    config.limits.transmit_len_max = 512;
    config.limits.backlog_bytes_max = 4096;
    config.dictionaries = (switches & 16 != 0).then(|| dictionaries(version));
    let mut session = Session::new(config, MemoryStore::new());
    let mut answers = Answers::default();
    let mut now = START;
    session.handle_connected(now);
    for line in rest.split(|byte| *byte == b'\n').take(STEPS_MAX) {
        let Some((step, text)) = line.split_first() else { continue };
        now = now.plus(u64::from(step & 0x3F) * 250_000_000);
        session.handle_timeout(now);
        if step & 0x40 != 0 {
            // The session rejects the message if it is not logged on and a reset is pending; both results are
            // valid.
            let _ =
                session.send(now, &OutgoingHeader::new("B"), |writer| writer.str(Tag(148), "news"));
        }
        if step & 0x80 != 0 && text.is_empty() {
            session.handle_disconnected(now);
            answers = Answers::default();
            session.handle_connected(now);
        }
        session.handle_bytes(&as_bytes(version, text, now));
        while let Some(event) = session.poll_event(now) {
            if let Event::Application(mut delivery) = event {
                let _ = delivery
                    .send(&OutgoingHeader::new("B"), |writer| writer.str(Tag(148), "answer"));
            }
        }
        loop {
            let bytes = session.poll_transmit(now).expect("memory does not fail");
            if bytes.is_empty() {
                break;
            }
            let len = bytes.len();
            answers.check(bytes);
            session.handle_transmitted(len);
        }
        assert!(session.store().next_sender() >= 1 && session.store().next_target() >= 1);
    }
}

/// Returns the bytes of a line.
fn as_bytes(version: BeginString, text: &[u8], now: Now) -> Vec<u8> {
    let text: Vec<u8> = text.iter().map(|byte| if *byte == b'|' { 1 } else { *byte }).collect();
    let Some(body) = text.strip_prefix(b"35=") else { return text };
    let mut fields = body.split(|byte| *byte == 1);
    let msg_type = fields.next().and_then(|value| std::str::from_utf8(value).ok()).unwrap_or("0");
    let mut buffer = [0; 4096];
    let mut writer = Writer::new(&mut buffer, version.as_str(), msg_type);
    for field in fields.filter(|field| !field.is_empty()) {
        let at = field.iter().position(|byte| *byte == b'=').unwrap_or(field.len());
        let tag = std::str::from_utf8(&field[..at]).ok().and_then(|tag| tag.parse().ok());
        let value = field.get(at + 1..).unwrap_or_default();
        match (tag, value) {
            (Some(52), b"now") => writer.utc_timestamp(
                Tag(52),
                UtcTimestamp::from_unix_nanos(now.wall_ns),
                Precision::Millis,
            ),
            (tag, value) => writer.bytes(Tag(tag.unwrap_or(0)), value),
        }
    }
    writer.finish().map(<[u8]>::to_vec).unwrap_or_default()
}

/// The answers of the session.
#[derive(Default)]
struct Answers {
    last: Option<u64>,
    /// True if a Logout was sent: later application messages are only stored, and requested later.
    has_said_logout: bool,
}

impl Answers {
    fn check(&mut self, mut bytes: &[u8]) {
        let (mut framer, mut reader) = (FixFramer::default(), Reader::new());
        while !bytes.is_empty() {
            let FramerStep::Message(found) = framer.step(bytes) else {
                panic!("what is sent is no message: {}", String::from_utf8_lossy(bytes))
            };
            let message = reader.decode(found).expect("what is sent is whole");
            assert_eq!(message.fault(), None);
            let value = |tag| message.field(Tag(tag)).map(|field| field.value);
            let seq_num = message.field(Tag(34)).expect("a number").uint().expect("a number");
            let resets = value(35) == Some(b"A");
            if value(43) != Some(b"Y") {
                let follows = |last: u64| match self.has_said_logout {
                    true => seq_num > last,
                    false => seq_num == last + 1,
                };
                let fits = self.last.is_none_or(follows) || resets || seq_num == 1;
                assert!(fits || value(35) == Some(b"5"), "{seq_num} after {:?}", self.last);
                self.last = Some(seq_num);
                self.has_said_logout = !resets && (self.has_said_logout || value(35) == Some(b"5"));
            } else if value(35) == Some(b"4") {
                let new = message.field(Tag(36)).expect("a number").uint().expect("a number");
                assert!(new > seq_num, "a gap fill that fills nothing");
                self.last = self.last.map(|last| last.max(new - 1));
            }
            bytes = &bytes[found.len()..];
        }
    }
}

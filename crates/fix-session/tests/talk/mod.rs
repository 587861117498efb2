//! A session and a peer that sends messages as text, for tests of single rules.
#![allow(dead_code)]

use std::sync::OnceLock;

use tickwire_fix::{BusinessRejectReason, FixFramer, FramerStep, Reader};
use tickwire_fix_session::{
    BeginString, Config, Dictionaries, DisconnectReason, Event, MemoryStore, Now, Session,
    SessionEvent, SessionId, SessionRole, Store,
};

pub const NOW: Now = Now { wall_ns: 1_709_210_096_789_000_000, steady_ns: 1 };
pub const TIME: &str = "20240229-12:34:56";

/// Returns the dictionaries of a version, loaded once for all tests.
fn dictionaries(version: BeginString) -> Dictionaries {
    static LOADED: [OnceLock<Dictionaries>; 6] = [const { OnceLock::new() }; 6];
    let load = || Dictionaries::shipped(version).expect("loads");
    LOADED[version as usize].get_or_init(load).clone()
}

/// A session and its peer.
pub struct Talk {
    pub version: BeginString,
    pub session: Session<MemoryStore>,
    /// The current time.
    pub now: Now,
    /// Events of the session.
    pub notices: Vec<SessionEvent>,
    /// The text with which the application refuses Logons; `None` accepts all.
    pub refusal: Option<&'static str>,
}

/// Returns each message of the session as text: its fields without frame, CompIDs, MsgSeqNum and,
/// unless `with_times`, SendingTime and OrigSendingTime.
fn readable(bytes: &[u8], with_times: bool) -> Vec<String> {
    let (mut framer, mut reader) = (FixFramer::default(), Reader::new());
    let (mut messages, mut at) = (Vec::new(), 0);
    while let FramerStep::Message(found) = framer.step(&bytes[at..]) {
        let message = reader.decode(found).expect("whole");
        let text = |at| {
            let field = message.field_at(at).expect("there");
            (field.tag.0, format!("{}={}", field.tag, String::from_utf8_lossy(field.value)))
        };
        let is_told = |tag: u32| !matches!(tag, 8..=10 | 34 | 49 | 52 | 56 | 122);
        let fields = (0..message.len()).map(text);
        let fields =
            fields.filter(|(tag, _)| is_told(*tag) || with_times && matches!(tag, 52 | 122));
        messages.push(fields.map(|(_, text)| text).collect::<Vec<_>>().join("|"));
        at += found.len();
    }
    messages
}

impl Talk {
    pub fn new(version: BeginString, role: SessionRole, tweak: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(role, SessionId::new(version, "HERE", "THERE"));
        config.dictionaries = Some(dictionaries(version));
        config.default_appl_ver_id = Some("9".to_owned());
        tweak(&mut config);
        let mut session = Session::new(config, MemoryStore::new());
        session.handle_connected(NOW);
        Self { version, session, now: NOW, notices: Vec::new(), refusal: None }
    }

    pub fn logged_on(version: BeginString) -> Self {
        Self::logged_on_with(version, |_| {})
    }

    pub fn logged_on_with(version: BeginString, tweak: impl FnOnce(&mut Config)) -> Self {
        let mut talk = Self::new(version, SessionRole::Acceptor, tweak);
        let logon = talk.say(1, "A", talk.logon());
        assert_eq!(logon.len(), 1, "{logon:?}");
        talk
    }

    const fn logon(&self) -> &'static str {
        match self.version {
            BeginString::Fixt11 => "98=0|108=30|1137=9|",
            _ => "98=0|108=30|",
        }
    }

    /// Handles a message of the peer and returns the answers. `body` may begin with further header
    /// fields.
    pub fn say(&mut self, seq_num: u64, msg_type: &str, body: &str) -> Vec<String> {
        self.handle(seq_num, msg_type, body);
        self.answers(false)
    }

    pub fn handle(&mut self, seq_num: u64, msg_type: &str, body: &str) {
        self.handle_from("THERE", TIME, seq_num, msg_type, body);
    }

    /// Handles a message with this SenderCompID and SendingTime.
    pub fn handle_from(
        &mut self,
        sender: &str,
        time: &str,
        seq_num: u64,
        msg_type: &str,
        body: &str,
    ) {
        let bytes = self.message_from(sender, time, seq_num, msg_type, body);
        self.handle_bytes(&bytes);
    }

    /// Returns a message of the peer as bytes.
    pub fn message(&self, seq_num: u64, msg_type: &str, body: &str) -> Vec<u8> {
        self.message_from("THERE", TIME, seq_num, msg_type, body)
    }

    fn message_from(
        &self,
        sender: &str,
        time: &str,
        seq_num: u64,
        msg_type: &str,
        body: &str,
    ) -> Vec<u8> {
        let head = format!("35={msg_type}|34={seq_num}|49={sender}|52={time}|56=HERE|");
        let body = (head + body).replace('|', "\u{1}");
        let version = self.version.as_str();
        let mut bytes = format!("8={version}\u{1}9={}\u{1}{body}", body.len()).into_bytes();
        let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
        bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
        bytes
    }

    /// Handles received bytes.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.session.handle_bytes(bytes);
        while let Some(event) = self.session.poll_event(self.now) {
            match event {
                Event::Application(mut delivery) => {
                    let reason = BusinessRejectReason::UnsupportedMessageType;
                    delivery.reject_business(reason, Some(b"my id"), None).expect("answers");
                }
                Event::Session(notice) => self.notices.push(notice),
                Event::Logon(request) => match self.refusal {
                    None => request.accept(),
                    Some(text) => request.refuse(text),
                },
            }
        }
    }

    /// Returns the MsgSeqNum of the next message to send and of the next one expected.
    pub fn numbers(&self) -> (u64, u64) {
        let store = self.session.store();
        (store.next_sender(), store.next_target())
    }

    /// Returns the reasons of disconnections since the last call.
    pub fn disconnects(&mut self) -> Vec<DisconnectReason> {
        let mut found = Vec::new();
        while let Some(event) = self.session.poll_event(NOW) {
            if let Event::Session(SessionEvent::Disconnect(why)) = event {
                found.push(why);
            }
        }
        found
    }

    pub fn answers(&mut self, with_times: bool) -> Vec<String> {
        let bytes = self.session.poll_transmit(self.now).expect("commits").to_vec();
        self.session.handle_transmitted(bytes.len());
        readable(&bytes, with_times)
    }
}

//! One TCP connection of a replay client.

use super::reply::{ReplyHeader, frame};
use super::{FIX_BYTES_MAX, LogoutReason, ReplayServer};
use tickwire_fix::{FixFramer, FixLimits, FixMessage, FramerStep, Reader, Tag};

const SENDER_COMP_ID: Tag = Tag::SENDER_COMP_ID;
const HEART_BT_INT: Tag = Tag(108);
const USERNAME: Tag = Tag(553);
const PASSWORD: Tag = Tag(554);
const APPL_BEG_SEQ_NUM: Tag = Tag(1182);
const APPL_END_SEQ_NUM: Tag = Tag(1183);

/// The next message that the server expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerState {
    Logon,
    Request,
    Logout,
    Closed,
}

/// The request in one message of the client.
enum ClientRequest {
    Nothing,
    Logon,
    Replay { first: u64, last: u64 },
    Logout,
    Refused(LogoutReason),
}

/// The server's side of one TCP connection. See the [module](super).
#[derive(Debug)]
pub struct ReplayConnection {
    state: ServerState,
    framer: FixFramer,
    reader: Reader,
    received: Vec<u8>,
    to_send: Vec<u8>,
    reply: ReplyHeader,
}

impl ReplayConnection {
    pub(super) fn new() -> Self {
        let limits = FixLimits { message_len_max: FIX_BYTES_MAX, ..FixLimits::default() };
        Self {
            state: ServerState::Logon,
            framer: FixFramer::new(limits),
            reader: Reader::new().limits(limits),
            received: Vec::new(),
            to_send: Vec::new(),
            reply: ReplyHeader::default(),
        }
    }

    /// Takes bytes from the client at `now_ns`, nanoseconds since 1970.
    pub fn handle_bytes(&mut self, now_ns: u64, server: &mut ReplayServer, bytes: &[u8]) {
        self.reply.now_ns = now_ns;
        self.received.extend_from_slice(bytes);
        while self.state != ServerState::Closed {
            let received = std::mem::take(&mut self.received);
            let (consumed, goes_on) = self.step(server, &received);
            self.received = received;
            self.received.drain(..consumed);
            if !goes_on {
                return;
            }
        }
    }

    /// Returns the bytes to send to the client, each once; empty if there are none.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.to_send)
    }

    /// True if the server closes the connection after the bytes of
    /// [`take_bytes`](Self::take_bytes).
    pub fn is_closed(&self) -> bool {
        self.state == ServerState::Closed
    }

    /// Processes the start of `received`. Returns the number of bytes consumed, and true if more
    /// may follow.
    fn step(&mut self, server: &mut ReplayServer, received: &[u8]) -> (usize, bool) {
        match self.framer.step(received) {
            FramerStep::NeedMore(_) => (0, false),
            FramerStep::Garbage(len) => {
                // For empty input the framer returns garbage of zero bytes: nothing to refuse.
                if len > 0 {
                    self.refuse(server, LogoutReason::Malformed);
                }
                (len, len > 0)
            }
            FramerStep::Message(bytes) => {
                self.message(server, bytes);
                (bytes.len(), true)
            }
        }
    }

    fn message(&mut self, server: &mut ReplayServer, bytes: &[u8]) {
        let asked = match self.reader.decode(bytes) {
            Ok(message) => {
                self.reply.address(&message, &server.options.comp_id);
                asked(self.state, &message, server)
            }
            Err(_) => ClientRequest::Refused(LogoutReason::Malformed),
        };
        match asked {
            ClientRequest::Nothing => {}
            ClientRequest::Logon => {
                server.counters.logons += 1;
                self.reply.logon(&mut self.to_send);
                self.state = ServerState::Request;
            }
            ClientRequest::Replay { first, last } => match server.request(first, last) {
                Ok(found) => self.replay(server, &found),
                Err(reason) => self.refuse(server, reason),
            },
            ClientRequest::Logout => self.state = ServerState::Closed,
            ClientRequest::Refused(reason) => self.refuse(server, reason),
        }
    }

    /// Sends the frames and the Logout, or breaks the connection at a random byte of the frames.
    fn replay(&mut self, server: &mut ReplayServer, found: &[Vec<u8>]) {
        let mut frames = Vec::new();
        found.iter().for_each(|fast| frame(&mut frames, fast));
        if server.random.f64() < server.options.disconnect {
            frames.truncate(server.random.usize(0..frames.len()));
            self.to_send.extend_from_slice(&frames);
            server.counters.disconnects += 1;
            self.state = ServerState::Closed;
            return;
        }
        self.to_send.extend_from_slice(&frames);
        server.counters.frames += found.len() as u64;
        self.reply.logout(&mut self.to_send, LogoutReason::Complete);
        self.state = ServerState::Logout;
    }

    fn refuse(&mut self, server: &mut ReplayServer, reason: LogoutReason) {
        server.counters.refused += 1;
        self.reply.logout(&mut self.to_send, reason);
        self.state = ServerState::Closed;
    }
}

fn asked(state: ServerState, message: &FixMessage<'_, '_>, server: &ReplayServer) -> ClientRequest {
    match (state, message.msg_type()) {
        (ServerState::Logon, b"A") => logon(message, server),
        (ServerState::Request, b"V") => replay(message),
        (ServerState::Request | ServerState::Logout, b"5") => ClientRequest::Logout,
        (ServerState::Request | ServerState::Logout, b"0") => ClientRequest::Nothing,
        _ => ClientRequest::Refused(LogoutReason::Malformed),
    }
}

fn logon(message: &FixMessage<'_, '_>, server: &ReplayServer) -> ClientRequest {
    let text = |tag| message.field(tag).map(|field| field.value);
    let is_known_version = matches!(message.begin_string(), b"FIX.4.4" | b"FIXT.1.1");
    if !is_known_version || text(SENDER_COMP_ID).is_none() || text(HEART_BT_INT).is_none() {
        return ClientRequest::Refused(LogoutReason::Malformed);
    }
    let is_user = text(USERNAME) == Some(server.options.username.as_bytes())
        && text(PASSWORD) == Some(server.options.password.as_bytes());
    if is_user { ClientRequest::Logon } else { ClientRequest::Refused(LogoutReason::Credentials) }
}

fn replay(message: &FixMessage<'_, '_>) -> ClientRequest {
    let number = |tag| message.field(tag).and_then(|field| field.uint().ok());
    match (number(APPL_BEG_SEQ_NUM), number(APPL_END_SEQ_NUM)) {
        (Some(first), Some(last)) => ClientRequest::Replay { first, last },
        _ => ClientRequest::Refused(LogoutReason::Malformed),
    }
}

//! FIX messages and frames of a replay session.

use tickwire_fix::{
    FixFramer, FixLimits, FramerStep, Precision, Reader, Tag, UtcTimestamp, Writer,
};

use super::options::ReplayOptions;
use crate::arbiter::Gap;

/// Longest FIX message of a server, in bytes.
const FIX_BYTES_MAX: usize = 4_096;
/// Longest FAST message in a frame, in bytes.
pub const FRAME_BYTES_MAX: usize = 65_535;
/// Bytes of a frame's length.
const LENGTH_BYTES: usize = 4;
/// Requested HeartBtInt (108), in seconds: longer than a session takes.
const HEARTBEAT_SECONDS: u64 = 30;

const HEART_BT_INT: Tag = Tag(108);
const TEST_REQ_ID: Tag = Tag(112);
const SESSION_STATUS: Tag = Tag(1409);

/// Input from a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ServerInput {
    /// The FAST bytes of a packet.
    Frame(Vec<u8>),
    Logon,
    Logout {
        /// SessionStatus (1409).
        status: Option<u64>,
    },
    TestRequest {
        id: Vec<u8>,
    },
    /// A FIX message that needs no reaction.
    Other,
}

/// The bytes are neither a FIX message nor a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unexpected;

/// Unconsumed input from a server: less than one message, plus the bytes received last.
#[derive(Debug)]
pub(super) struct ServerStream {
    received: Vec<u8>,
    at: usize,
    framer: FixFramer,
    reader: Reader,
}

impl ServerStream {
    pub(super) fn new() -> Self {
        let limits = FixLimits { message_len_max: FIX_BYTES_MAX, ..FixLimits::default() };
        Self {
            received: Vec::new(),
            at: 0,
            framer: FixFramer::new(limits),
            reader: Reader::new().limits(limits),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.received.drain(..self.at);
        self.at = 0;
        self.received.extend_from_slice(bytes);
    }

    /// Returns the next complete item; `None` if more bytes are needed.
    pub(super) fn next(&mut self) -> Result<Option<ServerInput>, Unexpected> {
        let rest = &self.received[self.at..];
        match rest.first() {
            None => Ok(None),
            Some(0) => self.frame(),
            Some(_) => match self.framer.step(rest) {
                FramerStep::NeedMore(_) => Ok(None),
                FramerStep::Garbage(_) => Err(Unexpected),
                FramerStep::Message(bytes) => {
                    let item = message(&mut self.reader, bytes)?;
                    self.at += bytes.len();
                    Ok(Some(item))
                }
            },
        }
    }

    fn frame(&mut self) -> Result<Option<ServerInput>, Unexpected> {
        let rest = &self.received[self.at..];
        let Some((length, rest)) = rest.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let len = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| Unexpected)?;
        if len == 0 || len > FRAME_BYTES_MAX {
            return Err(Unexpected);
        }
        let Some(bytes) = rest.get(..len) else { return Ok(None) };
        let frame = bytes.to_vec();
        self.at += LENGTH_BYTES + len;
        Ok(Some(ServerInput::Frame(frame)))
    }
}

fn message(reader: &mut Reader, bytes: &[u8]) -> Result<ServerInput, Unexpected> {
    let message = reader.decode(bytes).map_err(|_| Unexpected)?;
    Ok(match message.msg_type() {
        b"A" => ServerInput::Logon,
        b"5" => {
            let status = message.field(SESSION_STATUS);
            ServerInput::Logout { status: status.and_then(|field| field.uint().ok()) }
        }
        b"1" => {
            let id = message.field(TEST_REQ_ID);
            ServerInput::TestRequest { id: id.map_or_else(Vec::new, |field| field.value.to_vec()) }
        }
        _ => ServerInput::Other,
    })
}

/// Writes the client's FIX messages.
#[derive(Debug, Default)]
pub(super) struct ClientMessages {
    seq_num: u64,
}

impl ClientMessages {
    pub(super) fn logon(&mut self, out: &mut Vec<u8>, options: &ReplayOptions, unix_ns: u64) {
        self.write(out, options, unix_ns, "A", |writer| {
            writer.uint(Tag(98), 0);
            writer.uint(HEART_BT_INT, HEARTBEAT_SECONDS);
            writer.boolean(Tag(141), true);
            writer.str(Tag(553), &options.username);
            writer.str(Tag(554), &options.password);
            if options.begin_string == "FIXT.1.1" {
                writer.uint(Tag(1137), 9);
            }
        });
    }

    pub(super) fn request(
        &mut self,
        out: &mut Vec<u8>,
        options: &ReplayOptions,
        unix_ns: u64,
        range: Gap,
    ) {
        self.write(out, options, unix_ns, "V", |writer| {
            if let Some(appl_id) = &options.appl_id {
                writer.str(Tag(1180), appl_id);
            }
            writer.uint(Tag(1182), range.first);
            writer.uint(Tag(1183), range.last());
        });
    }

    pub(super) fn logout(&mut self, out: &mut Vec<u8>, options: &ReplayOptions, unix_ns: u64) {
        self.write(out, options, unix_ns, "5", |_| {});
    }

    pub(super) fn heartbeat(
        &mut self,
        out: &mut Vec<u8>,
        options: &ReplayOptions,
        unix_ns: u64,
        id: &[u8],
    ) {
        self.write(out, options, unix_ns, "0", |writer| writer.bytes(TEST_REQ_ID, id));
    }

    fn write(
        &mut self,
        out: &mut Vec<u8>,
        options: &ReplayOptions,
        unix_ns: u64,
        msg_type: &str,
        body: impl FnOnce(&mut Writer<'_>),
    ) {
        self.seq_num += 1;
        let texts = [
            &options.sender_comp_id,
            &options.target_comp_id,
            &options.username,
            &options.password,
        ];
        let texts_len: usize = texts.iter().map(|text| text.len()).sum();
        let appl_id_len = options.appl_id.as_ref().map_or(0, String::len);
        let mut buffer = vec![0; 2 * FIX_BYTES_MAX + texts_len + appl_id_len + Writer::OVERHEAD];
        let mut writer = Writer::new(&mut buffer, &options.begin_string, msg_type);
        writer.str(Tag::SENDER_COMP_ID, &options.sender_comp_id);
        writer.str(Tag::TARGET_COMP_ID, &options.target_comp_id);
        writer.uint(Tag::MSG_SEQ_NUM, self.seq_num);
        let time = UtcTimestamp::from_unix_nanos(unix_ns);
        writer.utc_timestamp(Tag::SENDING_TIME, time, Precision::Millis);
        body(&mut writer);
        // The buffer has room for all texts and a server's longest TestReqID; a message that still
        // does not fit is not sent, and the session times out.
        if let Ok(written) = writer.finish() {
            out.extend_from_slice(written);
        }
    }
}

//! FIX messages and frames that the server sends.

use super::{FIX_BYTES_MAX, LogoutReason};
use tickwire_fix::{FixMessage, Precision, Tag, UtcTimestamp, Writer};

const HEART_BT_INT: Tag = Tag(108);

/// Appends a FAST message with its length prefix.
pub(super) fn frame(out: &mut Vec<u8>, fast: &[u8]) {
    out.extend_from_slice(&(fast.len() as u32).to_be_bytes());
    out.extend_from_slice(fast);
}

/// Header of the server's FIX messages, derived from the client's messages.
#[derive(Debug)]
pub(super) struct ReplyHeader {
    /// Time of the last bytes received, nanoseconds since 1970.
    pub(super) now_ns: u64,
    begin_string: String,
    own_comp_id: String,
    client_comp_id: String,
    heart_bt_int: u64,
    seq_num: u64,
}

impl Default for ReplyHeader {
    /// Returns the header for a client whose messages could not be parsed.
    fn default() -> Self {
        Self {
            now_ns: 0,
            begin_string: "FIX.4.4".to_owned(),
            own_comp_id: "REPLAY".to_owned(),
            client_comp_id: "UNKNOWN".to_owned(),
            heart_bt_int: 0,
            seq_num: 0,
        }
    }
}

impl ReplyHeader {
    /// Takes BeginString, the client's CompID and its HeartBtInt from a message.
    pub(super) fn address(&mut self, message: &FixMessage<'_, '_>, own_comp_id: &str) {
        let text = |tag| message.field(tag).and_then(|field| field.str().ok());
        if let Ok(begin @ ("FIX.4.4" | "FIXT.1.1")) = str::from_utf8(message.begin_string()) {
            self.begin_string = begin.to_owned();
        }
        if let Some(client) = text(Tag::SENDER_COMP_ID) {
            self.client_comp_id = client.to_owned();
        }
        if let Some(seconds) = message.field(HEART_BT_INT).and_then(|field| field.uint().ok()) {
            self.heart_bt_int = seconds;
        }
        self.own_comp_id = own_comp_id.to_owned();
    }

    pub(super) fn logon(&mut self, out: &mut Vec<u8>) {
        let (heart_bt_int, is_fixt) = (self.heart_bt_int, self.begin_string == "FIXT.1.1");
        self.write(out, "A", |writer| {
            writer.uint(Tag(98), 0);
            writer.uint(HEART_BT_INT, heart_bt_int);
            writer.boolean(Tag(141), true);
            if is_fixt {
                writer.uint(Tag(1137), 9);
            }
        });
    }

    pub(super) fn logout(&mut self, out: &mut Vec<u8>, reason: LogoutReason) {
        self.write(out, "5", |writer| {
            writer.uint(Tag(1409), reason.code());
            writer.str(Tag(58), reason.text());
        });
    }

    /// Writes a message. It always fits: the CompIDs come from a message of at most
    /// [`FIX_BYTES_MAX`] bytes.
    fn write(&mut self, out: &mut Vec<u8>, msg_type: &str, body: impl FnOnce(&mut Writer<'_>)) {
        self.seq_num += 1;
        let mut buffer = vec![0; 2 * FIX_BYTES_MAX + self.own_comp_id.len() + Writer::OVERHEAD];
        let mut writer = Writer::new(&mut buffer, &self.begin_string, msg_type);
        writer.str(Tag::SENDER_COMP_ID, &self.own_comp_id);
        writer.str(Tag::TARGET_COMP_ID, &self.client_comp_id);
        writer.uint(Tag::MSG_SEQ_NUM, self.seq_num);
        let time = UtcTimestamp::from_unix_nanos(self.now_ns);
        writer.utc_timestamp(Tag::SENDING_TIME, time, Precision::Millis);
        body(&mut writer);
        let written = writer.finish().expect("CompIDs of bounded length fit the buffer");
        out.extend_from_slice(written);
    }
}

//! Sending: encodes messages, stores them and passes them to the output.

use tickwire_fix::{FixErrorKind, Tag, UtcTimestamp, Writer};

use super::admission::one_field;
use super::core::Core;
use super::event::{DisconnectReason, OutgoingHeader};
use super::header_check::check_head;
use super::hooks::before_new;
use super::transmit::Transmit;
use crate::config::Config;
use crate::error::SendError;
use crate::now::Now;
use crate::store::Store;
use crate::tags;

/// Initial length of the encoding buffer.
const SCRATCH_LEN: usize = 1024;

/// Most bytes that a resend adds to a message: PossDupFlag, OrigSendingTime, digits of BodyLength
/// and of LastMsgSeqNumProcessed.
const AGAIN_LEN: usize = 64;

/// Encodes a message into `scratch`, which grows up to the limit.
pub(super) fn encode<'b>(
    scratch: &'b mut Vec<u8>,
    config: &Config,
    mut write: impl FnMut(&mut [u8]) -> Result<(usize, usize), tickwire_fix::FixError>,
) -> Result<&'b [u8], SendError> {
    let len_max = config.limits.message_len_max.saturating_add(Writer::OVERHEAD);
    if scratch.is_empty() {
        scratch.resize(SCRATCH_LEN.min(len_max), 0);
    }
    loop {
        match write(scratch) {
            Ok((address, len)) => {
                let start = address.saturating_sub(scratch.as_ptr().addr());
                return Ok(scratch.get(start..start + len).unwrap_or_default());
            }
            Err(error) if error.kind == FixErrorKind::BufferFull && scratch.len() < len_max => {
                let len = scratch.len().saturating_mul(2).min(len_max);
                scratch.resize(len, 0);
            }
            Err(error) if error.kind == FixErrorKind::BufferFull => {
                return Err(SendError::MessageLength);
            }
            Err(_) => return Err(SendError::Value),
        }
    }
}

/// Finishes a message and returns its address and length, because it does not start at the start of
/// its buffer.
pub(super) fn finish(writer: Writer<'_>) -> Result<(usize, usize), tickwire_fix::FixError> {
    writer.finish().map(|message| (message.as_ptr().addr(), message.len()))
}

/// Header values that are not in the configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeaderStamp {
    pub now: Now,
    pub seq_num: u64,
    /// Original sending time; makes the message a possible duplicate.
    pub orig: Option<UtcTimestamp>,
    /// LastMsgSeqNumProcessed, if it is sent.
    pub last_processed: Option<u64>,
}

/// Encodes a new message of this session.
pub(super) fn encode_new<'b>(
    scratch: &'b mut Vec<u8>,
    config: &Config,
    stamp: &HeaderStamp,
    head: &OutgoingHeader<'_>,
    mut body: impl for<'w> FnMut(Writer<'w>) -> Writer<'w>,
) -> Result<&'b [u8], SendError> {
    encode(scratch, config, |out| {
        let mut writer = Writer::new(out, config.id.begin_string.as_str(), head.msg_type);
        write_header(&mut writer, config, stamp, head.fields);
        finish(body(writer))
    })
}

/// Writes the header fields after MsgType in ascending order, including the caller's.
fn write_header(
    writer: &mut Writer<'_>,
    config: &Config,
    stamp: &HeaderStamp,
    fields: &[(Tag, &[u8])],
) {
    let HeaderStamp { now, seq_num, orig, last_processed } = *stamp;
    let mut fields = fields.iter().peekable();
    let mut before = |writer: &mut Writer<'_>, limit: Tag| {
        while let Some((tag, value)) = fields.next_if(|(tag, _)| *tag < limit) {
            writer.bytes(*tag, value);
        }
    };
    writer.uint(Tag::MSG_SEQ_NUM, seq_num);
    if orig.is_some() {
        writer.boolean(tags::POSS_DUP_FLAG, true);
    }
    before(writer, Tag::SENDER_COMP_ID);
    writer.str(Tag::SENDER_COMP_ID, &config.id.sender_comp_id);
    if let Some(sub_id) = &config.sender_sub_id {
        writer.str(tags::SENDER_SUB_ID, sub_id);
    }
    before(writer, Tag::SENDING_TIME);
    let time = UtcTimestamp::from_unix_nanos(now.wall_ns);
    writer.utc_timestamp(Tag::SENDING_TIME, time, config.precision);
    before(writer, Tag::TARGET_COMP_ID);
    writer.str(Tag::TARGET_COMP_ID, &config.id.target_comp_id);
    if let Some(sub_id) = &config.target_sub_id {
        writer.str(tags::TARGET_SUB_ID, sub_id);
    }
    before(writer, tags::ORIG_SENDING_TIME);
    if let Some(orig) = orig {
        writer.utc_timestamp(tags::ORIG_SENDING_TIME, orig, config.precision);
    }
    let locations = [
        (tags::SENDER_LOCATION_ID, &config.sender_location_id),
        (tags::TARGET_LOCATION_ID, &config.target_location_id),
    ];
    for (tag, location) in locations {
        if let Some(location) = location {
            before(writer, tag);
            writer.str(tag, location);
        }
    }
    if let Some(seq_num) = last_processed {
        before(writer, tags::LAST_MSG_SEQ_NUM_PROCESSED);
        writer.uint(tags::LAST_MSG_SEQ_NUM_PROCESSED, seq_num);
    }
    before(writer, Tag(u32::MAX));
}

impl<S: Store> Core<S> {
    /// Sends a message of the application.
    pub(super) fn send(
        &mut self,
        now: Now,
        head: &OutgoingHeader<'_>,
        body: impl for<'w> FnMut(Writer<'w>) -> Writer<'w>,
    ) -> Result<u64, SendError> {
        check_head(&self.config, head)?;
        let logged_on = self.is_logged_on();
        let keeps = self.config.persist_messages;
        if !logged_on && (self.config.resets() || !keeps) {
            return Err(SendError::NotLoggedOn);
        }
        if self.is_reset_open && self.store.next_sender() == 1 {
            // Number 1 is reserved for the Logon that will tell the peer of the reset.
            self.store.set_next_sender(2)?;
        }
        let seq_num = self.store.next_sender();
        // Until the peer has reset too, it would take our new numbers for old ones. If the reset
        // must be announced again, the peer must not have received messages after the first
        // announcement.
        let lags = self.awaits_reset() || self.transmit.lags(self.config.limits.transmit_len_max);
        let waiting = self.transmit.backlog(seq_num);
        let limits = &self.config.limits;
        let is_full =
            waiting >= limits.backlog_max || self.transmit.lag_bytes >= limits.backlog_bytes_max;
        if lags && (!keeps || is_full) {
            return Err(SendError::QueueFull);
        }
        let stamp = HeaderStamp { now, seq_num, orig: None, last_processed: self.last_processed() };
        let Self { transmit, store, config, counters, replay_reader, .. } = self;
        let started = config.codec_clock.map(|clock| (clock, clock()));
        let Transmit { scratch, made, out, log, .. } = transmit;
        let message = encode_new(scratch, config, &stamp, head, body)?;
        let message = before_new(config, replay_reader, false, message, made)?;
        // It must also fit when it is resent.
        if message.len() + AGAIN_LEN > config.limits.message_len_max {
            return Err(SendError::MessageLength);
        }
        if let Some((clock, started)) = started {
            counters.encode_ns += clock().saturating_sub(started);
        }
        let stored = match keeps {
            true => store.append(message),
            false => store.set_next_sender(seq_num.saturating_add(1)),
        };
        if let Err(error) = stored {
            self.store_failed(&error);
            return Err(error.into());
        }
        self.counters.sent += 1;
        if logged_on && !lags {
            Transmit::push(out, log, now, message);
        } else if self.sent_logon && self.sent_logout_ns.is_none() {
            let len = message.len();
            transmit.lag_from(seq_num, len);
        }
        self.last_sent_ns = now.steady_ns;
        Ok(seq_num)
    }

    /// Sends a session message and records a failure of the store.
    pub(super) fn send_admin(
        &mut self,
        now: Now,
        msg_type: &str,
        body: impl FnMut(&mut Writer<'_>),
    ) {
        let sent = self.send_admin_with(now, &OutgoingHeader::new(msg_type), body);
        self.note_unsent(sent);
    }

    /// Ends the session if a session message could not be sent.
    pub(super) fn note_unsent(&mut self, sent: Result<(), SendError>) {
        match sent {
            Ok(()) => {}
            Err(SendError::Store(error)) => self.store_failed(&error),
            Err(error) => self.close(DisconnectReason::Unsendable(error.to_string())),
        }
    }

    /// Sends a session message. It is not stored: a resend replaces it by a gap fill.
    pub(super) fn send_admin_with(
        &mut self,
        now: Now,
        head: &OutgoingHeader<'_>,
        body: impl FnMut(&mut Writer<'_>),
    ) -> Result<(), SendError> {
        let seq_num = self.store.next_sender();
        self.send_admin_as(now, seq_num, head, body)
    }

    /// As [`Self::send_admin_with`]; `seq_num` is the next number, or 1 for a Logon that repeats a
    /// reset.
    pub(super) fn send_admin_as(
        &mut self,
        now: Now,
        seq_num: u64,
        head: &OutgoingHeader<'_>,
        mut body: impl FnMut(&mut Writer<'_>),
    ) -> Result<(), SendError> {
        if !self.is_open() {
            return Ok(());
        }
        if self.is_reset_open && !self.awaits_reset() {
            // The numbers were reset after our Logout, so none of the new ones belongs to this
            // connection.
            return Ok(());
        }
        let passes = matches!(head.msg_type, "5" | "A");
        let lags = self.awaits_reset() || self.transmit.lags(self.config.limits.transmit_len_max);
        let waits = self.is_established() && !passes && lags;
        if waits && self.sent_logout_ns.is_some() {
            // The session is ending: no message is queued behind the Logout.
            return Ok(());
        }
        let stamp = HeaderStamp { now, seq_num, orig: None, last_processed: self.last_processed() };
        let Self { transmit, store, config, replay_reader, .. } = self;
        let Transmit { scratch, made, out, log, .. } = transmit;
        let message = encode_new(scratch, config, &stamp, head, |mut writer| {
            body(&mut writer);
            writer
        })?;
        let message = before_new(config, replay_reader, true, message, made)?;
        if seq_num == store.next_sender() {
            store.set_next_sender(seq_num.saturating_add(1))?;
        }
        if waits {
            let message = message.into();
            transmit.lag_with(seq_num, message);
        } else {
            Transmit::push(out, log, now, message);
        }
        self.counters.sent += 1;
        self.last_sent_ns = now.steady_ns;
        Ok(())
    }

    /// Sends a Heartbeat.
    ///
    /// Spec: FIX session layer, test cases 4a and 4b.
    pub(super) fn send_heartbeat(&mut self, now: Now, test_req_id: Option<&[u8]>) {
        self.send_admin(now, "0", |writer| {
            if let Some(id) = test_req_id {
                writer.bytes(tags::TEST_REQ_ID, id);
            }
        });
    }

    /// Sends a Test Request.
    ///
    /// Spec: FIX session layer, test case 6.
    pub(super) fn send_test_request(&mut self, now: Now, id: &[u8]) {
        if self.is_logged_on() {
            self.send_admin(now, "1", |writer| writer.bytes(tags::TEST_REQ_ID, id));
        }
    }

    /// Sends Logout, unless it was already sent.
    pub(super) fn send_logout(&mut self, now: Now, text: &[u8]) {
        if self.sent_logout_ns.is_some() {
            return;
        }
        self.send_admin(now, "5", |writer| {
            if !text.is_empty() {
                writer.bytes(tags::TEXT, text);
            }
        });
        self.sent_logout_ns = Some(now.steady_ns);
        // The Logout overtakes the queued messages.
        self.transmit.forget_lag();
    }

    pub(super) fn send_logout_if_logged_on(&mut self, now: Now) {
        if self.received_logon {
            self.send_logout(now, b"");
        }
    }

    /// Starts the logout on behalf of the application.
    pub(super) fn begin_logout(&mut self, now: Now, text: &str) {
        if !self.is_open() || self.sent_logout_ns.is_some() {
            return;
        }
        if self.is_logged_on() {
            self.send_logout(now, &one_field(text));
        } else {
            self.close(DisconnectReason::NotLoggedOn);
        }
    }
}

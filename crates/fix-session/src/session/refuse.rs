//! Rejects: the answers to messages that are not accepted.

use tickwire_fix::{
    BusinessRejectReason, FixError, FixErrorKind, FixMessage, SessionRejectReason, Tag,
};

use super::admission::Refusal;
use super::core::Core;
use super::event::{DisconnectReason, OutgoingHeader, SessionEvent};
use super::head::SessionHeader;
use crate::error::SendError;
use crate::id::BeginString;
use crate::now::Now;
use crate::store::Store;
use crate::tags;

/// Routing fields of a message, each with the corresponding field of the answer.
const ROUTES: [(Tag, Tag); 6] = [
    (tags::DELIVER_TO_COMP_ID, tags::ON_BEHALF_OF_COMP_ID),
    (tags::DELIVER_TO_SUB_ID, tags::ON_BEHALF_OF_SUB_ID),
    (tags::ON_BEHALF_OF_COMP_ID, tags::DELIVER_TO_COMP_ID),
    (tags::ON_BEHALF_OF_SUB_ID, tags::DELIVER_TO_SUB_ID),
    (tags::DELIVER_TO_LOCATION_ID, tags::ON_BEHALF_OF_LOCATION_ID),
    (tags::ON_BEHALF_OF_LOCATION_ID, tags::DELIVER_TO_LOCATION_ID),
];

/// Returns the routing fields of an answer, ascending by tag: those of the message that have a
/// value, with sender and target swapped.
///
/// Spec: FIX session layer, ReverseRoute of the acceptance suite.
fn reverse_route<'m>(message: &FixMessage<'m, '_>, version: BeginString) -> Vec<(Tag, &'m [u8])> {
    // Location ids were added with FIX 4.1.
    let known = if version >= BeginString::Fix41 { 6 } else { 4 };
    let mut route = Vec::new();
    for (from, to) in ROUTES.into_iter().take(known) {
        if let Some(field) = message.field(from).filter(|field| !field.value.is_empty()) {
            route.push((to, field.value));
        }
    }
    route.sort_by_key(|(tag, _)| *tag);
    route
}

/// True if a text can be used as a tag number in an answer.
fn is_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    matches!(digits.len(), 1..=10) && digits.iter().all(u8::is_ascii_digit)
}

impl<S: Store> Core<S> {
    /// Rejects a message that the reader or the validator found invalid.
    ///
    /// Spec: FIX session layer, test cases 14a to 14i.
    pub(super) fn refuse_invalid(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
        head: &SessionHeader<'_>,
        error: &FixError,
    ) {
        let Some(reason) = self.validator.checks().reason(error) else { return };
        let tag = match error.kind {
            FixErrorKind::MsgType => None,
            FixErrorKind::TagSyntax | FixErrorKind::FieldDelimiter => {
                let text = message.tag_text(error.offset);
                is_number(text).then(|| text.to_vec())
            }
            _ => error.tag.map(|tag| tag.to_string().into_bytes()),
        };
        self.refuse(now, message, head, reason, tag.as_deref());
    }

    /// Rejects a message: counts it as received if it was expected, and answers with a Reject.
    ///
    /// Before the Logon it closes the connection without an answer.
    pub(super) fn refuse(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
        head: &SessionHeader<'_>,
        reason: SessionRejectReason,
        tag: Option<&[u8]>,
    ) {
        let number = tag.and_then(|tag| std::str::from_utf8(tag).ok()?.parse().ok()).map(Tag);
        if !self.received_logon {
            return self.close_unanswered(message, head, reason, number);
        }
        let resets = matches!(message.msg_type(), b"A" | b"4");
        if !resets && self.is_due(head.seq_num) {
            self.count_received(head.seq_num);
        }
        if message.msg_type() == b"3" {
            // Rejecting a Reject could go on forever.
            let seq_num = head.seq_num;
            self.notices.push_back(SessionEvent::Invalid { seq_num, reason, tag: number });
            self.last_received_ns = now.steady_ns;
            return self.after_received(now);
        }
        match self.send_reject(now, message, head.seq_num, reason, tag) {
            Ok(()) => {}
            Err(SendError::Store(error)) => self.store_failed(&error),
            Err(error) => self.close(DisconnectReason::Unsendable(error.to_string())),
        }
        self.last_received_ns = now.steady_ns;
        self.after_received(now);
    }

    /// Closes a connection on which the peer has not logged on, and reports the fault of its Logon.
    fn close_unanswered(
        &mut self,
        message: &FixMessage<'_, '_>,
        head: &SessionHeader<'_>,
        reason: SessionRejectReason,
        tag: Option<Tag>,
    ) {
        if message.msg_type() != b"A" {
            return self.close(DisconnectReason::NotLoggedOn);
        }
        self.notices.push_back(SessionEvent::Invalid { seq_num: head.seq_num, reason, tag });
        self.close(DisconnectReason::LogonRefused(match reason {
            SessionRejectReason::SendingTimeAccuracy => Refusal::SendingTime,
            SessionRejectReason::CompId => Refusal::CompId,
            _ => Refusal::Invalid,
        }));
    }

    /// Sends a Reject in the form of the session's version.
    pub(super) fn send_reject(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
        seq_num: u64,
        reason: SessionRejectReason,
        tag: Option<&[u8]>,
    ) -> Result<(), SendError> {
        let version = self.config.id.begin_string;
        let with_codes = version >= BeginString::Fix42;
        // FIX 4.2 has no SessionRejectReason above 11.
        let with_reason = version > BeginString::Fix42 || with_codes && reason.code() <= 11;
        let mut text = reason.text().as_bytes().to_vec();
        if let Some(tag) = tag.filter(|_| !with_codes) {
            text.extend_from_slice(b" (");
            text.extend_from_slice(tag);
            text.push(b')');
        }
        self.counters.rejected += 1;
        let number = tag.and_then(|tag| std::str::from_utf8(tag).ok()?.parse().ok());
        self.notices.push_back(SessionEvent::Rejected { seq_num, reason, tag: number.map(Tag) });
        let route = reverse_route(message, version);
        let head = OutgoingHeader { msg_type: "3", fields: &route };
        let msg_type = message.msg_type();
        self.send_admin_with(now, &head, |writer| {
            writer.uint(tags::REF_SEQ_NUM, seq_num);
            writer.bytes(tags::TEXT, &text);
            if with_codes {
                if let Some(tag) = tag {
                    writer.bytes(tags::REF_TAG_ID, tag);
                }
                if !msg_type.is_empty() {
                    writer.bytes(tags::REF_MSG_TYPE, msg_type);
                }
            }
            if with_reason {
                writer.uint(tags::SESSION_REJECT_REASON, u64::from(reason.code()));
            }
        })
    }

    /// Sends a Business Message Reject, or a Reject in versions that have none.
    ///
    /// Spec: FIX session layer, test case 2r (MsgType not supported).
    pub(super) fn reject_business(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
        seq_num: u64,
        reason: BusinessRejectReason,
        (ref_id, text): (Option<&[u8]>, Option<&str>),
    ) -> Result<(), SendError> {
        self.counters.rejected += 1;
        let version = self.config.id.begin_string;
        let route = reverse_route(message, version);
        if version < BeginString::Fix42 {
            let text = text.unwrap_or(match reason {
                BusinessRejectReason::UnsupportedMessageType => "Unsupported message type",
                reason => reason.text(),
            });
            let head = OutgoingHeader { msg_type: "3", fields: &route };
            return self.send_admin_with(now, &head, |writer| {
                writer.uint(tags::REF_SEQ_NUM, seq_num);
                writer.str(tags::TEXT, text);
            });
        }
        let msg_type = message.msg_type();
        let ref_id = ref_id.filter(|id| !id.is_empty());
        let head = OutgoingHeader { msg_type: "j", fields: &route };
        let version = self.appl_ver_id.clone().filter(|_| self.config.business_reject_version);
        let sent = self.send(now, &head, |mut writer| {
            writer.uint(tags::REF_SEQ_NUM, seq_num);
            writer.str(tags::TEXT, text.unwrap_or_else(|| reason.text()));
            writer.bytes(tags::REF_MSG_TYPE, msg_type);
            if let Some(id) = ref_id {
                writer.text(tags::BUSINESS_REJECT_REF_ID, id);
            }
            writer.uint(tags::BUSINESS_REJECT_REASON, u64::from(reason.code()));
            if let Some(version) = &version {
                writer.bytes(tags::DEFAULT_APPL_VER_ID, version);
            }
            writer
        });
        sent.map(drop)
    }
}

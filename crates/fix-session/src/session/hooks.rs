//! Hooks: the application changes messages before they are sent, and sees received session
//! messages.

use std::fmt;

use tickwire_fix::reader::SOH;
use tickwire_fix::{FixMessage, Reader, Tag};

use super::assemble::{frame, push};
use super::head::is_header;
use crate::config::Config;
use crate::error::SendError;
use crate::id::SessionId;

/// A message that is about to be sent.
#[derive(Debug)]
pub struct OutgoingMessage<'a> {
    /// The session.
    pub id: &'a SessionId,
    /// The message as it would be sent: header with MsgSeqNum and SendingTime, and body.
    pub message: FixMessage<'a, 'a>,
    /// True if the peer requested a resend of this message.
    pub is_resend: bool,
}

/// Decision of a hook on whether a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendDecision {
    /// The message is sent.
    Send,
    /// The message is not sent. A new message uses no sequence number, and sending it returns
    /// [`crate::SendError::Withheld`]; a resend is replaced by a gap fill.
    Withhold,
}

/// Fields to add to a message; they replace existing fields with the same tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdditionalFields {
    fields: Vec<(Tag, Vec<u8>)>,
    /// The first tag that cannot be added.
    wrong: Option<Tag>,
}

impl AdditionalFields {
    /// Adds a field of the body.
    pub fn text(&mut self, tag: Tag, value: impl AsRef<[u8]>) {
        let value = value.as_ref();
        if value.is_empty() || value.contains(&SOH) {
            self.wrong.get_or_insert(tag);
        }
        self.add(tag, value);
    }

    /// Adds a data field with its length field, for example RawDataLength (95) and RawData (96).
    pub fn data(&mut self, length: Tag, data: Tag, value: &[u8]) {
        if value.is_empty() {
            self.wrong.get_or_insert(data);
        }
        self.add(length, value.len().to_string().as_bytes());
        self.add(data, value);
    }

    fn add(&mut self, tag: Tag, value: &[u8]) {
        if is_header(tag.0) || tag == Tag::CHECK_SUM {
            self.wrong.get_or_insert(tag);
        }
        self.fields.retain(|(known, _)| *known != tag);
        self.fields.push((tag, value.to_vec()));
    }
}

/// Hooks of the application for messages. Called on the session's thread while a message is
/// assembled: they must not block, and see only the message.
pub trait Hooks: fmt::Debug + Send + Sync {
    /// Called before a session message (Logon, Heartbeat, Logout and so on) is sent, for example to
    /// sign a Logon. QuickFIX: `toAdmin`.
    fn before_admin(&self, outgoing: &OutgoingMessage<'_>, added: &mut AdditionalFields) {
        let _ = (outgoing, added);
    }

    /// Called before an application message is sent or resent. Fields can be added to new messages
    /// only. QuickFIX: `toApp`.
    fn before_application(
        &self,
        outgoing: &OutgoingMessage<'_>,
        added: &mut AdditionalFields,
    ) -> SendDecision {
        let _ = (outgoing, added);
        SendDecision::Send
    }

    /// Called once for each valid session message with an acceptable MsgSeqNum, before the session
    /// handles it. An error ends the session with a Logout of that text. Not called for an
    /// acceptor's first Logon, on which the application decides elsewhere. QuickFIX: `fromAdmin`.
    ///
    /// # Errors
    /// The text of the Logout.
    fn admin_received(&self, id: &SessionId, message: &FixMessage<'_, '_>) -> Result<(), String> {
        let _ = (id, message);
        Ok(())
    }
}

/// Runs the hooks on a new message. Returns the message to send, in `draft` or `out`.
pub(super) fn before_new<'b>(
    config: &Config,
    reader: &mut Reader,
    is_admin: bool,
    draft: &'b [u8],
    out: &'b mut Vec<u8>,
) -> Result<&'b [u8], SendError> {
    let Some(hooks) = &config.hooks else { return Ok(draft) };
    let message = reader.decode(draft).map_err(|_| SendError::Value)?;
    let outgoing = OutgoingMessage { id: &config.id, message, is_resend: false };
    let mut added = AdditionalFields::default();
    if is_admin {
        hooks.before_admin(&outgoing, &mut added);
    } else if hooks.before_application(&outgoing, &mut added) == SendDecision::Withhold {
        return Err(SendError::Withheld);
    }
    if let Some(tag) = added.wrong {
        return Err(SendError::Header(tag));
    }
    if added.fields.is_empty() {
        return Ok(draft);
    }
    let mut content = Vec::with_capacity(draft.len());
    for index in 2..message.len().saturating_sub(1) {
        let Some(field) = message.field_at(index) else { continue };
        if !added.fields.iter().any(|(tag, _)| *tag == field.tag) {
            push(&mut content, field.tag, field.value);
        }
    }
    added.fields.iter().for_each(|(tag, value)| push(&mut content, *tag, value));
    frame(out, config.id.begin_string.as_str(), &content);
    Ok(out)
}

/// Asks the hooks whether a message may be resent.
pub(super) fn may_go_again(config: &Config, message: &FixMessage<'_, '_>) -> bool {
    config.hooks.as_ref().is_none_or(|hooks| {
        let outgoing = OutgoingMessage { id: &config.id, message: *message, is_resend: true };
        hooks.before_application(&outgoing, &mut AdditionalFields::default()) == SendDecision::Send
    })
}

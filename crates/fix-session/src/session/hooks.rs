//! Hooks: what the application adds to messages before they leave, and hears of the session's messages
//! that arrive.

use std::fmt;

use tickwire_fix::reader::SOH;
use tickwire_fix::{Message, Reader, Tag};

use super::assemble::{frame, push};
use super::head::is_header;
use crate::config::Config;
use crate::error::SendError;
use crate::id::SessionId;

/// A message that is about to leave.
#[derive(Debug)]
pub struct Outgoing<'a> {
    /// The session.
    pub id: &'a SessionId,
    /// The message as it would leave: header with MsgSeqNum and SendingTime, and body.
    pub message: Message<'a, 'a>,
    /// True if the peer requested a resend of this message.
    pub is_resend: bool,
}

/// Decision of a hook on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Send,
    /// It is not: a new message uses no number and [`crate::SendError::Withheld`] tells of it, one that is to be
    /// sent again is gap-filled.
    Withhold,
}

/// Fields to add to a message. One that the message has is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Added {
    fields: Vec<(Tag, Vec<u8>)>,
    /// The first tag that cannot be added.
    wrong: Option<Tag>,
}

impl Added {
    /// Adds a field of the body.
    pub fn text(&mut self, tag: Tag, value: impl AsRef<[u8]>) {
        let value = value.as_ref();
        if value.is_empty() || value.contains(&SOH) {
            self.wrong.get_or_insert(tag);
        }
        self.add(tag, value);
    }

    /// Adds a data field with its length: RawDataLength (95) and RawData (96), for example.
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
    /// Before a message of the session leaves (Logon, Heartbeat, Logout and so on): the place to sign a
    /// Logon. QuickFIX: `toAdmin`.
    fn before_admin(&self, outgoing: &Outgoing<'_>, added: &mut Added) {
        let _ = (outgoing, added);
    }

    /// Before a message of the application leaves, for the first time or again; fields can be added to
    /// new messages only. QuickFIX: `toApp`.
    fn before_application(&self, outgoing: &Outgoing<'_>, added: &mut Added) -> Verdict {
        let _ = (outgoing, added);
        Verdict::Send
    }

    /// A message of the session has arrived, valid and with a number that may be, once for each; it is
    /// handled afterwards. An error ends the session with a Logout of that text. An acceptor's first Logon is
    /// not among them: the application decides on it elsewhere. QuickFIX: `fromAdmin`.
    ///
    /// # Errors
    /// The text of the Logout.
    fn admin_received(&self, id: &SessionId, message: &Message<'_, '_>) -> Result<(), String> {
        let _ = (id, message);
        Ok(())
    }
}

/// Lets hooks look at a new message and add to it. Returns the message that leaves, in `draft` or `out`.
pub(super) fn before_new<'b>(
    config: &Config,
    reader: &mut Reader,
    is_admin: bool,
    draft: &'b [u8],
    out: &'b mut Vec<u8>,
) -> Result<&'b [u8], SendError> {
    let Some(hooks) = &config.hooks else { return Ok(draft) };
    let message = reader.decode(draft).map_err(|_| SendError::Value)?;
    let outgoing = Outgoing { id: &config.id, message, is_resend: false };
    let mut added = Added::default();
    if is_admin {
        hooks.before_admin(&outgoing, &mut added);
    } else if hooks.before_application(&outgoing, &mut added) == Verdict::Withhold {
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

/// Asks hooks whether a message is sent again.
pub(super) fn may_go_again(config: &Config, message: &Message<'_, '_>) -> bool {
    config.hooks.as_ref().is_none_or(|hooks| {
        let outgoing = Outgoing { id: &config.id, message: *message, is_resend: true };
        hooks.before_application(&outgoing, &mut Added::default()) == Verdict::Send
    })
}

//! The suite's application: echoes the message types it knows and rejects all others.

use std::collections::{HashMap, HashSet};
use tickwire_fix::{BusinessRejectReason, Dictionary, FixMessage, Tag};
use tickwire_fix_engine::{Application, BoxStore, SessionKey};
use tickwire_fix_session::{
    ApplVersion, Dictionaries, MessageDelivery, OutgoingHeader, SessionEvent, Store,
};

const CL_ORD_ID: Tag = Tag(11);
const POSS_RESEND: Tag = Tag(97);
/// Maximum number of ClOrdIDs remembered per logon.
const ORDERS_MAX: usize = 1_000_000;

/// Echoes orders, security definitions and e-mails.
#[derive(Default)]
pub struct EchoApplication {
    /// True if a Reject before FIX 4.2 has the texts of later versions.
    pub spells_reasons: bool,
    /// ClOrdIDs that a session has seen in this logon.
    orders: HashMap<SessionKey, HashSet<Vec<u8>>>,
}

impl Application for EchoApplication {
    fn handle_message(&mut self, session: SessionKey, mut delivery: MessageDelivery<'_, BoxStore>) {
        let message = delivery.message;
        match message.msg_type() {
            b"D" => {
                let order = message.field(CL_ORD_ID).map_or(&[][..], |field| field.value);
                let seen = self.orders.entry(session).or_default();
                let is_new = seen.len() < ORDERS_MAX && seen.insert(order.to_vec());
                if is_new || !delivery.poss_resend {
                    echo(&mut delivery);
                }
            }
            b"C" | b"d" => echo(&mut delivery),
            _ => {
                let reason = BusinessRejectReason::UnsupportedMessageType;
                let text = self.spells_reasons.then(|| reason.text());
                // The session reports why a message could not be sent, and the suite has no such case.
                let _ = delivery.reject_business(reason, None, text);
            }
        }
    }

    fn handle_session_event(&mut self, session: SessionKey, notice: &SessionEvent) {
        if *notice == SessionEvent::LoggedOn {
            self.orders.remove(&session);
        }
    }
}

/// Sends a message back with its body in ascending order of tags. Entries of groups stay in their order after
/// their count.
fn echo<S: Store>(delivery: &mut MessageDelivery<'_, S>) {
    let message = delivery.message;
    let Ok(msg_type) = std::str::from_utf8(message.msg_type()) else { return };
    // A session from a settings file may have no dictionaries; the suite has no such session.
    let Some(dictionaries) = &delivery.config().dictionaries else { return };
    let dictionary = application_dictionary(&message, dictionaries);
    let body = body_of(&message, dictionaries, dictionary);
    let resend = message.field(POSS_RESEND).map(|field| (POSS_RESEND, field.value));
    let fields: Vec<_> = resend.into_iter().collect();
    let head = OutgoingHeader { msg_type, fields: &fields };
    let sent = delivery.send(&head, |writer| {
        for field in body.iter().flat_map(|(start, end)| *start..*end) {
            if let Some(field) = message.field_at(field) {
                writer.bytes(field.tag, field.value);
            }
        }
    });
    // A message that cannot be sent is lost with the session, which reports it.
    drop(sent);
}

/// Returns the dictionary that has the body of a message.
fn application_dictionary<'d>(
    message: &FixMessage<'_, '_>,
    dictionaries: &'d Dictionaries,
) -> &'d Dictionary {
    let said = message.field(Tag(1128)).and_then(|field| ApplVersion::parse(field.value));
    let mut candidates = dictionaries.application.iter();
    let found = match said {
        Some(said) => candidates.find(|(version, _)| *version == said),
        None => candidates.rfind(|(_, found)| found.message(message.msg_type()).is_some()),
    };
    found.map_or(&dictionaries.session, |(_, dictionary)| dictionary)
}

/// Returns ranges of fields, each a field of the body or a whole group, in ascending order of their first
/// tag.
fn body_of(
    message: &FixMessage<'_, '_>,
    dictionaries: &Dictionaries,
    dictionary: &Dictionary,
) -> Vec<(usize, usize)> {
    let session = &dictionaries.session;
    let is_frame = |tag: u32| {
        let mut members = session.header().iter().chain(session.trailer());
        members.any(|member| member.tag.0 == tag)
    };
    let tags = message.tags();
    let (mut body, mut at) = (Vec::new(), 0);
    while let Some(tag) = tags.get(at) {
        if is_frame(*tag) {
            at += 1;
            continue;
        }
        let entries = dictionary.entries(message, Tag(*tag));
        let end = entries.map_or(at + 1, |entries| entries.end().max(at + 1));
        body.push((at, end));
        at = end;
    }
    body.sort_by_key(|(start, _)| tags.get(*start).copied());
    body
}

//! Converts order messages: one sample per message, with ten or eleven fields.

use super::FillError;
use super::bind::TemplateFields;
use super::source::IntegerSource;
use crate::{Change, New, Quote, Remove};
use tickwire_fast::Record;

/// Flags for the members that only some samples have.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberFlags {
    volume_and_price: bool,
    side: bool,
}

pub(super) const QUOTE: MemberFlags = MemberFlags { volume_and_price: true, side: false };
pub(super) const NEW: MemberFlags = MemberFlags { volume_and_price: true, side: true };
pub(super) const CHANGE: MemberFlags = NEW;
pub(super) const REMOVE: MemberFlags = MemberFlags { volume_and_price: false, side: true };

/// The fields of one template.
#[derive(Debug)]
pub(super) struct OrderPlan {
    message_type: IntegerSource,
    sequence_number: IntegerSource,
    timestamp: IntegerSource,
    order_id: IntegerSource,
    volume: IntegerSource,
    price: IntegerSource,
    security_id: IntegerSource,
    exchange_id: IntegerSource,
    security_type: IntegerSource,
    session_id: IntegerSource,
    side: IntegerSource,
}

impl OrderPlan {
    pub(super) fn bind(fields: &mut TemplateFields<'_, '_>, members: MemberFlags) -> Self {
        let mut when = |has: bool, name| match has {
            true => fields.number(name),
            false => fields.unused(name),
        };
        Self {
            message_type: when(true, "MessageType"),
            sequence_number: when(true, "SequenceNumber"),
            timestamp: when(true, "Timestamp"),
            order_id: when(true, "OrderId"),
            volume: when(members.volume_and_price, "Volume"),
            price: when(members.volume_and_price, "Price"),
            security_id: when(true, "SecurityId"),
            exchange_id: when(true, "ExchangeId"),
            security_type: when(true, "SecurityType"),
            session_id: when(true, "SessionId"),
            side: when(members.side, "Side"),
        }
    }
}

/// Reads the members of a sample from the fields of the same names.
macro_rules! order_sample {
    ($method:ident, $sample:ident: $($member:ident)*) => {
        impl OrderPlan {
            #[inline]
            pub(super) fn $method(&self, record: &Record<'_>) -> Result<$sample, FillError> {
                Ok($sample { $($member: self.$member.read(record)?),* })
            }
        }
    };
}

order_sample!(quote, Quote: message_type sequence_number timestamp order_id volume price security_id
    exchange_id security_type session_id);
order_sample!(new_order, New: message_type sequence_number timestamp order_id volume price
    security_id exchange_id security_type session_id side);
order_sample!(change, Change: message_type sequence_number timestamp order_id volume price
    security_id exchange_id security_type session_id side);
order_sample!(remove, Remove: message_type sequence_number timestamp order_id security_id
    exchange_id security_type session_id side);

//! Order messages without key, 32 bytes or less, laid out as in `idl/Simple.idl`.

use super::Sample;

/// A quote.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Quote {
    /// Message type, 11 for this type.
    pub message_type: u16,
    /// Sequence number of the message in the feed.
    pub sequence_number: u32,
    /// Time in the units of the feed.
    pub timestamp: u32,
    /// Order that the message is about.
    pub order_id: u32,
    /// Size of the order.
    pub volume: u32,
    /// Price in ticks of the feed.
    pub price: u32,
    /// Security.
    pub security_id: u16,
    /// Exchange, one character.
    pub exchange_id: u8,
    /// Kind of security, one character.
    pub security_type: u8,
    /// Trading session, one character.
    pub session_id: u8,
}

impl Sample for Quote {
    const TYPE_NAME: &'static str = "MiddlewareNewsBrief::Quote";
    const TOPIC: &'static str = "Quote";

    fn key(&self) -> Option<u32> {
        None
    }
}

/// A new order.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct New {
    /// Message type, 12 for this type.
    pub message_type: u16,
    /// Sequence number of the message in the feed.
    pub sequence_number: u32,
    /// Time in the units of the feed.
    pub timestamp: u32,
    /// Order that the message is about.
    pub order_id: u32,
    /// Size of the order.
    pub volume: u32,
    /// Price in ticks of the feed.
    pub price: u32,
    /// Security.
    pub security_id: u16,
    /// Exchange, one character.
    pub exchange_id: u8,
    /// Kind of security, one character.
    pub security_type: u8,
    /// Trading session, one character.
    pub session_id: u8,
    /// Side of the book, one character.
    pub side: u8,
}

impl Sample for New {
    const TYPE_NAME: &'static str = "MiddlewareNewsBrief::New";
    const TOPIC: &'static str = "New";

    fn key(&self) -> Option<u32> {
        None
    }
}

/// A change of an order.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Change {
    /// Message type, 13 for this type.
    pub message_type: u16,
    /// Sequence number of the message in the feed.
    pub sequence_number: u32,
    /// Time in the units of the feed.
    pub timestamp: u32,
    /// Order that the message is about.
    pub order_id: u32,
    /// Size of the order.
    pub volume: u32,
    /// Price in ticks of the feed.
    pub price: u32,
    /// Security.
    pub security_id: u16,
    /// Exchange, one character.
    pub exchange_id: u8,
    /// Kind of security, one character.
    pub security_type: u8,
    /// Trading session, one character.
    pub session_id: u8,
    /// Side of the book, one character.
    pub side: u8,
}

impl Sample for Change {
    const TYPE_NAME: &'static str = "MiddlewareNewsBrief::Change";
    const TOPIC: &'static str = "Change";

    fn key(&self) -> Option<u32> {
        None
    }
}

/// The end of an order.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Remove {
    /// Message type, 14 for this type.
    pub message_type: u16,
    /// Sequence number of the message in the feed.
    pub sequence_number: u32,
    /// Time in the units of the feed.
    pub timestamp: u32,
    /// Order that the message is about.
    pub order_id: u32,
    /// Security.
    pub security_id: u16,
    /// Exchange, one character.
    pub exchange_id: u8,
    /// Kind of security, one character.
    pub security_type: u8,
    /// Trading session, one character.
    pub session_id: u8,
    /// Side of the book, one character.
    pub side: u8,
}

impl Sample for Remove {
    const TYPE_NAME: &'static str = "MiddlewareNewsBrief::Remove";
    const TOPIC: &'static str = "Remove";

    fn key(&self) -> Option<u32> {
        None
    }
}

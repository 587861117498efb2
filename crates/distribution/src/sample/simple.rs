//! Order messages as in `idl/Simple.idl`: no key, at most 32 bytes.

use super::Sample;
use crate::fields;

/// Defines one sample of `idl/Simple.idl`: the common members and, in brackets, those that not every sample has: volume
/// and price, and side.
macro_rules! order_message {
    (#[$doc:meta] $name:ident $type:literal, $number:literal, [$($volume:ident $price:ident)?] [$($side:ident)?]) => {
        #[$doc]
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $name {
            #[doc = concat!("Message type, ", $number, " for this type.")]
            pub message_type: u16,
            /// Sequence number of the message in the feed.
            pub sequence_number: u32,
            /// Time in the units of the feed.
            pub timestamp: u32,
            /// Order that the message is about.
            pub order_id: u32,
            $(
                /// Size of the order.
                pub $volume: u32,
                /// Price in ticks of the feed.
                pub $price: u32,
            )?
            /// Security.
            pub security_id: u16,
            /// Exchange, one character.
            pub exchange_id: u8,
            /// Kind of security, one character.
            pub security_type: u8,
            /// Trading session, one character.
            pub session_id: u8,
            $(
                /// Side of the book, one character.
                pub $side: u8,
            )?
        }

        fields!($type $name {
            ;
            message_type "MessageType",
            sequence_number "SequenceNumber",
            timestamp "Timestamp",
            order_id "OrderId",
            $($volume "Volume", $price "Price",)?
            security_id "SecurityId",
            exchange_id "ExchangeId" as Char,
            security_type "SecurityType" as Char,
            session_id "SessionId" as Char,
            $($side "Side" as Char,)?
        });

        impl Sample for $name {
            const TOPIC: &'static str = stringify!($name);
        }
    };
}

order_message!(#[doc = "A quote."] Quote "MiddlewareNewsBrief::Quote", 11, [volume price] []);
order_message!(#[doc = "A new order."] New "MiddlewareNewsBrief::New", 12, [volume price] [side]);
order_message!(#[doc = "A change of an order."] Change "MiddlewareNewsBrief::Change", 13, [volume price] [side]);
order_message!(
    #[doc = "The end of an order."]
    Remove "MiddlewareNewsBrief::Remove",
    14,
    [][side]
);

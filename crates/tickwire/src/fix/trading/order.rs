//! The order that the client sends.

use tickwire_fix::value::Decimal;
use tickwire_fix::{Message, Precision, Tag, TagText, UtcTimestamp, Writer};

const CL_ORD_ID: TagText = TagText::new(Tag(11));
const HANDL_INST: TagText = TagText::new(Tag(21));
const ORDER_QTY: TagText = TagText::new(Tag(38));
const ORD_TYPE: TagText = TagText::new(Tag(40));
const PRICE: TagText = TagText::new(Tag(44));
const SIDE: TagText = TagText::new(Tag(54));
const SYMBOL: TagText = TagText::new(Tag(55));
const TIME_IN_FORCE: TagText = TagText::new(Tag(59));
const TRANSACT_TIME: TagText = TagText::new(Tag(60));

/// What a ClOrdID begins with; a number follows.
const PREFIX: &str = "ord";

/// A fill-or-kill buy order with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// From 1, in the order of sending.
    pub number: u64,
    /// 1 to 10,000.
    pub quantity: u32,
    /// 1.000 to 500.000.
    pub price: Decimal,
}

impl Order {
    /// Makes the order with that number: the same for the same seed.
    pub fn seeded(seed: u64, number: u64) -> Self {
        let mut random =
            fastrand::Rng::with_seed(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let quantity = random.u32(1..=10_000);
        let price = Decimal::new(random.i64(1_000..=500_000), -3);
        Self { number, quantity, price }
    }

    /// Writes the body.
    pub fn write(&self, writer: &mut Writer<'_>, time: UtcTimestamp) {
        let mut id = itoa::Buffer::new();
        let mut text = [0; 24];
        let digits = id.format(self.number).as_bytes();
        let len = PREFIX.len() + digits.len();
        text[..PREFIX.len()].copy_from_slice(PREFIX.as_bytes());
        text[PREFIX.len()..len].copy_from_slice(digits);
        writer.bytes(CL_ORD_ID, &text[..len]);
        writer.char(HANDL_INST, b'1');
        writer.uint(ORDER_QTY, u64::from(self.quantity));
        writer.char(ORD_TYPE, b'2');
        writer.decimal(PRICE, self.price);
        writer.char(SIDE, b'1');
        writer.str(SYMBOL, "BHP");
        writer.char(TIME_IN_FORCE, b'4');
        writer.utc_timestamp(TRANSACT_TIME, time, Precision::Seconds);
    }
}

/// Returns the number in a ClOrdID of this client.
pub fn number_of(message: &Message<'_>) -> Option<u64> {
    let text = message.field(Tag(11))?.value;
    std::str::from_utf8(text).ok()?.strip_prefix(PREFIX)?.parse().ok()
}

/// An order as the server reads it.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedOrder<'m> {
    pub cl_ord_id: &'m [u8],
    pub symbol: &'m [u8],
    pub side: u8,
    pub ord_type: u8,
    pub time_in_force: u8,
    pub quantity: u64,
    pub price: Decimal,
    pub transact_time: &'m [u8],
}

impl<'m> ReceivedOrder<'m> {
    /// Reads an order; the tag is of the field that is missing or cannot be read.
    pub fn read(message: &Message<'m>) -> Result<Self, Tag> {
        let field = |tag: u32| message.field(Tag(tag)).ok_or(Tag(tag));
        let char = |tag: u32| field(tag)?.char().map_err(|_| Tag(tag));
        let price = match message.field(Tag(44)) {
            Some(price) => price.decimal().map_err(|_| Tag(44))?,
            None => Decimal::new(0, 0),
        };
        let time = field(60)?;
        time.utc_timestamp().map_err(|_| Tag(60))?;
        Ok(Self {
            cl_ord_id: field(11)?.value,
            symbol: field(55)?.value,
            side: char(54)?,
            ord_type: char(40)?,
            time_in_force: message.field(Tag(59)).and_then(|f| f.char().ok()).unwrap_or(b'0'),
            quantity: u64::try_from(field(38)?.decimal().map_err(|_| Tag(38))?.mantissa)
                .map_err(|_| Tag(38))?,
            price,
            transact_time: time.value,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_fix::Reader;

    #[test]
    fn an_order_is_read_as_it_is_written() {
        let order = Order::seeded(7, 4_711);
        assert_eq!(order, Order::seeded(7, 4_711));
        assert_ne!(order.price, Order::seeded(7, 4_712).price);
        let mut buffer = [0; 500];
        let mut writer = Writer::new(&mut buffer, "FIX.4.2", "D");
        order.write(&mut writer, UtcTimestamp::from_unix_nanos(1_545_909_643_000_000_000));
        let bytes = writer.finish().expect("room");
        let mut reader = Reader::new();
        let message = reader.decode(bytes).expect("whole");
        assert_eq!(number_of(&message), Some(4_711));
        let read = ReceivedOrder::read(&message).expect("all fields");
        assert_eq!((read.quantity, read.price), (u64::from(order.quantity), order.price));
        assert_eq!(read.transact_time, b"20181227-11:20:43");
    }
}

//! The order that the client sends.

use tickwire_fix::typed::{BODY_START, FixText, Room, TimeWithPrecision};
use tickwire_fix::{
    Checks, FixDecimal, FixMessage, Precision, SessionRejectReason, Tag, UtcTimestamp,
};
use tickwire_fix_messages::fix42::{
    HandlInst, Header, NewOrderSingle, NewOrderSingleRequired, OrdType, Side, TimeInForce,
};

/// Prefix of a ClOrdID; a number follows.
const PREFIX: &str = "ord";

/// A fill-or-kill buy order with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Number of the order, from 1 in the order of sending.
    pub number: u64,
    /// 1 to 10,000.
    pub quantity: u32,
    /// 1.000 to 500.000.
    pub price: FixDecimal,
}

impl Order {
    /// Creates the order with that number. The same seed gives the same order.
    pub fn seeded(seed: u64, number: u64) -> Self {
        let mut random =
            fastrand::Rng::with_seed(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let quantity = random.u32(1..=10_000);
        let price = FixDecimal::new(random.i64(1_000..=500_000), -3);
        Self { number, quantity, price }
    }

    /// Returns the message; its ClOrdID is the text in `id`.
    pub fn message<'m>(&self, id: &'m ClOrdId, time: UtcTimestamp) -> NewOrderSingle<'m> {
        let mut order = NewOrderSingle::new(NewOrderSingleRequired {
            cl_ord_id: FixText(id.as_bytes()),
            handl_inst: HandlInst::AutomatedExecutionOrderPrivateNoBrokerIntervention,
            symbol: FixText(b"BHP"),
            side: Side::Buy,
            transact_time: TimeWithPrecision::new(time, Precision::Seconds),
            ord_type: OrdType::Limit,
        });
        order
            .set_order_qty(FixDecimal::new(i64::from(self.quantity), 0))
            .set_price(self.price)
            .set_time_in_force(TimeInForce::FillOrKill);
        order
    }
}

/// The text of a ClOrdID.
#[derive(Clone, Copy, Debug)]
pub struct ClOrdId {
    text: [u8; 24],
    len: usize,
}

impl ClOrdId {
    /// Creates the id of the order with that number.
    pub fn new(number: u64) -> Self {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(number).as_bytes();
        let mut text = [0; 24];
        let len = PREFIX.len() + digits.len();
        text[..PREFIX.len()].copy_from_slice(PREFIX.as_bytes());
        text[PREFIX.len()..len].copy_from_slice(digits);
        Self { text, len }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.text[..self.len]
    }
}

/// Returns the number in a ClOrdID of this client.
pub fn number_of(cl_ord_id: &[u8]) -> Option<u64> {
    std::str::from_utf8(cl_ord_id).ok()?.strip_prefix(PREFIX)?.parse().ok()
}

/// Memory for an order that the server reads, including its header.
#[derive(Debug, Default)]
pub struct OrderRoom<'m> {
    header: Room<Header<'m>>,
    order: Room<NewOrderSingle<'m>>,
}

/// An order as the server reads it.
#[derive(Debug)]
pub struct ReceivedOrder<'r, 'm> {
    pub order: &'r NewOrderSingle<'m>,
    /// A whole number.
    pub quantity: u64,
}

impl<'m> OrderRoom<'m> {
    /// Reads every field of an order. The error is the reason for the reject.
    pub fn read<'r>(
        &'r mut self,
        message: &FixMessage<'m, '_>,
    ) -> Result<ReceivedOrder<'r, 'm>, (SessionRejectReason, Option<Tag>)> {
        const WRONG: (SessionRejectReason, Option<Tag>) =
            (SessionRejectReason::ValueIncorrect, Some(Tag(38)));
        let decoded = self.header.decode(message, BODY_START);
        let decoded = decoded.and_then(|(_, start)| self.order.decode(message, start));
        let (order, _) = decoded.map_err(|error| {
            let reason = Checks::default().reason(&error);
            (reason.unwrap_or(SessionRejectReason::ValueIncorrect), error.tag)
        })?;
        let quantity = order.order_qty().and_then(whole).filter(|quantity| *quantity > 0);
        Ok(ReceivedOrder { order, quantity: quantity.ok_or(WRONG)? })
    }
}

/// Returns a decimal as an integer; `None` if it has a fraction, is negative or exceeds 64 bits.
pub fn whole(value: FixDecimal) -> Option<u64> {
    let mut mantissa = u128::try_from(value.mantissa()).ok()?;
    if mantissa == 0 {
        return Some(0);
    }
    for _ in 0..value.exponent() {
        mantissa = mantissa.checked_mul(10)?;
    }
    for _ in value.exponent()..0 {
        if !mantissa.is_multiple_of(10) {
            return None;
        }
        mantissa /= 10;
    }
    u64::try_from(mantissa).ok()
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
        let time = UtcTimestamp::from_unix_nanos(1_545_909_643_000_000_000);
        let id = ClOrdId::new(order.number);
        let header = Header::new(
            "A".into(),
            "B".into(),
            1,
            TimeWithPrecision::new(time, Precision::Seconds),
        );
        let mut buffer = [0; 500];
        let bytes = order.message(&id, time).encode(&header, &mut buffer).expect("room");
        let mut reader = Reader::new();
        let message = reader.decode(bytes).expect("whole");
        let mut room = OrderRoom::default();
        let read = room.read(&message).expect("all fields");
        assert_eq!(number_of(read.order.cl_ord_id().as_bytes()), Some(4_711));
        assert_eq!(read.quantity, u64::from(order.quantity));
        assert_eq!(read.order.price(), Some(order.price));
        assert_eq!(read.order.transact_time().value, time);
    }

    #[test]
    fn quantities_are_whole() {
        let of = |mantissa, exponent| whole(FixDecimal::new(mantissa, exponent));
        assert_eq!((of(57, 0), of(5700, -2), of(57, 2)), (Some(57), Some(57), Some(5700)));
        assert_eq!((of(575, -1), of(-57, 0), of(1, 40), of(0, -60)), (None, None, None, Some(0)));
        let with_zeros = FixDecimal::from_digits(false, 57 * 10_u128.pow(20), -20).expect("fits");
        assert_eq!(whole(with_zeros), Some(57));
    }
}

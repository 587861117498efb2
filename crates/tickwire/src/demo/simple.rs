//! Orders and quotes: small messages, many of them in a packet.

use super::draft::{Draft, Value};
use fastrand::Rng;

/// Template file of these messages.
pub const TEMPLATES: &str = include_str!("../../templates/simple.xml");

const SECURITIES: usize = 200;
const QUOTE: u32 = 1;
const NEW: u32 = 2;
const CHANGE: u32 = 3;
const REMOVE: u32 = 4;
const DONE: u32 = 99;
/// MessageType is 10 more than the template id.
const MESSAGE_TYPE_BASE: u64 = 10;

/// An order that stands in the book.
struct Order {
    id: u64,
    security: usize,
    price: u64,
    volume: u64,
    exchange: u64,
    side: u64,
}

struct Market<'r> {
    random: &'r mut Rng,
    /// Price of each security, in hundredths of a cent.
    prices: Vec<u64>,
    orders: Vec<Order>,
    next_order: u64,
    seq_num: u64,
    /// Milliseconds since midnight.
    time: u64,
}

/// Makes up `count` messages, the last of them Done.
pub fn drafts(count: usize, random: &mut Rng) -> Vec<Draft> {
    let prices = (0..SECURITIES).map(|_| random.u64(50_000..2_000_000) / 10 * 10).collect();
    let mut market = Market {
        random,
        prices,
        orders: Vec::new(),
        next_order: 1_000_000,
        seq_num: 0,
        time: 34_200_000,
    };
    let mut drafts: Vec<Draft> = (1..count).map(|_| market.draft()).collect();
    drafts.push(Draft { template: DONE, fields: vec![Value::UInt(99)] });
    drafts
}

impl Market<'_> {
    fn draft(&mut self) -> Draft {
        self.seq_num += 1;
        self.time += u64::from(self.random.u8(..) < 90);
        let choice = self.random.u8(0..100);
        match choice {
            0..40 => self.quote(),
            _ if self.orders.len() < 50 || choice < 65 => self.new_order(),
            65..85 => self.change(),
            _ => self.remove(),
        }
    }

    fn order(&mut self) -> Order {
        // Low numbers are traded more: the least of two draws.
        let security = self.random.usize(0..SECURITIES).min(self.random.usize(0..SECURITIES));
        let ticks = self.random.i64(-2..=2) * 10;
        let price = self.prices[security].saturating_add_signed(ticks).max(10);
        self.prices[security] = price;
        self.next_order += 1;
        Order {
            id: self.next_order,
            security,
            price,
            volume: 100 * self.random.u64(1..=20),
            exchange: self.random.u64(1..=3),
            side: self.random.u64(1..=2),
        }
    }

    fn quote(&mut self) -> Draft {
        let order = self.order();
        self.message(QUOTE, &order, true, false)
    }

    fn new_order(&mut self) -> Draft {
        let order = self.order();
        let draft = self.message(NEW, &order, true, true);
        self.orders.push(order);
        draft
    }

    fn change(&mut self) -> Draft {
        let index = self.random.usize(0..self.orders.len());
        let mut order = self.orders.swap_remove(index);
        order.volume = (order.volume / 2).max(100);
        let draft = self.message(CHANGE, &order, true, true);
        self.orders.push(order);
        draft
    }

    fn remove(&mut self) -> Draft {
        let index = self.random.usize(0..self.orders.len());
        let order = self.orders.swap_remove(index);
        self.message(REMOVE, &order, false, true)
    }

    fn message(&self, template: u32, order: &Order, with_price: bool, with_side: bool) -> Draft {
        let mut values =
            vec![MESSAGE_TYPE_BASE + u64::from(template), self.seq_num, self.time, order.id];
        if with_price {
            values.extend([order.volume, order.price]);
        }
        let session = 1 + order.security as u64 % 2;
        values.extend([order.exchange, order.security as u64, 1, session]);
        if with_side {
            values.push(order.side);
        }
        Draft { template, fields: values.into_iter().map(Value::UInt).collect() }
    }
}

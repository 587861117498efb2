//! Market data and quote requests: several entries a message, one message a packet.

use super::draft::{Draft, Value};
use fastrand::Rng;

/// Template file of these messages.
pub const TEMPLATES: &str = include_str!("../../templates/complex.xml");

const SECURITIES: usize = 100;
const MARKET_DATA: u32 = 1;
const QUOTE_REQUEST: u32 = 2;
const SENDER: &str = "Test Exchange";
const QUOTE_REQUEST_IDS: [&str; 4] = ["RFQ-1", "RFQ-22", "RFQ-333", "RFQ-4444"];

/// What is known of a security.
struct Security {
    price: i64,
    close: i64,
    volume: u64,
    rpt_seq: u64,
}

struct Market<'r> {
    random: &'r mut Rng,
    securities: Vec<Security>,
    seq_num: u64,
    /// Milliseconds since midnight.
    time: u64,
}

/// Makes up `count` messages.
pub fn drafts(count: usize, random: &mut Rng) -> Vec<Draft> {
    let securities = (0..SECURITIES)
        .map(|_| {
            let price = random.i64(5_000..200_000);
            Security { price, close: price, volume: 0, rpt_seq: 0 }
        })
        .collect();
    let mut market = Market { random, securities, seq_num: 0, time: 34_200_000 };
    (0..count).map(|_| market.draft()).collect()
}

impl Market<'_> {
    fn draft(&mut self) -> Draft {
        self.seq_num += 1;
        self.time += self.random.u64(0..5);
        match self.random.u8(0..100) {
            0..4 => self.quote_request(),
            _ => self.market_data(),
        }
    }

    fn market_data(&mut self) -> Draft {
        let count = self.random.usize(1..=5);
        let first = self.random.usize(0..SECURITIES);
        let entries = (0..count)
            .map(|index| {
                self.entry(if index < 3 { first } else { (first + 1) % SECURITIES }, index)
            })
            .collect();
        let fields = vec![
            Value::Text("1.0"),
            Value::Text("X"),
            Value::Text(SENDER),
            Value::UInt(self.seq_num),
            Value::UInt(self.time),
            Value::UInt(20_100_209),
            Value::Sequence(entries),
        ];
        Draft { template: MARKET_DATA, fields }
    }

    fn entry(&mut self, security: usize, index: usize) -> Vec<Value> {
        let id = security as u64 + 1;
        let is_trade = self.random.u8(0..10) < 2;
        let size = self.random.i64(1..500);
        let orders = self.random.u64(1..40);
        let side = self.random.u64(1..=2);
        let action = u64::from(self.random.u8(0..4) < 3);
        let step = self.random.i64(-3..=3);
        let state = &mut self.securities[security];
        state.price = (state.price + step).max(100);
        state.rpt_seq += 1;
        state.volume += if is_trade { size.unsigned_abs() } else { 0 };
        let when = |present: bool, value: Value| if present { value } else { Value::Absent };
        vec![
            Value::UInt(action),
            when(!is_trade, Value::UInt(index as u64 + 1)),
            Value::Text(if is_trade {
                "2"
            } else if side == 1 {
                "0"
            } else {
                "1"
            }),
            when(is_trade, Value::UInt(4)),
            Value::UInt(9),
            Value::UInt(id),
            Value::UInt(state.rpt_seq),
            Value::Decimal(state.price, if id.is_multiple_of(10) { -2 } else { 0 }),
            Value::UInt(self.time),
            Value::Int(size),
            when(!is_trade, Value::UInt(orders)),
            Value::Text("2"),
            when(is_trade, Value::Decimal(state.price - state.close, 0)),
            when(is_trade, Value::UInt(state.volume)),
            when(is_trade && side == 1, Value::Text("W")),
            when(is_trade, Value::Text(if step < 0 { "2" } else { "0" })),
            when(!is_trade && index == 0, Value::Text("C")),
            when(is_trade, Value::UInt(side)),
            Value::Text("1"),
        ]
    }

    fn quote_request(&mut self) -> Draft {
        let count = self.random.usize(1..=3);
        let entries = (0..count).map(|_| self.related_symbol()).collect();
        let request = self.random.usize(0..=QUOTE_REQUEST_IDS.len());
        let fields = vec![
            Value::Text("1.0"),
            Value::Text("R"),
            Value::Text(SENDER),
            Value::UInt(self.seq_num),
            Value::UInt(self.time),
            QUOTE_REQUEST_IDS.get(request).map_or(Value::Absent, |id| Value::Text(id)),
            Value::Sequence(entries),
        ];
        Draft { template: QUOTE_REQUEST, fields }
    }

    fn related_symbol(&mut self) -> Vec<Value> {
        let quantity = self.random.u64(0..1_000);
        vec![
            Value::Text("[N/A]"),
            if quantity == 0 { Value::Absent } else { Value::UInt(quantity) },
            Value::UInt(self.random.u64(1..=2)),
            Value::UInt(self.time),
            Value::UInt(1),
            Value::UInt(self.random.u64(1..=SECURITIES as u64)),
            Value::UInt(9),
        ]
    }
}

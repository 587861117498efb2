//! The simple feed: every order is published, in messages of a few bytes, many in a packet.

use crate::draft::{DraftValue, MessageDraft};
use crate::error::ExchangeError;
use crate::market::{Market, MarketChange, MarketProfile, OrderChangeAction, Security};
use crate::source::{EntryRoom, FeedSource, SourceMessage};
use crate::truth::TrueBook;
use tickwire_feed::book::Side;

/// Deeper than any simulated book, because every order is published.
const DEPTH: usize = 1_000;
/// Number of orders per side of a security above which no new ones arrive.
const ORDERS_MAX: usize = 40;
/// MessageType is the template id plus 10.
const MESSAGE_TYPES: [(&str, u64); 4] =
    [("Quote", 11), ("New", 12), ("Change", 13), ("Remove", 14)];
const EXCHANGES: &[u8; 3] = b"NPQ";
const SECURITY_TYPE: u8 = b'E';
const SESSIONS: &[u8; 2] = b"12";

/// Returns the message that ends the feed.
fn done() -> MessageDraft {
    MessageDraft { template: "Done", fields: vec![DraftValue::UInt(99)] }
}

#[derive(Debug)]
pub(crate) struct Simple {
    market: Market,
    seq_num: u64,
    changes: Vec<MarketChange>,
}

/// The content of a message.
struct SimpleContent {
    template: &'static str,
    security: u32,
    order_id: u32,
    /// Volume and price; `None` for a removed order.
    content: Option<(u32, i64)>,
    side: Option<Side>,
}

impl Simple {
    pub(crate) fn new(securities: u32, seed: u64) -> Self {
        let profile = MarketProfile {
            securities,
            first_id: 1,
            id_step: 1,
            depth: DEPTH,
            price_ticks: 5_000..=200_000,
            tick: 10,
            exponent: |_| 0,
            lots: 1..=20,
            lot: 100,
        };
        Self { market: Market::new(profile, seed), seq_num: 0, changes: Vec::new() }
    }

    /// Adds, changes or removes an order, or quotes one. The four are about equally frequent.
    fn act(&mut self) -> (SimpleContent, Option<TrueBook>) {
        loop {
            let index = self.market.any_security();
            let Market { random, profile, securities, order_id, .. } = &mut self.market;
            let security = &mut securities[index];
            let side = if random.bool() { Side::Bid } else { Side::Offer };
            let orders = security.side_orders(side);
            self.changes.clear();
            match random.u8(0..100) {
                0..25 => {
                    let Some((order_id, price, size)) = security.first_order(side) else {
                        continue;
                    };
                    let (security, content) = (security.id, Some((size, price)));
                    let told = SimpleContent {
                        template: "Quote",
                        security,
                        order_id,
                        content,
                        side: None,
                    };
                    return (told, None);
                }
                25..51 if orders < ORDERS_MAX => {
                    security.wander(random);
                    security.add(profile, random, order_id, side, &mut self.changes);
                }
                51..60 => security.hit(random, side, &mut self.changes),
                60..80 => security.reduce(random, side, &mut self.changes),
                _ => security.cancel(random, side, usize::MAX, &mut self.changes),
            }
            let order = self.changes.iter().find_map(|change| match *change {
                MarketChange::Order(order) => Some(order),
                MarketChange::Depth(_) => None,
            });
            let Some(order) = order else { continue };
            let content = Some((order.size, order.price));
            let (template, content) = match order.action {
                OrderChangeAction::New => ("New", content),
                OrderChangeAction::Change => ("Change", content),
                OrderChangeAction::Remove => ("Remove", None),
            };
            let (order_id, side) = (order.id, Some(order.side));
            let security = &securities[index];
            let told = SimpleContent { template, security: security.id, order_id, content, side };
            return (told, Some(security.true_book()));
        }
    }
}

/// Creates the message of an event.
fn draft(told: &SimpleContent, seq_num: u64, time_ms: u64) -> MessageDraft {
    let message_type = MESSAGE_TYPES.iter().find(|(template, _)| *template == told.template);
    let message_type = message_type.map_or(0, |(_, message_type)| *message_type);
    let mut values = vec![message_type, seq_num, time_ms, told.order_id.into()];
    if let Some((volume, price)) = told.content {
        values.extend([u64::from(volume), price.unsigned_abs()]);
    }
    let security = told.security as usize;
    values.extend([
        u64::from(EXCHANGES[security % EXCHANGES.len()]),
        u64::from(told.security),
        u64::from(SECURITY_TYPE),
        u64::from(SESSIONS[security % SESSIONS.len()]),
    ]);
    values.extend(told.side.map(|side| match side {
        Side::Bid => u64::from(b'B'),
        Side::Offer => u64::from(b'S'),
    }));
    MessageDraft {
        template: told.template,
        fields: values.into_iter().map(DraftValue::UInt).collect(),
    }
}

impl FeedSource for Simple {
    fn next(&mut self, _: &mut EntryRoom<'_>) -> Result<SourceMessage, ExchangeError> {
        self.seq_num += 1;
        if self.market.random.u8(0..3) == 0 {
            self.market.advance(1);
        }
        let (told, book) = self.act();
        let time_ms = self.market.time_ms;
        let draft = draft(&told, self.seq_num, time_ms);
        Ok(SourceMessage { draft, books: book.into_iter().collect(), time_ms })
    }

    fn largest(&self) -> Vec<MessageDraft> {
        let told = SimpleContent {
            template: "New",
            security: u32::from(u16::MAX),
            order_id: u32::MAX,
            content: Some((u32::MAX, u32::MAX.into())),
            side: Some(Side::Offer),
        };
        vec![draft(&told, u32::MAX.into(), u32::MAX.into()), done()]
    }

    fn done(&self) -> Option<MessageDraft> {
        Some(done())
    }

    fn books(&self) -> Vec<TrueBook> {
        self.market.securities.iter().map(Security::true_book).collect()
    }

    fn time_ms(&self) -> u64 {
        self.market.time_ms
    }
}

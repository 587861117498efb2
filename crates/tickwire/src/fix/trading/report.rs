//! What becomes of an order: a reject, a cancel, or a confirmation and fills.

use super::order::ReceivedOrder;
use std::fmt::Write;
use tickwire_fix::value::Decimal;
use tickwire_fix::{Message, Tag, TagText, Writer};

const AVG_PX: TagText = TagText::new(Tag(6));
const CL_ORD_ID: TagText = TagText::new(Tag(11));
const CUM_QTY: TagText = TagText::new(Tag(14));
const EXEC_ID: TagText = TagText::new(Tag(17));
const EXEC_TRANS_TYPE: TagText = TagText::new(Tag(20));
const HANDL_INST: TagText = TagText::new(Tag(21));
const LAST_CAPACITY: TagText = TagText::new(Tag(29));
const LAST_PX: TagText = TagText::new(Tag(31));
const LAST_SHARES: TagText = TagText::new(Tag(32));
const ORDER_ID: TagText = TagText::new(Tag(37));
const ORDER_QTY: TagText = TagText::new(Tag(38));
const ORD_STATUS: TagText = TagText::new(Tag(39));
const ORD_TYPE: TagText = TagText::new(Tag(40));
const PRICE: TagText = TagText::new(Tag(44));
const SIDE: TagText = TagText::new(Tag(54));
const SYMBOL: TagText = TagText::new(Tag(55));
const TIME_IN_FORCE: TagText = TagText::new(Tag(59));
const TRANSACT_TIME: TagText = TagText::new(Tag(60));
const ORD_REJ_REASON: TagText = TagText::new(Tag(103));
const REPORT_TO_EXCH: TagText = TagText::new(Tag(113));
const EXEC_TYPE: TagText = TagText::new(Tag(150));
const LEAVES_QTY: TagText = TagText::new(Tag(151));

/// Most fills of an order; the last fills what is left.
const FILLS_MAX: u32 = 5;

/// One execution report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// ExecType and OrdStatus: `0` new, `1` partial fill, `2` fill, `4` cancelled, `8` rejected.
    pub status: u8,
    /// Filled by this report.
    pub filled: u64,
    /// Filled so far.
    pub total: u64,
    /// Not filled yet.
    pub left: u64,
}

/// Returns the reports on an order: the same for the same seed and MsgSeqNum.
pub fn reports(seed: u64, seq_num: u64, quantity: u64) -> Vec<Report> {
    let mut random = fastrand::Rng::with_seed(seed ^ seq_num.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let only = |status| vec![Report { status, filled: 0, total: 0, left: 0 }];
    match random.u32(0..8) {
        0 => return only(b'8'),
        1 => return only(b'4'),
        _ => {}
    }
    let mut list = vec![Report { status: b'0', filled: 0, total: 0, left: quantity }];
    let (mut total, fills) = (0, random.u32(1..=FILLS_MAX));
    for fill in 1..=fills {
        let left = quantity - total;
        let filled = if fill == fills || left == 1 { left } else { random.u64(1..=left) };
        total += filled;
        let status = if total == quantity { b'2' } else { b'1' };
        list.push(Report { status, filled, total, left: quantity - total });
        if total == quantity {
            break;
        }
    }
    list
}

/// Text made anew for every report in the same memory.
#[derive(Debug, Default)]
pub struct Ids {
    order: String,
    exec: String,
}

impl Ids {
    /// Makes OrderID and ExecID from the number of the order's message and that of the report.
    pub fn set(&mut self, seq_num: u64, index: usize) {
        self.order.clear();
        self.exec.clear();
        // Writing into a string does not fail.
        let _ = write!(self.order, "ord{seq_num}");
        let _ = write!(self.exec, "exec{seq_num}-{index}");
    }
}

impl Report {
    /// Writes the body.
    pub fn write(&self, writer: &mut Writer<'_>, order: &ReceivedOrder<'_>, ids: &Ids) {
        let price = if self.total > 0 { order.price } else { Decimal::new(0, 0) };
        writer.decimal(AVG_PX, price);
        writer.bytes(CL_ORD_ID, order.cl_ord_id);
        writer.uint(CUM_QTY, self.total);
        writer.str(EXEC_ID, &ids.exec);
        writer.char(EXEC_TRANS_TYPE, b'0');
        writer.char(HANDL_INST, b'1');
        if self.status == b'0' {
            writer.char(LAST_CAPACITY, b'4');
        }
        if self.filled > 0 {
            writer.decimal(LAST_PX, order.price);
            writer.uint(LAST_SHARES, self.filled);
        }
        writer.str(ORDER_ID, &ids.order);
        writer.uint(ORDER_QTY, order.quantity);
        writer.char(ORD_STATUS, self.status);
        writer.char(ORD_TYPE, order.ord_type);
        writer.decimal(PRICE, order.price);
        writer.char(SIDE, order.side);
        writer.bytes(SYMBOL, order.symbol);
        writer.char(TIME_IN_FORCE, order.time_in_force);
        writer.bytes(TRANSACT_TIME, order.transact_time);
        if self.status == b'8' {
            writer.char(ORD_REJ_REASON, b'0');
        }
        if self.status == b'0' {
            writer.boolean(REPORT_TO_EXCH, true);
        }
        writer.char(EXEC_TYPE, self.status);
        writer.uint(LEAVES_QTY, self.left);
    }
}

/// An execution report as the client reads it.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedReport<'m> {
    pub exec_id: &'m [u8],
    pub status: u8,
}

impl<'m> ReceivedReport<'m> {
    /// Reads a report, every field that a client needs of it; `None` if one is missing or wrong.
    pub fn read(message: &Message<'m>) -> Option<Self> {
        let mut cursor = message.cursor();
        cursor.field(Tag(6))?.decimal().ok()?;
        cursor.field(Tag(14))?.decimal().ok()?;
        let exec_id = cursor.field(Tag(17))?.value;
        cursor.field(Tag(38))?.decimal().ok()?;
        let status = cursor.field(Tag(39))?.char().ok()?;
        cursor.field(Tag(44))?.decimal().ok()?;
        cursor.field(Tag(60))?.utc_timestamp().ok()?;
        cursor.field(Tag(151))?.decimal().ok()?;
        Some(Self { exec_id, status })
    }

    /// Whether no other report on the order follows.
    pub const fn is_last(&self) -> bool {
        matches!(self.status, b'2' | b'4' | b'8')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_ends_and_fills_add_up() {
        let mut ends = [0; 3];
        for seq_num in 1..2_000 {
            let list = reports(3, seq_num, 57);
            assert_eq!(list, reports(3, seq_num, 57));
            let (last, others) = list.split_last().expect("at least one");
            assert!(others.iter().all(|report| matches!(report.status, b'0' | b'1')));
            let filled: u64 = list.iter().map(|report| report.filled).sum();
            match last.status {
                b'8' => ends[0] += 1,
                b'4' => ends[1] += 1,
                _ => {
                    ends[2] += 1;
                    assert_eq!((last.status, filled, last.left), (b'2', 57, 0));
                }
            }
        }
        assert!(ends.iter().all(|count| *count > 100), "{ends:?}");
    }
}

//! Responses to an order: a reject, a cancel, or a confirmation and fills.

use super::order::ReceivedOrder;
use std::fmt::Write;
use tickwire_fix::typed::{BODY_START, FixText, Room};
use tickwire_fix::{FixDecimal, FixError, FixMessage};
use tickwire_fix_messages::fix42::{
    ExecTransType, ExecType, ExecutionReport, ExecutionReportRequired, HandlInst, Header,
    LastCapacity, OrdRejReason, OrdStatus,
};

/// Maximum number of fills per order; the last one fills the remaining quantity.
const FILLS_MAX: u32 = 5;

/// One execution report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderReport {
    /// ExecType and OrdStatus: `0` new, `1` partial fill, `2` fill, `4` cancelled, `8` rejected.
    pub status: u8,
    /// Quantity filled by this report.
    pub filled: u64,
    /// Filled so far.
    pub total: u64,
    /// Quantity not filled yet.
    pub left: u64,
}

/// Returns the reports on an order. The same seed and MsgSeqNum give the same reports.
pub fn reports(seed: u64, seq_num: u64, quantity: u64) -> Vec<OrderReport> {
    let mut random = fastrand::Rng::with_seed(seed ^ seq_num.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let only = |status| vec![OrderReport { status, filled: 0, total: 0, left: 0 }];
    match random.u32(0..8) {
        0 => return only(b'8'),
        1 => return only(b'4'),
        _ => {}
    }
    let mut list = vec![OrderReport { status: b'0', filled: 0, total: 0, left: quantity }];
    let (mut total, fills) = (0, random.u32(1..=FILLS_MAX));
    for fill in 1..=fills {
        let left = quantity - total;
        let filled = if fill == fills || left == 1 { left } else { random.u64(1..=left) };
        total += filled;
        let status = if total == quantity { b'2' } else { b'1' };
        list.push(OrderReport { status, filled, total, left: quantity - total });
        if total == quantity {
            break;
        }
    }
    list
}

/// Texts of OrderID and ExecID, rewritten in place for every report.
#[derive(Debug, Default)]
pub struct Ids {
    order: String,
    exec: String,
    exec_number: u64,
}

impl Ids {
    /// OrderID.
    pub const fn order(&self) -> &[u8] {
        self.order.as_bytes()
    }

    /// ExecID.
    pub const fn exec(&self) -> &[u8] {
        self.exec.as_bytes()
    }

    /// ExecID as a number, for versions in which it is one.
    pub const fn exec_number(&self) -> u64 {
        self.exec_number
    }

    /// Sets OrderID and ExecID from the MsgSeqNum of the order and the index of the report.
    pub fn set(&mut self, seq_num: u64, index: usize) {
        self.order.clear();
        self.exec.clear();
        // An order has fewer than ten reports.
        self.exec_number = seq_num.saturating_mul(10).saturating_add(index as u64);
        // Writing into a string does not fail.
        let _ = write!(self.order, "ord{seq_num}");
        let _ = write!(self.exec, "exec{seq_num}-{index}");
    }
}

impl OrderReport {
    /// Returns the message.
    pub fn message<'m>(
        &self,
        received: &ReceivedOrder<'_, 'm>,
        ids: &'m Ids,
    ) -> ExecutionReport<'m> {
        let order = received.order;
        let whole = |count: u64| FixDecimal::new(i64::try_from(count).unwrap_or(i64::MAX), 0);
        let price = order.price().unwrap_or(FixDecimal::new(0, 0));
        let mut report = ExecutionReport::new(ExecutionReportRequired {
            order_id: FixText(ids.order.as_bytes()),
            exec_id: FixText(ids.exec.as_bytes()),
            exec_trans_type: ExecTransType::New,
            exec_type: ExecType::from_char(self.status),
            ord_status: OrdStatus::from_char(self.status),
            symbol: order.symbol(),
            side: order.side(),
            leaves_qty: whole(self.left),
            cum_qty: whole(self.total),
            avg_px: if self.total > 0 { price } else { FixDecimal::new(0, 0) },
        });
        report
            .set_cl_ord_id(order.cl_ord_id())
            .set_order_qty(whole(received.quantity))
            .set_ord_type(order.ord_type())
            .set_price(order.price())
            .set_time_in_force(order.time_in_force())
            .set_transact_time(order.transact_time())
            .set_handl_inst(HandlInst::AutomatedExecutionOrderPrivateNoBrokerIntervention);
        if self.filled > 0 {
            report.set_last_px(price).set_last_shares(whole(self.filled));
        }
        if self.status == b'8' {
            report.set_ord_rej_reason(OrdRejReason::BrokerOption);
        }
        if self.status == b'0' {
            report.set_last_capacity(LastCapacity::Principal).set_report_to_exch(true);
        }
        report
    }
}

/// Memory for a report that the client reads, including its header.
#[derive(Debug, Default)]
pub struct ReportRoom<'m> {
    header: Room<Header<'m>>,
    report: Room<ExecutionReport<'m>>,
}

/// Fields of an execution report that a client needs.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedReport<'m> {
    pub cl_ord_id: &'m [u8],
    pub exec_id: &'m [u8],
    /// True if no other report on the order follows.
    pub is_last: bool,
}

impl<'m> ReportRoom<'m> {
    /// Reads every field of a report.
    pub fn read(&mut self, message: &FixMessage<'m, '_>) -> Result<ReceivedReport<'m>, FixError> {
        let (_, start) = self.header.decode(message, BODY_START)?;
        let (report, _) = self.report.decode(message, start)?;
        let is_last = matches!(
            report.ord_status(),
            OrdStatus::Filled | OrdStatus::Canceled | OrdStatus::Rejected
        );
        let cl_ord_id = report.cl_ord_id().unwrap_or(FixText(&[]));
        let (cl_ord_id, exec_id) = (cl_ord_id.as_bytes(), report.exec_id().as_bytes());
        Ok(ReceivedReport { cl_ord_id, exec_id, is_last })
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

//! The order and its first report.

use tickwire_fix::typed::TimeWithPrecision;
use tickwire_fix::{FixDecimal, Precision, UtcTimestamp};
use tickwire_fix_messages::fix44::{
    ExecType, ExecutionReport, ExecutionReportRequired, NewOrderSingle, OrdStatus, OrdType, Side,
};
use tickwire_host::clock::unix_ns;

/// Returns a limit order.
pub fn order(cl_ord_id: &str) -> NewOrderSingle<'_> {
    let now = UtcTimestamp::from_unix_nanos(unix_ns());
    let transact_time = TimeWithPrecision::new(now, Precision::Millis);
    let mut order = NewOrderSingle::new(cl_ord_id.into(), Side::Buy, transact_time, OrdType::Limit);
    order
        .set_symbol(Some("XYZ".into()))
        .set_order_qty(FixDecimal::new(100, 0))
        .set_price(FixDecimal::new(98_125, -3));
    order
}

/// Returns the report that an order is accepted.
pub fn accepted<'m>(order: &NewOrderSingle<'m>, exec_id: &'m str) -> ExecutionReport<'m> {
    let (none, quantity) = (FixDecimal::new(0, 0), order.order_qty().unwrap_or_default());
    let mut report = ExecutionReport::new(ExecutionReportRequired {
        order_id: order.cl_ord_id(),
        exec_id: exec_id.into(),
        exec_type: ExecType::New,
        ord_status: OrdStatus::New,
        side: order.side(),
        leaves_qty: quantity,
        cum_qty: none,
        avg_px: none,
    });
    report.set_cl_ord_id(order.cl_ord_id()).set_symbol(order.symbol());
    report
}

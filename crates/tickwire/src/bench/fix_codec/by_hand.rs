//! The messages written field by field, as in a program that knows which fields it sends.

use tickwire_fix::{FixDecimal, FixError, Tag, TagText, Writer};
use tickwire_fix_messages::fix42::{BEGIN_STRING, ExecutionReport, Header, NewOrderSingle};

const fn text(tag: u32) -> TagText {
    TagText::new(Tag(tag))
}

/// Starts a message and writes the fields of every header.
#[inline(always)]
fn header<'b>(header: &Header<'_>, msg_type: &str, out: &'b mut [u8]) -> Writer<'b> {
    let mut writer = Writer::new(out, BEGIN_STRING, msg_type);
    writer.text(const { text(49) }, header.sender_comp_id().0);
    writer.text(const { text(56) }, header.target_comp_id().0);
    writer.int(const { text(34) }, header.msg_seq_num());
    let time = header.sending_time();
    writer.utc_timestamp(const { text(52) }, time.value, time.precision);
    writer
}

fn or_zero(value: Option<FixDecimal>) -> FixDecimal {
    value.unwrap_or_default()
}

/// Writes an order.
pub fn order<'b>(
    order: &NewOrderSingle<'_>,
    head: &Header<'_>,
    out: &'b mut [u8],
) -> Result<&'b [u8], FixError> {
    let mut writer = header(head, NewOrderSingle::MSG_TYPE, out);
    writer.text(const { text(11) }, order.cl_ord_id().0);
    writer.char(const { text(21) }, order.handl_inst().char());
    writer.text(const { text(55) }, order.symbol().0);
    writer.char(const { text(54) }, order.side().char());
    let time = order.transact_time();
    writer.utc_timestamp(const { text(60) }, time.value, time.precision);
    writer.decimal(const { text(38) }, or_zero(order.order_qty()));
    writer.char(const { text(40) }, order.ord_type().char());
    writer.decimal(const { text(44) }, or_zero(order.price()));
    writer.char(const { text(59) }, order.time_in_force().map_or(b'0', |value| value.char()));
    writer.finish()
}

/// Writes a report on an order.
pub fn report<'b>(
    report: &ExecutionReport<'_>,
    head: &Header<'_>,
    out: &'b mut [u8],
) -> Result<&'b [u8], FixError> {
    let mut writer = header(head, ExecutionReport::MSG_TYPE, out);
    writer.text(const { text(37) }, report.order_id().0);
    writer.text(const { text(11) }, report.cl_ord_id().unwrap_or_default().0);
    writer.text(const { text(17) }, report.exec_id().0);
    writer.char(const { text(20) }, report.exec_trans_type().char());
    writer.char(const { text(150) }, report.exec_type().char());
    writer.char(const { text(39) }, report.ord_status().char());
    writer.text(const { text(55) }, report.symbol().0);
    writer.char(const { text(54) }, report.side().char());
    writer.decimal(const { text(38) }, or_zero(report.order_qty()));
    writer.char(const { text(40) }, report.ord_type().map_or(b'1', |value| value.char()));
    writer.decimal(const { text(44) }, or_zero(report.price()));
    writer.char(const { text(59) }, report.time_in_force().map_or(b'0', |value| value.char()));
    writer.char(const { text(29) }, report.last_capacity().map_or(b'1', |value| value.char()));
    writer.decimal(const { text(151) }, report.leaves_qty());
    writer.decimal(const { text(14) }, report.cum_qty());
    writer.decimal(const { text(6) }, report.avg_px());
    if let Some(time) = report.transact_time() {
        writer.utc_timestamp(const { text(60) }, time.value, time.precision);
    }
    writer.boolean(const { text(113) }, report.report_to_exch().unwrap_or_default());
    writer.char(const { text(21) }, report.handl_inst().map_or(b'1', |value| value.char()));
    writer.finish()
}

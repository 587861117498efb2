//! Orders and execution reports of the versions other than FIX 4.2, field by field.

use super::order::{ClOrdId, Order, whole};
use super::report::{Ids, OrderReport, ReceivedReport};
use tickwire_fix::{
    Field, FixDecimal, FixMessage, Precision, SessionRejectReason, Tag, UtcTimestamp, Writer,
};
use tickwire_fix_session::{ApplVersion, BeginString};

const AVG_PX: Tag = Tag(6);
const CL_ORD_ID: Tag = Tag(11);
const CUM_QTY: Tag = Tag(14);
const EXEC_ID: Tag = Tag(17);
const EXEC_TRANS_TYPE: Tag = Tag(20);
const HANDL_INST: Tag = Tag(21);
/// LastQty from FIX 4.3 on.
const LAST_SHARES: Tag = Tag(32);
const LAST_PX: Tag = Tag(31);
const ORDER_ID: Tag = Tag(37);
const ORDER_QTY: Tag = Tag(38);
const ORD_STATUS: Tag = Tag(39);
const ORD_TYPE: Tag = Tag(40);
const PRICE: Tag = Tag(44);
const SIDE: Tag = Tag(54);
const SYMBOL: Tag = Tag(55);
const TIME_IN_FORCE: Tag = Tag(59);
const TRANSACT_TIME: Tag = Tag(60);
const ORD_REJ_REASON: Tag = Tag(103);
const EXEC_TYPE: Tag = Tag(150);
const LEAVES_QTY: Tag = Tag(151);
/// ApplVerID.
pub const APPL_VER_ID: Tag = Tag(1128);

/// How a version writes orders and execution reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageDialect {
    /// FIX 4.0: ExecTransType, no ExecType and no LeavesQty; ExecID is a number; every report has LastShares and
    /// LastPx.
    Fix40,
    /// FIX 4.1: ExecTransType, ExecType and LeavesQty; every report has LastShares and LastPx.
    Fix41,
    /// FIX 4.2, whose generated types are used.
    Fix42,
    /// FIX 4.3 and later: no ExecTransType, and fills have the ExecType Trade.
    Fix43,
}

impl MessageDialect {
    /// The dialect of a session's messages. `application` is the version of its application messages, which
    /// FIXT.1.1 has.
    pub const fn of(begin_string: BeginString, application: Option<ApplVersion>) -> Self {
        match (begin_string, application) {
            (BeginString::Fix40, _) | (BeginString::Fixt11, Some(ApplVersion::Fix40)) => {
                Self::Fix40
            }
            (BeginString::Fix41, _) | (BeginString::Fixt11, Some(ApplVersion::Fix41)) => {
                Self::Fix41
            }
            (BeginString::Fix42, _) | (BeginString::Fixt11, Some(ApplVersion::Fix42)) => {
                Self::Fix42
            }
            (BeginString::Fix43 | BeginString::Fix44 | BeginString::Fixt11, _) => Self::Fix43,
        }
    }

    /// The dialect of a received message: its ApplVerID (1128) takes precedence over the session's
    /// `default_version`.
    pub fn of_message(message: &FixMessage<'_, '_>, default_version: Option<&str>) -> Self {
        let begin_string = BeginString::parse(message.begin_string()).unwrap_or(BeginString::Fix42);
        let named = message.field(APPL_VER_ID).map(|field| field.value);
        let version = named.or(default_version.map(str::as_bytes)).and_then(ApplVersion::parse);
        Self::of(begin_string, version)
    }
}

impl Order {
    /// Writes the fields of a NewOrderSingle.
    pub fn write(
        &self,
        dialect: MessageDialect,
        id: &ClOrdId,
        time: UtcTimestamp,
        out: &mut Writer<'_>,
    ) {
        out.text(CL_ORD_ID, id.as_bytes());
        out.char(HANDL_INST, b'1');
        out.text(SYMBOL, b"BHP");
        out.char(SIDE, b'1');
        if dialect >= MessageDialect::Fix42 {
            out.utc_timestamp(TRANSACT_TIME, time, Precision::Seconds);
        }
        out.uint(ORDER_QTY, self.quantity.into());
        out.char(ORD_TYPE, b'2');
        out.decimal(PRICE, self.price);
        out.char(TIME_IN_FORCE, b'4');
    }
}

/// The fields of an order that its reports repeat.
#[derive(Clone, Copy, Debug)]
pub struct PlainOrder<'m> {
    /// A whole number.
    pub quantity: u64,
    cl_ord_id: Field<'m>,
    symbol: Option<Field<'m>>,
    side: Field<'m>,
    ord_type: Option<Field<'m>>,
    time_in_force: Option<Field<'m>>,
    transact_time: Option<Field<'m>>,
    price: Option<FixDecimal>,
}

impl<'m> PlainOrder<'m> {
    /// Reads the fields of an order. The error is the reason for the reject.
    pub fn read(message: &FixMessage<'m, '_>) -> Result<Self, (SessionRejectReason, Option<Tag>)> {
        let field = |tag: Tag| message.field(tag);
        let required =
            |tag: Tag| field(tag).ok_or((SessionRejectReason::RequiredTagMissing, Some(tag)));
        let wrong = |tag: Tag| (SessionRejectReason::ValueIncorrect, Some(tag));
        let quantity = required(ORDER_QTY)?.decimal().ok().and_then(whole);
        let price = field(PRICE).map(|price| price.decimal().map_err(|_| wrong(PRICE)));
        Ok(Self {
            quantity: quantity.filter(|quantity| *quantity > 0).ok_or(wrong(ORDER_QTY))?,
            cl_ord_id: required(CL_ORD_ID)?,
            symbol: field(SYMBOL),
            side: required(SIDE)?,
            ord_type: field(ORD_TYPE),
            time_in_force: field(TIME_IN_FORCE),
            transact_time: field(TRANSACT_TIME),
            price: price.transpose()?,
        })
    }
}

impl OrderReport {
    /// Writes the fields of an ExecutionReport on an order.
    pub fn write(
        &self,
        dialect: MessageDialect,
        order: &PlainOrder<'_>,
        ids: &Ids,
        out: &mut Writer<'_>,
    ) {
        let has_trans_type = dialect < MessageDialect::Fix43;
        let price = order.price.unwrap_or(FixDecimal::new(0, 0));
        out.text(ORDER_ID, ids.order());
        if dialect == MessageDialect::Fix40 {
            out.uint(EXEC_ID, ids.exec_number());
        } else {
            out.text(EXEC_ID, ids.exec());
        }
        if has_trans_type {
            out.char(EXEC_TRANS_TYPE, b'0');
        }
        if dialect >= MessageDialect::Fix41 {
            let is_trade = !has_trans_type && self.filled > 0;
            out.char(EXEC_TYPE, if is_trade { b'F' } else { self.status });
        }
        out.char(ORD_STATUS, self.status);
        if let Some(symbol) = order.symbol {
            out.text(SYMBOL, symbol.value);
        }
        out.text(SIDE, order.side.value);
        out.text(CL_ORD_ID, order.cl_ord_id.value);
        out.uint(ORDER_QTY, order.quantity);
        let repeated = [
            (ORD_TYPE, order.ord_type),
            (TIME_IN_FORCE, order.time_in_force),
            (TRANSACT_TIME, order.transact_time),
        ];
        for (tag, field) in repeated {
            if let Some(field) = field {
                out.text(tag, field.value);
            }
        }
        if let Some(price) = order.price {
            out.decimal(PRICE, price);
        }
        if self.filled > 0 || dialect <= MessageDialect::Fix41 {
            out.uint(LAST_SHARES, self.filled);
            out.decimal(LAST_PX, if self.filled > 0 { price } else { FixDecimal::new(0, 0) });
        }
        if dialect >= MessageDialect::Fix41 {
            out.uint(LEAVES_QTY, self.left);
        }
        out.uint(CUM_QTY, self.total);
        out.decimal(AVG_PX, if self.total > 0 { price } else { FixDecimal::new(0, 0) });
        if self.status == b'8' {
            out.char(ORD_REJ_REASON, b'0');
        }
    }
}

impl<'m> ReceivedReport<'m> {
    /// Reads the fields of a report that a client needs. The error is the tag of a missing field.
    pub fn read_fields(message: &FixMessage<'m, '_>) -> Result<Self, Tag> {
        let value = |tag: Tag| message.field(tag).map(|field| field.value).ok_or(tag);
        let is_last = matches!(value(ORD_STATUS)?, b"2" | b"4" | b"8");
        Ok(Self { cl_ord_id: value(CL_ORD_ID)?, exec_id: value(EXEC_ID)?, is_last })
    }
}

//! Converts market data and quote requests. A message has entries of several securities; each security gets its own
//! sample.

use super::FillError;
use super::bind::Fields;
use super::grouping::{Grouped, Grouping, Reused};
use super::source::{Number, Price, Words};
use crate::{MarketData, MarketDataEntry, QuoteRequest, RelatedSymbol};
use tickwire_fast::{Entries, Record, Repeated, Slot};

impl Grouped for MarketData {
    type Entry = MarketDataEntry;

    fn entries_mut(&mut self) -> &mut Vec<MarketDataEntry> {
        &mut self.md_entries
    }
}

impl Grouped for QuoteRequest {
    type Entry = RelatedSymbol;

    fn entries_mut(&mut self) -> &mut Vec<RelatedSymbol> {
        &mut self.related_sym
    }
}

/// The fields at the start of both messages.
#[derive(Debug)]
struct HeadPlan {
    appl_version_id: Words,
    message_type: Words,
    sender_comp_id: Words,
    msg_seq_num: Number,
    sending_time: Number,
}

impl HeadPlan {
    fn bind(fields: &mut Fields<'_, '_>) -> Self {
        Self {
            appl_version_id: fields.optional_words("ApplVerID"),
            message_type: fields.optional_words("MessageType"),
            sender_comp_id: fields.optional_words("SenderCompID"),
            msg_seq_num: fields.number("MsgSeqNum"),
            sending_time: fields.number("SendingTime"),
        }
    }
}

/// Reads the fields at the start of either message into a sample.
macro_rules! read_head {
    ($plan:expr, $record:expr, $sample:expr) => {
        $plan.appl_version_id.read_into($record, &mut $sample.appl_version_id)?;
        $plan.message_type.read_into($record, &mut $sample.message_type)?;
        $plan.sender_comp_id.read_into($record, &mut $sample.sender_comp_id)?;
        $sample.msg_seq_num = $plan.msg_seq_num.read($record)?;
        $sample.sending_time = $plan.sending_time.read($record)?;
    };
}

/// Groups the entries of a message by the security that `security` reads.
fn group(
    grouping: &mut Grouping,
    entries: Option<Entries<'_>>,
    security: &Number,
) -> Result<(), FillError> {
    grouping.clear();
    if let Some(entries) = entries {
        for entry in entries.iter() {
            grouping.push(security.read(&entry)?);
        }
    }
    Ok(())
}

/// The fields of the template MarketData, and the samples filled from them.
#[derive(Debug)]
pub(super) struct MarketDataPlan {
    head: HeadPlan,
    trade_date: Number,
    entries: Option<Slot<Repeated>>,
    entry: EntryPlan,
    grouping: Grouping,
    samples: Reused<MarketData>,
}

/// The fields of an entry of MarketData.
#[derive(Debug)]
struct EntryPlan {
    md_update_action: Number,
    md_price_level: Number,
    md_entry_type: Words,
    open_close_settle_flag: Number,
    security_id_source: Number,
    security_id: Number,
    rpt_seq: Number,
    md_entry_px: Price,
    md_entry_time: Number,
    md_entry_size: Number,
    number_of_orders: Number,
    trading_session_id: Words,
    net_chg_prev_day: Price,
    trade_volume: Number,
    trade_condition: Words,
    tick_direction: Words,
    quote_condition: Words,
    aggressor_side: Number,
    match_event_indicator: Words,
}

impl MarketDataPlan {
    pub(super) fn bind(fields: &mut Fields<'_, '_>) -> Self {
        Self {
            head: HeadPlan::bind(fields),
            trade_date: fields.number("TradeDate"),
            entries: fields.sequence("MDEntries"),
            entry: EntryPlan::bind(&mut fields.inside("MDEntries/")),
            grouping: Grouping::default(),
            samples: Reused::default(),
        }
    }

    pub(super) fn fill(&mut self, root: &Record<'_>) -> Result<&[MarketData], FillError> {
        let entries = self.entries.as_ref().and_then(|slot| root.read(slot));
        group(&mut self.grouping, entries, &self.entry.security_id)?;
        let groups = self.grouping.groups();
        for (sample, group) in self.samples.resize(groups).iter_mut().zip(groups) {
            sample.security_id = group.security;
            read_head!(self.head, root, sample);
            sample.trade_date = self.trade_date.read(root)?;
        }
        let of_entry = self.grouping.of_entry();
        if let Some(entries) = entries {
            for (entry, &sample) in entries.iter().zip(of_entry) {
                self.entry.fill(&entry, self.samples.next_entry(sample))?;
            }
        }
        Ok(self.samples.first(groups.len()))
    }
}

impl EntryPlan {
    fn bind(fields: &mut Fields<'_, '_>) -> Self {
        Self {
            md_update_action: fields.number("MDUpdateAction"),
            md_price_level: fields.optional_number("MDPriceLevel"),
            md_entry_type: fields.words("MDEntryType"),
            open_close_settle_flag: fields.optional_number("OpenCloseSettleFlag"),
            security_id_source: fields.optional_number("SecurityIDSource"),
            security_id: fields.number("SecurityID"),
            rpt_seq: fields.number("RptSeq"),
            md_entry_px: fields.price("MDEntryPx"),
            md_entry_time: fields.number("MDEntryTime"),
            md_entry_size: fields.optional_number("MDEntrySize"),
            number_of_orders: fields.optional_number("NumberOfOrders"),
            trading_session_id: fields.optional_words("TradingSessionID"),
            net_chg_prev_day: fields.optional_price("NetChgPrevDay"),
            trade_volume: fields.optional_number("TradeVolume"),
            trade_condition: fields.optional_words("TradeCondition"),
            tick_direction: fields.optional_words("TickDirection"),
            quote_condition: fields.optional_words("QuoteCondition"),
            aggressor_side: fields.optional_number("AggressorSide"),
            match_event_indicator: fields.optional_words("MatchEventIndicator"),
        }
    }

    #[inline]
    fn fill(&self, record: &Record<'_>, entry: &mut MarketDataEntry) -> Result<(), FillError> {
        entry.md_update_action = self.md_update_action.read(record)?;
        entry.md_price_level = self.md_price_level.read(record)?;
        self.md_entry_type.read_into(record, &mut entry.md_entry_type)?;
        entry.open_close_settle_flag = self.open_close_settle_flag.read(record)?;
        entry.security_id_source = self.security_id_source.read(record)?;
        entry.security_id = self.security_id.read(record)?;
        entry.rpt_seq = self.rpt_seq.read(record)?;
        entry.md_entry_px = self.md_entry_px.read(record);
        entry.md_entry_time = self.md_entry_time.read(record)?;
        entry.md_entry_size = self.md_entry_size.read(record)?;
        entry.number_of_orders = self.number_of_orders.read(record)?;
        self.trading_session_id.read_into(record, &mut entry.trading_session_id)?;
        entry.net_chg_prev_day = self.net_chg_prev_day.read(record);
        entry.trade_volume = self.trade_volume.read(record)?;
        self.trade_condition.read_into(record, &mut entry.trade_condition)?;
        self.tick_direction.read_into(record, &mut entry.tick_direction)?;
        self.quote_condition.read_into(record, &mut entry.quote_condition)?;
        entry.aggressor_side = self.aggressor_side.read(record)?;
        self.match_event_indicator.read_into(record, &mut entry.match_event_indicator)
    }
}

/// The fields of the template QuoteRequest, and the samples filled from them.
#[derive(Debug)]
pub(super) struct QuoteRequestPlan {
    head: HeadPlan,
    quote_req_id: Words,
    symbols: Option<Slot<Repeated>>,
    symbol: SymbolPlan,
    grouping: Grouping,
    samples: Reused<QuoteRequest>,
}

/// The fields of a symbol in a request.
#[derive(Debug)]
struct SymbolPlan {
    symbol: Words,
    order_qty: Number,
    side: Number,
    transact_time: Number,
    quote_type: Number,
    security_id: Number,
    security_id_source: Number,
}

impl QuoteRequestPlan {
    pub(super) fn bind(fields: &mut Fields<'_, '_>) -> Self {
        Self {
            head: HeadPlan::bind(fields),
            quote_req_id: fields.optional_words("QuoteReqID"),
            symbols: fields.sequence("RelatedSym"),
            symbol: SymbolPlan::bind(&mut fields.inside("RelatedSym/")),
            grouping: Grouping::default(),
            samples: Reused::default(),
        }
    }

    pub(super) fn fill(&mut self, root: &Record<'_>) -> Result<&[QuoteRequest], FillError> {
        let symbols = self.symbols.as_ref().and_then(|slot| root.read(slot));
        group(&mut self.grouping, symbols, &self.symbol.security_id)?;
        let groups = self.grouping.groups();
        for (sample, group) in self.samples.resize(groups).iter_mut().zip(groups) {
            sample.security_id = group.security;
            read_head!(self.head, root, sample);
            self.quote_req_id.read_into(root, &mut sample.quote_req_id)?;
        }
        let of_entry = self.grouping.of_entry();
        if let Some(symbols) = symbols {
            for (symbol, &sample) in symbols.iter().zip(of_entry) {
                self.symbol.fill(&symbol, self.samples.next_entry(sample))?;
            }
        }
        Ok(self.samples.first(groups.len()))
    }
}

impl SymbolPlan {
    fn bind(fields: &mut Fields<'_, '_>) -> Self {
        Self {
            symbol: fields.optional_words("Symbol"),
            order_qty: fields.optional_number("OrderQty"),
            side: fields.optional_number("Side"),
            transact_time: fields.optional_number("TransactTime"),
            quote_type: fields.optional_number("QuoteType"),
            security_id: fields.number("SecurityID"),
            security_id_source: fields.optional_number("SecurityIDSource"),
        }
    }

    #[inline]
    fn fill(&self, record: &Record<'_>, symbol: &mut RelatedSymbol) -> Result<(), FillError> {
        self.symbol.read_into(record, &mut symbol.symbol)?;
        symbol.order_qty = self.order_qty.read(record)?;
        symbol.side = self.side.read(record)?;
        symbol.transact_time = self.transact_time.read(record)?;
        symbol.quote_type = self.quote_type.read(record)?;
        symbol.security_id = self.security_id.read(record)?;
        symbol.security_id_source = self.security_id_source.read(record)?;
        Ok(())
    }
}

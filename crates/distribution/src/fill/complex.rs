//! Converts market data and quote requests. A message has entries of several securities; each security gets its own
//! sample.

use super::FillError;
use super::bind::TemplateFields;
use super::grouping::{Grouped, Grouping, Reused};
use super::source::{IntegerSource, PriceSource, StringSource};
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
    appl_version_id: StringSource,
    message_type: StringSource,
    sender_comp_id: StringSource,
    msg_seq_num: IntegerSource,
    sending_time: IntegerSource,
}

impl HeadPlan {
    fn bind(fields: &mut TemplateFields<'_, '_>) -> Self {
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
    security: &IntegerSource,
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
    trade_date: IntegerSource,
    entries: Option<Slot<Repeated>>,
    entry: EntryPlan,
    grouping: Grouping,
    samples: Reused<MarketData>,
}

/// The fields of an entry of MarketData.
#[derive(Debug)]
struct EntryPlan {
    md_update_action: IntegerSource,
    md_price_level: IntegerSource,
    md_entry_type: StringSource,
    open_close_settle_flag: IntegerSource,
    security_id_source: IntegerSource,
    security_id: IntegerSource,
    rpt_seq: IntegerSource,
    md_entry_px: PriceSource,
    md_entry_time: IntegerSource,
    md_entry_size: IntegerSource,
    number_of_orders: IntegerSource,
    trading_session_id: StringSource,
    net_chg_prev_day: PriceSource,
    trade_volume: IntegerSource,
    trade_condition: StringSource,
    tick_direction: StringSource,
    quote_condition: StringSource,
    aggressor_side: IntegerSource,
    match_event_indicator: StringSource,
}

impl MarketDataPlan {
    pub(super) fn bind(fields: &mut TemplateFields<'_, '_>) -> Self {
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
    fn bind(fields: &mut TemplateFields<'_, '_>) -> Self {
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
    quote_req_id: StringSource,
    symbols: Option<Slot<Repeated>>,
    symbol: SymbolPlan,
    grouping: Grouping,
    samples: Reused<QuoteRequest>,
}

/// The fields of a symbol in a request.
#[derive(Debug)]
struct SymbolPlan {
    symbol: StringSource,
    order_qty: IntegerSource,
    side: IntegerSource,
    transact_time: IntegerSource,
    quote_type: IntegerSource,
    security_id: IntegerSource,
    security_id_source: IntegerSource,
}

impl QuoteRequestPlan {
    pub(super) fn bind(fields: &mut TemplateFields<'_, '_>) -> Self {
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
    fn bind(fields: &mut TemplateFields<'_, '_>) -> Self {
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

//! C forms of the samples with strings and sequences, member by member as in `idl/generated/Complex.h`.

use std::ffi::{c_char, c_void};

use super::ffi::TopicDescriptor;
use super::layout::Layout;
use super::scratch::{Scratch, load_text};
use crate::{Error, MarketData, MarketDataEntry, QuoteRequest, RelatedSymbol};

unsafe extern "C" {
    static MiddlewareNewsBrief_MarketData_desc: TopicDescriptor;
    static MiddlewareNewsBrief_QuoteRequest_desc: TopicDescriptor;
}

#[repr(C)]
pub struct SequenceMemory<T> {
    maximum: u32,
    length: u32,
    buffer: *mut T,
    release: bool,
}

impl<T> SequenceMemory<T> {
    fn lent(elements: &mut [T]) -> Result<Self, Error> {
        let length = u32::try_from(elements.len()).map_err(|_| Error::TooLong)?;
        Ok(Self { maximum: length, length, buffer: elements.as_mut_ptr(), release: false })
    }

    /// The elements.
    ///
    /// # Safety
    /// Cyclone filled the sequence, so `length` elements stand at `buffer` unless it is null.
    unsafe fn elements(&self) -> &[T] {
        if self.buffer.is_null() {
            return &[];
        }
        // SAFETY: as the caller promises; the slice borrows from the sequence that owns the buffer.
        unsafe { std::slice::from_raw_parts(self.buffer, self.length as usize) }
    }
}

#[repr(C)]
pub struct EntryMemory {
    md_update_action: u32,
    md_price_level: u32,
    md_entry_type: *mut c_char,
    open_close_settle_flag: u32,
    security_id_source: u32,
    security_id: u32,
    rpt_seq: u32,
    md_entry_px: f64,
    md_entry_time: u32,
    md_entry_size: i32,
    number_of_orders: u32,
    trading_session_id: *mut c_char,
    net_chg_prev_day: f64,
    trade_volume: u32,
    trade_condition: *mut c_char,
    tick_direction: *mut c_char,
    quote_condition: *mut c_char,
    aggressor_side: u32,
    match_event_indicator: *mut c_char,
}

#[repr(C)]
pub struct MarketDataMemory {
    security_id: u32,
    appl_version_id: *mut c_char,
    message_type: *mut c_char,
    sender_comp_id: *mut c_char,
    msg_seq_num: u32,
    sending_time: u32,
    trade_date: u32,
    md_entries: SequenceMemory<EntryMemory>,
}

#[repr(C)]
pub struct SymbolMemory {
    symbol: *mut c_char,
    order_qty: u64,
    side: u32,
    transact_time: u64,
    quote_type: u32,
    security_id: u32,
    security_id_source: u32,
}

#[repr(C)]
pub struct QuoteRequestMemory {
    security_id: u32,
    appl_version_id: *mut c_char,
    message_type: *mut c_char,
    sender_comp_id: *mut c_char,
    msg_seq_num: u32,
    sending_time: u32,
    quote_req_id: *mut c_char,
    related_sym: SequenceMemory<SymbolMemory>,
}

fn entry_texts(entry: &MarketDataEntry) -> [&str; 6] {
    [
        &entry.md_entry_type,
        &entry.trading_session_id,
        &entry.trade_condition,
        &entry.tick_direction,
        &entry.quote_condition,
        &entry.match_event_indicator,
    ]
}

fn text_bytes<const N: usize>(texts: [&str; N]) -> usize {
    texts.iter().map(|text| text.len()).sum()
}

fn lend_entry(entry: &MarketDataEntry, scratch: &mut Scratch) -> Result<EntryMemory, Error> {
    Ok(EntryMemory {
        md_update_action: entry.md_update_action,
        md_price_level: entry.md_price_level,
        md_entry_type: scratch.c_string(&entry.md_entry_type)?,
        open_close_settle_flag: entry.open_close_settle_flag,
        security_id_source: entry.security_id_source,
        security_id: entry.security_id,
        rpt_seq: entry.rpt_seq,
        md_entry_px: entry.md_entry_px,
        md_entry_time: entry.md_entry_time,
        md_entry_size: entry.md_entry_size,
        number_of_orders: entry.number_of_orders,
        trading_session_id: scratch.c_string(&entry.trading_session_id)?,
        net_chg_prev_day: entry.net_chg_prev_day,
        trade_volume: entry.trade_volume,
        trade_condition: scratch.c_string(&entry.trade_condition)?,
        tick_direction: scratch.c_string(&entry.tick_direction)?,
        quote_condition: scratch.c_string(&entry.quote_condition)?,
        aggressor_side: entry.aggressor_side,
        match_event_indicator: scratch.c_string(&entry.match_event_indicator)?,
    })
}

/// Copies one entry.
///
/// # Safety
/// Cyclone filled `memory`, so its strings are null or end in NUL.
unsafe fn load_entry(entry: &mut MarketDataEntry, memory: &EntryMemory) -> bool {
    entry.md_update_action = memory.md_update_action;
    entry.md_price_level = memory.md_price_level;
    entry.open_close_settle_flag = memory.open_close_settle_flag;
    entry.security_id_source = memory.security_id_source;
    entry.security_id = memory.security_id;
    entry.rpt_seq = memory.rpt_seq;
    entry.md_entry_px = memory.md_entry_px;
    entry.md_entry_time = memory.md_entry_time;
    entry.md_entry_size = memory.md_entry_size;
    entry.number_of_orders = memory.number_of_orders;
    entry.net_chg_prev_day = memory.net_chg_prev_day;
    entry.trade_volume = memory.trade_volume;
    entry.aggressor_side = memory.aggressor_side;
    // SAFETY: as the caller promises for all strings of the entry.
    unsafe {
        load_text(&mut entry.md_entry_type, memory.md_entry_type)
            && load_text(&mut entry.trading_session_id, memory.trading_session_id)
            && load_text(&mut entry.trade_condition, memory.trade_condition)
            && load_text(&mut entry.tick_direction, memory.tick_direction)
            && load_text(&mut entry.quote_condition, memory.quote_condition)
            && load_text(&mut entry.match_event_indicator, memory.match_event_indicator)
    }
}

// SAFETY: `MarketDataMemory` has the members of the generated C structure in its order and types; all
// zero means null strings and an empty sequence that Cyclone may grow. A test compares the sizes.
unsafe impl Layout for MarketData {
    type Memory = MarketDataMemory;

    fn descriptor() -> *const TopicDescriptor {
        &raw const MiddlewareNewsBrief_MarketData_desc
    }

    fn lend<R>(
        &self,
        scratch: &mut Scratch,
        use_sample: impl FnOnce(*const c_void) -> R,
    ) -> Result<R, Error> {
        let own = [&*self.appl_version_id, &self.message_type, &self.sender_comp_id];
        let of_entries = self.md_entries.iter().map(|e| text_bytes(entry_texts(e))).sum::<usize>();
        let texts = self.md_entries.len().saturating_mul(6).saturating_add(own.len());
        scratch.restart(text_bytes(own).saturating_add(of_entries), texts)?;
        for entry in &self.md_entries {
            let memory = lend_entry(entry, scratch)?;
            scratch.entries.push(memory);
        }
        let memory = MarketDataMemory {
            security_id: self.security_id,
            appl_version_id: scratch.c_string(&self.appl_version_id)?,
            message_type: scratch.c_string(&self.message_type)?,
            sender_comp_id: scratch.c_string(&self.sender_comp_id)?,
            msg_seq_num: self.msg_seq_num,
            sending_time: self.sending_time,
            trade_date: self.trade_date,
            md_entries: SequenceMemory::lent(&mut scratch.entries)?,
        };
        Ok(use_sample((&raw const memory).cast()))
    }

    unsafe fn load(&mut self, memory: &MarketDataMemory) -> bool {
        self.security_id = memory.security_id;
        self.msg_seq_num = memory.msg_seq_num;
        self.sending_time = memory.sending_time;
        self.trade_date = memory.trade_date;
        // SAFETY: Cyclone filled the sample, as the caller promises.
        let entries = unsafe { memory.md_entries.elements() };
        self.md_entries.resize_with(entries.len(), MarketDataEntry::default);
        // SAFETY: as above, for the strings of the sample and of its entries.
        unsafe {
            load_text(&mut self.appl_version_id, memory.appl_version_id)
                && load_text(&mut self.message_type, memory.message_type)
                && load_text(&mut self.sender_comp_id, memory.sender_comp_id)
                && self.md_entries.iter_mut().zip(entries).all(|(entry, m)| load_entry(entry, m))
        }
    }
}

// SAFETY: `QuoteRequestMemory` has the members of the generated C structure in its order and types; all
// zero means null strings and an empty sequence that Cyclone may grow. A test compares the sizes.
unsafe impl Layout for QuoteRequest {
    type Memory = QuoteRequestMemory;

    fn descriptor() -> *const TopicDescriptor {
        &raw const MiddlewareNewsBrief_QuoteRequest_desc
    }

    fn lend<R>(
        &self,
        scratch: &mut Scratch,
        use_sample: impl FnOnce(*const c_void) -> R,
    ) -> Result<R, Error> {
        let own =
            [&*self.appl_version_id, &self.message_type, &self.sender_comp_id, &self.quote_req_id];
        let of_symbols = self.related_sym.iter().map(|s| s.symbol.len()).sum::<usize>();
        let texts = self.related_sym.len().saturating_add(own.len());
        scratch.restart(text_bytes(own).saturating_add(of_symbols), texts)?;
        for symbol in &self.related_sym {
            let memory = SymbolMemory {
                symbol: scratch.c_string(&symbol.symbol)?,
                order_qty: symbol.order_qty,
                side: symbol.side,
                transact_time: symbol.transact_time,
                quote_type: symbol.quote_type,
                security_id: symbol.security_id,
                security_id_source: symbol.security_id_source,
            };
            scratch.symbols.push(memory);
        }
        let memory = QuoteRequestMemory {
            security_id: self.security_id,
            appl_version_id: scratch.c_string(&self.appl_version_id)?,
            message_type: scratch.c_string(&self.message_type)?,
            sender_comp_id: scratch.c_string(&self.sender_comp_id)?,
            msg_seq_num: self.msg_seq_num,
            sending_time: self.sending_time,
            quote_req_id: scratch.c_string(&self.quote_req_id)?,
            related_sym: SequenceMemory::lent(&mut scratch.symbols)?,
        };
        Ok(use_sample((&raw const memory).cast()))
    }

    unsafe fn load(&mut self, memory: &QuoteRequestMemory) -> bool {
        self.security_id = memory.security_id;
        self.msg_seq_num = memory.msg_seq_num;
        self.sending_time = memory.sending_time;
        // SAFETY: Cyclone filled the sample, as the caller promises.
        let symbols = unsafe { memory.related_sym.elements() };
        self.related_sym.resize_with(symbols.len(), RelatedSymbol::default);
        // SAFETY: as above, for the strings of the sample and of its symbols.
        unsafe {
            load_text(&mut self.appl_version_id, memory.appl_version_id)
                && load_text(&mut self.message_type, memory.message_type)
                && load_text(&mut self.sender_comp_id, memory.sender_comp_id)
                && load_text(&mut self.quote_req_id, memory.quote_req_id)
                && self
                    .related_sym
                    .iter_mut()
                    .zip(symbols)
                    .all(|(symbol, m)| load_symbol(symbol, m))
        }
    }
}

/// Copies one symbol.
///
/// # Safety
/// Cyclone filled `memory`, so its string is null or ends in NUL.
unsafe fn load_symbol(symbol: &mut RelatedSymbol, memory: &SymbolMemory) -> bool {
    symbol.order_qty = memory.order_qty;
    symbol.side = memory.side;
    symbol.transact_time = memory.transact_time;
    symbol.quote_type = memory.quote_type;
    symbol.security_id = memory.security_id;
    symbol.security_id_source = memory.security_id_source;
    // SAFETY: as the caller promises.
    unsafe { load_text(&mut symbol.symbol, memory.symbol) }
}

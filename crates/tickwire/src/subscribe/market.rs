//! Samples of any feed as `receive --show` prints them: the same members, and the topic and source
//! of the sample.

use super::show::amount_text;
use crate::receive::show::row::{MemberValue, push_json_cell, push_json_level};
use std::io;
use tickwire_distribution::{
    BookLevel, BookSample, BookTop, DefinitionSample, ReceivedSample, Sample, SampleArrival,
    SampleDecimal, SampleFields, StatusSample, TradeSample,
};
use tickwire_feed::book::Amount;
use tickwire_text::json::ObjectWriter;

/// The sample types of any feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarketForm {
    Book,
    BookTop,
    Definition,
    Status,
    Trade,
}

impl MarketForm {
    /// Returns the form of a type; `None` if it is not one of these types.
    pub fn of(type_name: &str) -> Option<Self> {
        let forms = [
            (&BookSample::struct_type().name, Self::Book),
            (&BookTop::struct_type().name, Self::BookTop),
            (&DefinitionSample::struct_type().name, Self::Definition),
            (&StatusSample::struct_type().name, Self::Status),
            (&TradeSample::struct_type().name, Self::Trade),
        ];
        forms.into_iter().find(|(name, _)| *name == type_name).map(|(_, form)| form)
    }

    /// Appends a sample of this type as a JSON object.
    pub fn push(
        self,
        out: &mut Vec<u8>,
        topic: &str,
        arrival: &SampleArrival<'_>,
    ) -> io::Result<()> {
        match self {
            Self::Book => push(out, topic, arrival, push_book),
            Self::BookTop => push(out, topic, arrival, push_top),
            Self::Definition => push(out, topic, arrival, push_definition),
            Self::Status => push(out, topic, arrival, push_status),
            Self::Trade => push(out, topic, arrival, push_trade),
        }
    }
}

/// The members that all of these samples have.
struct RowOrigin<'s> {
    source: &'s str,
    channel: &'s str,
    seq_num: u64,
    sending_time: u64,
}

/// Decodes a sample and appends it: its topic and source, the members that `members` appends, and its times.
fn push<S: Sample + Default>(
    out: &mut Vec<u8>,
    topic: &str,
    arrival: &SampleArrival<'_>,
    members: impl for<'s> FnOnce(&mut SampleRow<'_>, &'s S) -> RowOrigin<'s>,
) -> io::Result<()> {
    let mut received = ReceivedSample::<S>::default();
    // The subscriber has already validated the bytes.
    arrival.load(&mut received).map_err(io::Error::other)?;
    let mut row = SampleRow { members: ObjectWriter::begin(out) };
    row.text("topic", topic);
    let RowOrigin { source, channel, seq_num, sending_time } = members(&mut row, &received.sample);
    row.text("source", source);
    if !channel.is_empty() {
        row.text("channel", channel);
    }
    row.number("seq_num", Some(seq_num).filter(|number| *number > 0));
    row.number("sending_time", Some(sending_time).filter(|time| *time > 0));
    row.number("taken", Some(arrival.taken_ns));
    row.members.end();
    out.push(b'\n');
    Ok(())
}

/// A row whose members are appended one by one.
struct SampleRow<'o> {
    members: ObjectWriter<'o>,
}

impl SampleRow<'_> {
    fn cell(&mut self, name: &str, cell: &MemberValue) {
        push_json_cell(self.members.member(name), cell);
    }

    fn text(&mut self, name: &str, text: &str) {
        self.cell(name, &MemberValue::Text(text.to_owned()));
    }

    /// Appends a text, or null if it is empty, which means that the feed does not send it.
    fn optional_text(&mut self, name: &str, text: &str) {
        self.cell(name, &MemberValue::text(Some(text).filter(|text| !text.is_empty())));
    }

    fn number(&mut self, name: &str, number: Option<u64>) {
        self.cell(name, &MemberValue::number(number));
    }

    fn amount(&mut self, name: &str, has: bool, decimal: SampleDecimal) {
        self.cell(name, &MemberValue::text(has.then(|| text_of(decimal))));
    }

    /// Appends the members at the start of an event.
    fn event(&mut self, event: &str, received_ns: u64, instrument: &str) {
        self.text("event", event);
        self.number("time", Some(received_ns));
        self.optional_text("instrument", instrument);
    }

    /// Appends the members at the start of a book.
    fn book(&mut self, received_ns: u64, instrument: &str, stale_reason: &str, kind: &str) {
        self.number("time", Some(received_ns));
        self.text("instrument", instrument);
        self.text("state", if stale_reason.is_empty() { "fresh" } else { "stale" });
        self.optional_text("reason", stale_reason);
        self.text("kind", kind);
    }

    fn levels(&mut self, name: &str, levels: &[BookLevel]) {
        let out = self.members.member(name);
        out.push(b'[');
        for (index, level) in levels.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b", ");
            }
            push_level(out, level);
        }
        out.push(b']');
    }

    fn best(&mut self, name: &str, has: bool, level: &BookLevel) {
        match has {
            true => push_level(self.members.member(name), level),
            false => self.cell(name, &MemberValue::Null),
        }
    }
}

fn push_level(out: &mut Vec<u8>, level: &BookLevel) {
    let orders = Some(level.orders).filter(|orders| *orders > 0);
    push_json_level(out, &text_of(level.price), &text_of(level.size), orders);
}

fn text_of(decimal: SampleDecimal) -> String {
    amount_text(Amount { mantissa: decimal.mantissa, exponent: decimal.exponent })
}

/// Returns the members at the start of a sample.
macro_rules! head {
    ($sample:expr) => {
        RowOrigin {
            source: &$sample.source,
            channel: &$sample.channel,
            seq_num: $sample.seq_num,
            sending_time: $sample.sending_time,
        }
    };
}

fn push_top<'s>(row: &mut SampleRow<'_>, top: &'s BookTop) -> RowOrigin<'s> {
    row.book(top.received_ns, &top.instrument, &top.stale_reason, &top.kind);
    row.best("bid", top.has_bid, &top.bid);
    row.best("offer", top.has_offer, &top.offer);
    head!(top)
}

fn push_book<'s>(row: &mut SampleRow<'_>, book: &'s BookSample) -> RowOrigin<'s> {
    row.book(book.received_ns, &book.instrument, &book.stale_reason, &book.kind);
    row.levels("bids", &book.bids);
    row.levels("offers", &book.offers);
    head!(book)
}

fn push_trade<'s>(row: &mut SampleRow<'_>, trade: &'s TradeSample) -> RowOrigin<'s> {
    row.event("trade", trade.received_ns, &trade.instrument);
    row.text("action", &trade.action);
    row.amount("price", trade.has_price, trade.price);
    row.amount("size", trade.has_size, trade.size);
    row.number("exchange_date", Some(trade.exchange_date).filter(|date| *date > 0));
    row.number("exchange_time", trade.has_exchange_time.then_some(trade.exchange_time));
    row.optional_text("id", &trade.id);
    row.optional_text("aggressor", &trade.aggressor);
    row.optional_text("conditions", &trade.conditions);
    head!(trade)
}

fn push_status<'s>(row: &mut SampleRow<'_>, status: &'s StatusSample) -> RowOrigin<'s> {
    row.event("status", status.received_ns, &status.instrument);
    row.number("code", Some(status.code));
    let may_cross: &[u8] = if status.may_cross { b"true" } else { b"false" };
    row.members.member("may_cross").extend_from_slice(may_cross);
    head!(status)
}

fn push_definition<'s>(row: &mut SampleRow<'_>, definition: &'s DefinitionSample) -> RowOrigin<'s> {
    row.event("definition", definition.received_ns, &definition.instrument);
    row.optional_text("symbol", &definition.symbol);
    row.amount("tick", definition.has_tick, definition.tick);
    row.optional_text("expiry", &definition.expiry);
    head!(definition)
}

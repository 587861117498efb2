//! FAST feeds with one order per message.

use std::sync::Arc;

use tickwire_fast::generated::{self, ModuleValue, Templates, VisitTags};
use tickwire_fast::{FieldValue, Message, Program};

use super::MarketDataError;
use super::row::FieldScalar;
use crate::book::{BookUpdate, OrderAction, Side};
use crate::handler::GeneratedMessage;
use crate::market::{Adapt, BookKind, InstrumentKey, MarketSink, Update};

/// The templates and fields of a feed of orders, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderFields {
    /// Template of a new order.
    pub new: String,
    /// Template of an order whose price or size changes.
    pub change: String,
    /// Template of an order that is removed.
    pub remove: String,
    /// Field with the order's id.
    pub order_id: String,
    /// Field with the instrument's key.
    pub instrument: String,
    /// Field with the side: `B` and `S`, or the codes of FIX's Side (54), 1 and 2. Its type is a
    /// character, the code of a character, or a number.
    pub side: String,
    /// Field with the price.
    pub price: String,
    /// Field with the size.
    pub size: String,
}

impl Default for OrderFields {
    /// Returns the names of the Simple feed.
    fn default() -> Self {
        let of = str::to_owned;
        Self {
            new: of("New"),
            change: of("Change"),
            remove: of("Remove"),
            order_id: of("OrderId"),
            instrument: of("SecurityId"),
            side: of("Side"),
            price: of("Price"),
            size: of("Volume"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OrderMessageKind {
    New,
    Change,
    Remove,
}

/// Places in an array of fields.
const ORDER_ID: usize = 0;
const INSTRUMENT: usize = 1;
const SIDE: usize = 2;
const PRICE: usize = 3;
const SIZE: usize = 4;
const PLACES: usize = 5;

/// A template of orders: the indexes of its fields.
#[derive(Clone, Debug)]
struct OrderTemplateShape {
    kind: OrderMessageKind,
    at: [Option<usize>; PLACES],
}

/// Pushes the orders of messages that carry one each, such as those of the Simple feed. These feeds
/// number only messages or packets, and have no snapshots.
#[derive(Debug)]
pub struct OrderAdapter {
    program: Arc<Program>,
    shapes: Vec<Option<OrderTemplateShape>>,
}

impl OrderAdapter {
    /// Finds templates and fields; `None` if a template or a required field is missing.
    pub fn new(program: Arc<Program>, fields: &OrderFields) -> Option<Self> {
        let names =
            [&fields.order_id, &fields.instrument, &fields.side, &fields.price, &fields.size];
        let mut shapes = vec![None; program.templates().len()];
        for (kind, template) in [
            (OrderMessageKind::New, &fields.new),
            (OrderMessageKind::Change, &fields.change),
            (OrderMessageKind::Remove, &fields.remove),
        ] {
            let index = program.templates().iter().position(|t| *t.name.local == **template)?;
            let segment = program.templates().get(index)?.segment;
            let layouts = program.fields_of(segment);
            let at = names.map(|name| layouts.iter().position(|field| *field.name.local == **name));
            let needed = match kind {
                OrderMessageKind::New => PLACES,
                OrderMessageKind::Change | OrderMessageKind::Remove => SIDE,
            };
            if at.iter().take(needed).any(Option::is_none) {
                return None;
            }
            *shapes.get_mut(index)? = Some(OrderTemplateShape { kind, at });
        }
        Some(Self { program, shapes })
    }

    fn shape(
        &self,
        program: &Arc<Program>,
        at: usize,
    ) -> Result<Option<&OrderTemplateShape>, MarketDataError> {
        if !Arc::ptr_eq(&self.program, program) {
            return Err(MarketDataError::OtherProgram);
        }
        Ok(self.shapes.get(at).and_then(Option::as_ref))
    }
}

/// The tags that errors name: those of the corresponding FIX fields.
const TAGS: [u32; PLACES] = [37, 48, 54, 44, 38];

fn push<S: MarketSink>(
    kind: OrderMessageKind,
    values: &[FieldScalar<'_>; PLACES],
    seq_num: u64,
    sink: &mut S,
) -> Result<(), MarketDataError> {
    let absent = |place: usize| MarketDataError::FieldAbsent { tag: TAGS[place] };
    let amount = |place: usize| values[place].amount(TAGS[place]);
    let id = values[ORDER_ID].order_id(TAGS[ORDER_ID])?.ok_or(absent(ORDER_ID))?;
    let instrument = match values[INSTRUMENT] {
        FieldScalar::UInt(number) => sink.instrument(InstrumentKey::Number(number)),
        FieldScalar::Text(text) => sink.instrument(InstrumentKey::Text(text)),
        _ => return Err(absent(INSTRUMENT)),
    };
    let action = match kind {
        OrderMessageKind::New => OrderAction::New {
            side: side(values[SIDE])?,
            price: amount(PRICE)?.ok_or(absent(PRICE))?,
            size: amount(SIZE)?.ok_or(absent(SIZE))?,
        },
        OrderMessageKind::Change => {
            OrderAction::Change { price: amount(PRICE)?, size: amount(SIZE)? }
        }
        OrderMessageKind::Remove => OrderAction::Remove,
    };
    if let Some(instrument) = instrument {
        let change = BookUpdate::ByOrder { id, action };
        let (kind, rpt_seq, depth) = (BookKind::Outright, None, None);
        sink.update(&Update { instrument, kind, seq_num, rpt_seq, depth, change });
    }
    sink.end_message(false);
    Ok(())
}

fn side(value: FieldScalar<'_>) -> Result<Side, MarketDataError> {
    let code = match value {
        FieldScalar::Text(&[code]) => u64::from(code),
        FieldScalar::UInt(code) => code,
        FieldScalar::Absent => return Err(MarketDataError::FieldAbsent { tag: TAGS[SIDE] }),
        _ => u64::MAX,
    };
    match u8::try_from(code) {
        Ok(b'B' | b'1' | 1) => Ok(Side::Bid),
        Ok(b'S' | b'2' | 2) => Ok(Side::Offer),
        _ => Err(MarketDataError::FieldValue { tag: TAGS[SIDE] }),
    }
}

impl Adapt<Message> for OrderAdapter {
    fn adapt<S: MarketSink>(
        &mut self,
        message: &Message,
        seq_num: u64,
        sink: &mut S,
    ) -> Result<(), MarketDataError> {
        let Some(shape) = self.shape(message.program(), message.template_index())? else {
            return Ok(());
        };
        let root = message.root();
        let values = shape.at.map(|index| {
            let value = index.map_or(FieldValue::Absent, |index| root.value(index));
            FieldScalar::from(value)
        });
        push(shape.kind, &values, seq_num, sink)
    }
}

/// Collects the values of the fields at some indexes.
struct FieldCollector<'s, 'm> {
    at: &'s [Option<usize>; PLACES],
    values: [FieldScalar<'m>; PLACES],
}

impl<'m> VisitTags<'m> for FieldCollector<'_, 'm> {
    fn value<const INDEX: usize, const TAG: u32>(&mut self, value: ModuleValue<'m>) {
        let place = self.at.iter().position(|index| *index == Some(INDEX));
        if let Some(kept) = place.and_then(|place| self.values.get_mut(place)) {
            *kept = value.into();
        }
    }
}

impl<T: Templates> Adapt<GeneratedMessage<T>> for OrderAdapter {
    fn adapt<S: MarketSink>(
        &mut self,
        message: &GeneratedMessage<T>,
        seq_num: u64,
        sink: &mut S,
    ) -> Result<(), MarketDataError> {
        let known = match message.message() {
            generated::ModuleMessage::Dynamic(message) => {
                return self.adapt(message, seq_num, sink);
            }
            generated::ModuleMessage::Known(known) => known,
        };
        let Some(shape) = self.shape(message.program(), message.template_index())? else {
            return Ok(());
        };
        let mut fields = FieldCollector { at: &shape.at, values: [FieldScalar::Absent; PLACES] };
        T::visit_tags(known, &mut fields);
        push(shape.kind, &fields.values, seq_num, sink)
    }
}

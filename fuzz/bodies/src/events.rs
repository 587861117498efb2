//! A message as a list of events, to compare the results of different ways to decode it.

use tickwire_fast::{
    Decimal, FieldLayout, FieldValue, Message, MessageVisitor, Record, TemplateLayout,
};

/// A scalar that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Absent,
    UInt(u64),
    Int(i64),
    Decimal(Decimal),
    Ascii(Vec<u8>),
    Unicode(Vec<u8>),
    Bytes(Vec<u8>),
}

/// One step of a message in template order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Message(String),
    Field(String, Scalar),
    Group(String),
    Sequence(String, usize),
    Entry(usize),
    End,
}

/// Returns the events of a message.
pub(crate) fn of_message(message: &Message) -> Vec<Event> {
    let mut events = vec![Event::Message(message.template_name().to_owned())];
    add_record(message.root(), &mut events);
    events.push(Event::End);
    events
}

fn add_record(record: Record<'_>, events: &mut Vec<Event>) {
    for (field, value) in record.fields() {
        let name = || field.name.local.to_string();
        match value {
            FieldValue::Discarded => continue,
            FieldValue::Group(group) => {
                events.push(Event::Group(name()));
                add_record(group, events);
                events.push(Event::End);
            }
            FieldValue::Sequence(entries) => {
                events.push(Event::Sequence(name(), entries.len()));
                for (index, entry) in entries.iter().enumerate() {
                    events.push(Event::Entry(index));
                    add_record(entry, events);
                    events.push(Event::End);
                }
                events.push(Event::End);
            }
            FieldValue::Dynamic(template, record) => {
                let template = &record.program().templates()[template];
                events.push(Event::Message(template.name.local.to_string()));
                add_record(record, events);
                events.push(Event::End);
            }
            value => events.push(Event::Field(name(), scalar(value))),
        }
    }
}

fn scalar(value: FieldValue<'_>) -> Scalar {
    match value {
        FieldValue::UInt(value) => Scalar::UInt(value),
        FieldValue::Int(value) => Scalar::Int(value),
        FieldValue::Decimal(value) => Scalar::Decimal(value),
        FieldValue::Ascii(value) => Scalar::Ascii(value.to_vec()),
        FieldValue::Unicode(value) => Scalar::Unicode(value.to_vec()),
        FieldValue::Bytes(value) => Scalar::Bytes(value.to_vec()),
        _ => Scalar::Absent,
    }
}

/// Records the events of a message during decoding.
#[derive(Debug, Default)]
pub(crate) struct Recorder(pub(crate) Vec<Event>);

impl MessageVisitor for Recorder {
    fn begin_message(&mut self, template: &TemplateLayout) {
        self.0.push(Event::Message(template.name.local.to_string()));
    }

    fn end_message(&mut self) {
        self.0.push(Event::End);
    }

    fn field(&mut self, field: &FieldLayout, value: FieldValue<'_>) {
        self.0.push(Event::Field(field.name.local.to_string(), scalar(value)));
    }

    fn begin_group(&mut self, field: &FieldLayout) {
        self.0.push(Event::Group(field.name.local.to_string()));
    }

    fn end_group(&mut self, _field: &FieldLayout) {
        self.0.push(Event::End);
    }

    fn begin_sequence(&mut self, field: &FieldLayout, count: usize) {
        self.0.push(Event::Sequence(field.name.local.to_string(), count));
    }

    fn begin_entry(&mut self, _field: &FieldLayout, index: usize) {
        self.0.push(Event::Entry(index));
    }

    fn end_entry(&mut self, _field: &FieldLayout) {
        self.0.push(Event::End);
    }

    fn end_sequence(&mut self, _field: &FieldLayout) {
        self.0.push(Event::End);
    }
}

/// Returns the events of the fields of the outermost record that a projection keeps.
pub(crate) fn of_fields(message: &Message, wanted: &[String]) -> Vec<Event> {
    let mut events = Vec::new();
    for (field, value) in message.root().fields() {
        if !wanted.iter().any(|name| **name == *field.name.local) {
            continue;
        }
        let name = || field.name.local.to_string();
        match value {
            FieldValue::Group(group) => {
                events.push(Event::Group(name()));
                add_record(group, &mut events);
            }
            FieldValue::Sequence(entries) => {
                events.push(Event::Sequence(name(), entries.len()));
                entries.iter().for_each(|entry| add_record(entry, &mut events));
            }
            FieldValue::Dynamic(..) => {}
            FieldValue::Discarded => {
                events.push(Event::Field("discarded".to_owned(), Scalar::Absent))
            }
            value => events.push(Event::Field(name(), scalar(value))),
        }
    }
    events
}

//! Messages as text, the same for both engines.

use std::fmt::Write;
use tickwire_fast::generated::{ModuleValue, Visit};
use tickwire_fast::{FastError, FieldValue, Record, Storage};

/// Formats a record of the dynamic engine: present fields by index, without mandatory constants.
pub fn record_text(record: Record<'_>) -> String {
    let mut text = String::new();
    write_record(record, &mut text);
    text
}

fn write_record(record: Record<'_>, text: &mut String) {
    for (index, (layout, value)) in record.fields().enumerate() {
        let is_left_out = matches!(value, FieldValue::Absent | FieldValue::Discarded);
        if matches!(layout.storage, Storage::Constant(_)) || is_left_out {
            continue;
        }
        write!(text, "{index}:").unwrap();
        match value {
            _ if matches!(layout.storage, Storage::OptionalConstant(_)) => text.push_str("const"),
            FieldValue::UInt(value) => write!(text, "{value}").unwrap(),
            FieldValue::Int(value) => write!(text, "{value}").unwrap(),
            FieldValue::Decimal(value) => {
                write!(text, "{}e{}", value.mantissa, value.exponent).unwrap();
            }
            FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) | FieldValue::Bytes(bytes) => {
                write!(text, "\"{}\"", bytes.escape_ascii()).unwrap();
            }
            FieldValue::Group(group) => {
                text.push('{');
                write_record(group, text);
                text.push('}');
            }
            FieldValue::Sequence(entries) => {
                text.push('[');
                for entry in entries.iter() {
                    text.push('{');
                    write_record(entry, text);
                    text.push('}');
                }
                text.push(']');
            }
            FieldValue::Dynamic(template, record) => {
                let name = &record.program().templates()[template].name;
                write!(text, "#{name}{{").unwrap();
                write_record(record, text);
                text.push('}');
            }
            FieldValue::Absent | FieldValue::Discarded => {}
        }
        text.push(' ');
    }
}

/// Formats a message of generated code as [`record_text`] does.
pub(crate) struct Writing<'n> {
    pub(crate) text: String,
    pub(crate) names: &'n dyn Fn(usize) -> &'static str,
    closings: Vec<&'static str>,
}

impl<'n> Writing<'n> {
    pub(crate) fn new(names: &'n dyn Fn(usize) -> &'static str) -> Self {
        Self { text: String::new(), names, closings: Vec::new() }
    }
}

impl Visit for Writing<'_> {
    fn value(&mut self, index: usize, value: ModuleValue<'_>) -> Result<(), FastError> {
        let text = &mut self.text;
        match value {
            ModuleValue::UInt(value) => write!(text, "{index}:{value} ").unwrap(),
            ModuleValue::Int(value) => write!(text, "{index}:{value} ").unwrap(),
            ModuleValue::Decimal(value) => {
                write!(text, "{index}:{}e{} ", value.mantissa, value.exponent).unwrap();
            }
            ModuleValue::Bytes(bytes) => {
                write!(text, "{index}:\"{}\" ", bytes.escape_ascii()).unwrap()
            }
            ModuleValue::Constant => write!(text, "{index}:const ").unwrap(),
        }
        Ok(())
    }

    fn begin_group(&mut self, index: usize) -> Result<(), FastError> {
        write!(self.text, "{index}:{{").unwrap();
        self.closings.push("} ");
        Ok(())
    }

    fn begin_sequence(&mut self, index: usize, _len: usize) -> Result<(), FastError> {
        write!(self.text, "{index}:[").unwrap();
        self.closings.push("] ");
        Ok(())
    }

    fn begin_entry(&mut self) -> Result<(), FastError> {
        self.text.push('{');
        self.closings.push("}");
        Ok(())
    }

    fn begin_dynamic(&mut self, index: usize, number: usize) -> Result<(), FastError> {
        write!(self.text, "{index}:#{}{{", (self.names)(number)).unwrap();
        self.closings.push("} ");
        Ok(())
    }

    fn end(&mut self) -> Result<(), FastError> {
        self.text.push_str(self.closings.pop().unwrap_or_default());
        Ok(())
    }
}

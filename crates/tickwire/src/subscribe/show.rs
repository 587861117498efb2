//! Prints samples as lines of JSON; those of any feed as `receive --show` prints them.

use super::market::MarketForm;
use std::io::{self, Write};
use tickwire_distribution::types::{Scalar, StructType, Visitor};
use tickwire_distribution::{SampleArrival, SampleDecimal, SampleFields, TopicSet};
use tickwire_feed::book::Amount;
use tickwire_text::json::{push_hex, push_integer, push_string, push_unsigned};

/// Bytes buffered before they are written.
const GATHERED_BYTES: usize = 32 << 10;

/// Range of the exponents of FAST decimals; a publisher may send others.
const EXPONENT_MIN: i32 = -63;
const EXPONENT_MAX: i32 = 63;

/// Prints samples.
pub struct Shower {
    out: Vec<u8>,
    /// Names of the topics, by set, and their form if they have one of their own.
    topics: Vec<(String, Option<MarketForm>)>,
}

impl Shower {
    /// Prints samples of these sets.
    pub fn new(sets: &[TopicSet]) -> Self {
        let topics = sets.iter().map(|set| (set.name.clone(), MarketForm::of(&set.of.name)));
        Self { out: Vec::new(), topics: topics.collect() }
    }

    /// Formats one sample, and writes the buffered text if there is enough.
    pub fn show(&mut self, arrival: &SampleArrival<'_>) -> io::Result<()> {
        let Self { out, topics } = self;
        match &topics[arrival.set] {
            (topic, Some(form)) => form.push(out, topic, arrival)?,
            (topic, None) => {
                out.extend_from_slice(b"{\"topic\": ");
                push_string(out, topic);
                out.extend_from_slice(b", \"time\": ");
                push_unsigned(out, arrival.taken_ns);
                push_members(out, arrival, false)?;
                out.extend_from_slice(b"}\n");
            }
        }
        if self.out.len() >= GATHERED_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the buffered text.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(&self.out)?;
        self.out.clear();
        stdout.flush()
    }
}

/// Appends a sample as JSON.
#[cfg(feature = "columns")]
pub fn push_sample(out: &mut Vec<u8>, arrival: &SampleArrival<'_>) -> io::Result<()> {
    out.push(b'{');
    push_members(out, arrival, true)?;
    out.push(b'}');
    Ok(())
}

fn push_members(out: &mut Vec<u8>, arrival: &SampleArrival<'_>, is_first: bool) -> io::Result<()> {
    let mut members = JsonMembers::new(out, is_first);
    // The subscriber has already validated the bytes.
    arrival.of.walk(&mut arrival.raw.decoder(), &mut members).map_err(io::Error::other)
}

/// Appends members as JSON. A decimal becomes a string of digits, so that it stays exact.
struct JsonMembers<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
    /// The parts of the current decimal.
    decimal: Option<Amount>,
}

impl<'o> JsonMembers<'o> {
    /// Creates the visitor. It writes a comma before the first member unless `is_first` is set.
    fn new(out: &'o mut Vec<u8>, is_first: bool) -> Self {
        Self { out, is_first, decimal: None }
    }

    fn name(&mut self, name: &str) {
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.extend_from_slice(b", ");
        }
        if !name.is_empty() {
            push_string(self.out, name);
            self.out.extend_from_slice(b": ");
        }
    }
}

/// Returns true if a structure is a decimal.
pub fn is_decimal(of: &StructType) -> bool {
    of.name == SampleDecimal::struct_type().name
}

/// Stores a part of a decimal.
fn note_part(decimal: &mut Amount, name: &str, value: Scalar<'_>) {
    match (name, value) {
        ("mantissa", Scalar::Int(mantissa)) => decimal.mantissa = mantissa,
        ("exponent", Scalar::Int(exponent)) => {
            decimal.exponent = i32::try_from(exponent).unwrap_or(i32::MAX);
        }
        _ => {}
    }
}

/// Returns the digits of a decimal; mantissa and exponent if it has more digits than a price can have.
pub fn amount_text(decimal: Amount) -> String {
    match decimal.exponent {
        EXPONENT_MIN..=EXPONENT_MAX => decimal.to_string(),
        exponent => format!("{}e{exponent}", decimal.mantissa),
    }
}

impl Visitor for JsonMembers<'_> {
    fn scalar(&mut self, name: &str, value: Scalar<'_>) {
        if let Some(decimal) = &mut self.decimal {
            note_part(decimal, name, value);
            return;
        }
        self.name(name);
        let out = &mut *self.out;
        match value {
            Scalar::Bool(flag) => out.extend_from_slice(if flag { b"true" } else { b"false" }),
            Scalar::Bytes(bytes) => push_hex(out, bytes),
            Scalar::Char(char) => push_string(out, char::from(char).encode_utf8(&mut [0; 2])),
            Scalar::F64(number) if number.is_finite() => {
                // Writing to a vector does not fail.
                let _ = write!(out, "{number}");
            }
            Scalar::F64(_) => out.extend_from_slice(b"null"),
            Scalar::Int(number) => push_integer(out, number),
            Scalar::Str(text) => push_string(out, text),
            Scalar::UInt(number) => push_unsigned(out, number),
        }
    }

    fn absent(&mut self, name: &str) {
        self.name(name);
        self.out.extend_from_slice(b"null");
    }

    fn begin_struct(&mut self, name: &str, of: &StructType) {
        self.name(name);
        if is_decimal(of) {
            self.decimal = Some(Amount::integer(0));
        } else {
            self.out.push(b'{');
            self.is_first = true;
        }
    }

    fn end_struct(&mut self) {
        self.is_first = false;
        match self.decimal.take() {
            Some(decimal) => push_string(self.out, &amount_text(decimal)),
            None => self.out.push(b'}'),
        }
    }

    fn begin_sequence(&mut self, name: &str, _: usize) {
        self.name(name);
        self.out.push(b'[');
        self.is_first = true;
    }

    fn end_sequence(&mut self) {
        self.is_first = false;
        self.out.push(b']');
    }
}

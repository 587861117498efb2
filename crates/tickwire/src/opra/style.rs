//! Selection and format of messages.

use super::print::MessageFormat;
use crate::failure::Failure;
use crate::output::compression_of;
use std::fmt::Write as _;
use std::path::Path;
use tickwire_opra::{Field, OpraDecimal, OpraEntry, OpraFieldKind, OpraMessage, Price, ascii};
use tickwire_text::json::{ObjectWriter, push_string, push_unsigned};

/// Selection and format of messages.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StyleArgs {
    /// Output format. Default: by the suffix of --output (.jsonl, .csv), else jsonl
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<MessageFormat>,
    /// Write only messages of these categories, by their codes
    #[arg(long, value_name = "CODE,..", value_delimiter = ',')]
    category: Vec<char>,
    /// Write only messages with these security symbols
    #[arg(long, value_name = "SYMBOL,..", value_delimiter = ',')]
    symbol: Vec<String>,
    /// Write only these fields (jsonl and csv)
    #[arg(long, value_name = "FIELD,..", value_delimiter = ',', value_parser = field_named)]
    fields: Vec<Field>,
    /// Write codes by name, or as characters if they have no name (jsonl and csv)
    #[arg(long)]
    names: bool,
    /// Write prices as decimals, with their denominators applied; null if the denominator code is
    /// unknown (jsonl and csv)
    #[arg(long)]
    prices: bool,
}

fn field_named(name: &str) -> Result<Field, String> {
    Field::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Field::ALL.iter().map(|field| field.name()).collect();
        format!("the fields are {}", names.join(", "))
    })
}

impl StyleArgs {
    /// Returns the requested style; `suffix` is the format that the output's suffix stands for, if any.
    ///
    /// # Errors
    /// The ASCII form does not support `--names`, `--prices` and `--fields`.
    pub fn style(&self, suffix: Option<MessageFormat>) -> Result<Style, Failure> {
        let format = self.format.or(suffix).unwrap_or(MessageFormat::Jsonl);
        if format == MessageFormat::Ascii && (self.names || self.prices || !self.fields.is_empty())
        {
            let text = "--names, --prices and --fields are for jsonl and csv".to_owned();
            return Err(Failure::Usage(text));
        }
        let fields = match self.fields.as_slice() {
            [] => u64::MAX,
            fields => fields.iter().fold(0, |bits, field| bits | field.bit()),
        };
        let columns = Field::ALL.into_iter().filter(|field| fields & field.bit() != 0).collect();
        Ok(Style {
            format,
            categories: self.category.iter().map(|code| u32::from(*code)).collect(),
            symbols: self.symbol.clone(),
            fields,
            columns,
            names: self.names,
            prices: self.prices,
        })
    }
}

/// Selection and format of messages, ready for use.
#[derive(Clone, Debug)]
pub struct Style {
    format: MessageFormat,
    /// Codes of the selected categories; empty selects all.
    categories: Vec<u32>,
    /// Selected symbols; empty selects all.
    symbols: Vec<String>,
    /// The selected fields as a mask.
    fields: u64,
    /// The selected fields as columns of CSV.
    columns: Vec<Field>,
    names: bool,
    prices: bool,
}

/// Position of a message. Unknown parts are omitted.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpraMessagePlace {
    /// Index of its packet.
    pub packet: Option<u64>,
    /// Time of its arrival in nanoseconds since 1970-01-01 UTC.
    pub captured_ns: Option<u64>,
    /// Line, from 1.
    pub line: Option<usize>,
}

impl OpraMessagePlace {
    /// Names of the parts, also as column names.
    pub const NAMES: [&str; 3] = ["pkt", "captured", "line"];

    fn values(self) -> [Option<u64>; 3] {
        [self.packet, self.captured_ns, self.line.map(|line| line as u64)]
    }
}

/// A value in its output form.
enum StyledValue {
    Null,
    Number(u64),
    Text(String),
    /// A number with a decimal point.
    Decimal(String),
}

impl Style {
    /// A style that writes all fields and values as decoded.
    pub fn plain(format: MessageFormat) -> Self {
        let (categories, symbols) = (Vec::new(), Vec::new());
        let columns = Field::ALL.to_vec();
        let fields = u64::MAX;
        Self { format, categories, symbols, fields, columns, names: false, prices: false }
    }

    /// True if the selection includes the message.
    pub fn wants(&self, message: &OpraMessage<'_>) -> bool {
        let is_category =
            self.categories.is_empty() || self.categories.contains(&message.category_code());
        is_category && (self.symbols.is_empty() || self.is_symbol(message))
    }

    fn is_symbol(&self, message: &OpraMessage<'_>) -> bool {
        let Some(symbol) = message.symbol() else { return false };
        let symbol = symbol.to_string();
        self.symbols.iter().any(|wanted| wanted == symbol.trim_end())
    }

    /// The first line of the output, if the format has one.
    pub fn heading(&self) -> Option<String> {
        let fields = self.columns.iter().map(|field| field.name());
        let columns: Vec<&str> =
            OpraMessagePlace::NAMES.into_iter().chain(["entry"]).chain(fields).collect();
        (self.format == MessageFormat::Csv).then(|| columns.join(",") + "\n")
    }

    /// Appends the rows of a message without their leading position; pushes the end of each row to `ends`.
    pub fn push_rows(&self, message: &OpraMessage<'_>, out: &mut Vec<u8>, ends: &mut Vec<usize>) {
        match self.format {
            MessageFormat::Jsonl => self.push_members(message, out),
            MessageFormat::Ascii => ascii::print_message(message, out),
            MessageFormat::Csv => return self.push_cells(message, out, ends),
        }
        out.push(b'\n');
        ends.push(out.len());
    }

    /// Appends the leading position of a row.
    pub fn push_place(&self, place: OpraMessagePlace, out: &mut Vec<u8>) {
        let values = place.values();
        match self.format {
            MessageFormat::Ascii => {}
            MessageFormat::Jsonl => {
                out.push(b'{');
                for (name, value) in OpraMessagePlace::NAMES.into_iter().zip(values) {
                    let Some(value) = value else { continue };
                    push_string(out, name);
                    out.extend_from_slice(b": ");
                    push_unsigned(out, value);
                    out.extend_from_slice(b", ");
                }
            }
            MessageFormat::Csv => {
                for value in values {
                    value.iter().for_each(|value| push_unsigned(out, *value));
                    out.push(b',');
                }
            }
        }
    }

    /// Appends the members of a message and the end of its object.
    fn push_members(&self, message: &OpraMessage<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        let mut members = ObjectWriter::begin(out);
        for field in message.wire_order().filter(|field| self.fields & field.bit() != 0) {
            push_json(&self.value(message, field), members.member(field.name()));
        }
        if let Some(group) = message.group() {
            if self.fields & group.count.bit() != 0 {
                push_json(&self.value(message, group.count), members.member(group.count.name()));
            }
            let wanted = |field: &&Field| self.fields & field.bit() != 0 && message.has(**field);
            let fields: Vec<&Field> = group.fields.iter().filter(wanted).collect();
            if !fields.is_empty() {
                let list = members.member("groups");
                list.push(b'[');
                for (index, entry) in message.entries().iter().enumerate() {
                    list.extend_from_slice(if index == 0 { b"" } else { b", " });
                    let mut members = ObjectWriter::begin(list);
                    for field in &fields {
                        push_json(&self.member(entry, **field), members.member(field.name()));
                    }
                    members.end();
                }
                list.push(b']');
            }
        }
        members.end();
        // The position begins with the opening brace.
        out.remove(start);
    }

    /// Appends the rows of a message: one for each entry of its group, or one.
    fn push_cells(&self, message: &OpraMessage<'_>, out: &mut Vec<u8>, ends: &mut Vec<usize>) {
        let group = message.group();
        let in_group = |field: Field| group.is_some_and(|group| group.fields.contains(&field));
        let entries = message.entries();
        let rows = entries.iter().map(Some).chain(entries.is_empty().then_some(None));
        for (index, entry) in rows.enumerate() {
            let mut row = entry.map_or_else(String::new, |_| index.to_string());
            for field in &self.columns {
                row.push(',');
                match entry {
                    Some(entry) if in_group(*field) && message.has(*field) => {
                        push_cell(&self.member(entry, *field), &mut row);
                    }
                    _ if !message.has(*field) || in_group(*field) => {}
                    _ => push_cell(&self.value(message, *field), &mut row),
                }
            }
            row.push('\n');
            out.extend_from_slice(row.as_bytes());
            ends.push(out.len());
        }
    }

    fn value(&self, message: &OpraMessage<'_>, field: Field) -> StyledValue {
        match field.kind(message.version()) {
            OpraFieldKind::SeqNum(_) => StyledValue::Number(message.seq_num().unwrap_or_default()),
            OpraFieldKind::Chars(_) => {
                StyledValue::Text(message.chars(field).unwrap_or_default().to_string())
            }
            OpraFieldKind::Text => {
                StyledValue::Text(message.text().unwrap_or_default().to_string())
            }
            _ if self.names && message.code_name(field).is_some() => {
                StyledValue::Text(message.code_name(field).unwrap_or_default().to_owned())
            }
            OpraFieldKind::Character if self.names || field == Field::Category => {
                character(message.number(field).unwrap_or_default())
            }
            _ => match message.price(field).filter(|_| self.prices) {
                Some(price) => decimal(price),
                None => StyledValue::Number(message.number(field).unwrap_or_default().into()),
            },
        }
    }

    /// A value of a group entry.
    fn member(&self, entry: &OpraEntry, field: Field) -> StyledValue {
        match field {
            Field::Reserved1 => StyledValue::Text(entry.reserved.to_string()),
            Field::IndexValue => StyledValue::Text(entry.value.to_string()),
            Field::BidIndexValue => StyledValue::Text(entry.bid.to_string()),
            Field::OfferIndexValue => StyledValue::Text(entry.offer.to_string()),
            Field::DecimalPlacement => StyledValue::Number(entry.decimal_placement.into()),
            Field::SpotValue if self.prices => spot(entry),
            Field::SpotValue => StyledValue::Number(entry.spot.into()),
            _ => StyledValue::Text(entry.symbol.to_string()),
        }
    }
}

fn character(code: u32) -> StyledValue {
    match u8::try_from(code) {
        Ok(code) if code.is_ascii() => StyledValue::Text(char::from(code).to_string()),
        _ => StyledValue::Number(code.into()),
    }
}

fn decimal(price: Price) -> StyledValue {
    price.decimal().map_or(StyledValue::Null, |decimal| StyledValue::Decimal(decimal.to_string()))
}

/// Returns a spot value; null if it has more decimal places than an integer has digits.
fn spot(entry: &OpraEntry) -> StyledValue {
    const PLACES_MAX: u32 = 10;
    let OpraEntry { spot: digits, decimal_placement: places, .. } = *entry;
    match places {
        0..=PLACES_MAX => StyledValue::Decimal(OpraDecimal { digits, places }.to_string()),
        _ => StyledValue::Null,
    }
}

fn push_json(value: &StyledValue, out: &mut Vec<u8>) {
    match value {
        StyledValue::Null => out.extend_from_slice(b"null"),
        StyledValue::Number(number) => push_unsigned(out, *number),
        StyledValue::Text(text) => push_string(out, text),
        StyledValue::Decimal(digits) => out.extend_from_slice(digits.as_bytes()),
    }
}

fn push_cell(value: &StyledValue, row: &mut String) {
    // Writing to a string does not fail.
    let _ = match value {
        StyledValue::Null => Ok(()),
        StyledValue::Number(number) => write!(row, "{number}"),
        StyledValue::Decimal(digits) => row.write_str(digits),
        StyledValue::Text(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) => {
            write!(row, "\"{}\"", text.replace('"', "\"\""))
        }
        StyledValue::Text(text) => row.write_str(text),
    };
}

impl MessageFormat {
    /// The format that a file name such as `x.csv.zst` stands for.
    pub fn from_suffix(path: &Path) -> Option<Self> {
        let is_compressed = compression_of(path).is_some();
        let uncompressed = path.file_stem().map(Path::new);
        let name = if is_compressed { uncompressed? } else { path };
        match name.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "jsonl" | "json" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

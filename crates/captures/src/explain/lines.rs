//! Rows as lines of a table.

use super::Explained;
use super::rows::ExplanationRow;

/// Bytes of a field on one line.
const BYTES_PER_LINE: usize = 8;
/// Most lines for a field or presence map.
const LINES_MAX: usize = 64;
/// Bits of a presence map in a byte.
const MAP_BITS: usize = 7;

/// Column headings of the cells of a line.
pub const TITLES: [&str; 8] =
    ["offset", "bytes", "field", "type", "operator", "bit", "value", "dictionary"];

/// Emphasis of a text, for coloured output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Emphasis {
    /// Names and operators.
    #[default]
    Plain,
    /// Titles.
    Heading,
    /// Background information.
    Quiet,
    /// Bytes, and bits of a presence map.
    Bytes,
    /// A value.
    Value,
    /// A dictionary entry that changes.
    Changed,
    /// An error.
    Error,
}

/// A line of the table: a cell for each of [`TITLES`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplanationLine {
    /// Texts, without line ends.
    pub cells: [(String, Emphasis); 8],
}

impl ExplanationLine {
    /// Returns the lines of a row of a message.
    pub(super) fn of(message: &Explained<'_>, row: &ExplanationRow) -> Vec<Self> {
        let at = row.bytes.start.saturating_sub(message.offset);
        let bytes = message.bytes.get(at..at + row.bytes.len()).unwrap_or_default();
        match &row.map_bits {
            Some(bits) => Self::map(row, bytes, bits),
            None => Self::field(row, bytes),
        }
    }

    /// Returns a line for each byte of a presence map, with the purpose of its bits.
    fn map(row: &ExplanationRow, bytes: &[u8], bits: &[String]) -> Vec<Self> {
        let line = |(index, byte): (usize, &u8)| {
            let names = bits.iter().skip(index * MAP_BITS).take(MAP_BITS);
            let names: Vec<&str> = names.map(String::as_str).collect();
            let value = format!("{:07b}  {}", byte & 0x7f, names.join(", "));
            let mut line = Self::bytes(row.bytes.start + index, &[*byte]);
            if index == 0 {
                line.cells[2] = (row.indented_name(), Emphasis::Heading);
            }
            line.cells[6] = (value.trim_end().to_owned(), Emphasis::Bytes);
            line
        };
        let mut lines: Vec<Self> = bytes.iter().enumerate().take(LINES_MAX).map(line).collect();
        lines.extend(Self::more(bytes.len().saturating_sub(LINES_MAX)));
        lines
    }

    /// Returns a line with the number of bytes that are not shown.
    fn more(bytes: usize) -> Option<Self> {
        let mut line = Self::default();
        line.cells[1] = (format!("and {bytes} more"), Emphasis::Quiet);
        (bytes > 0).then_some(line)
    }

    fn field(row: &ExplanationRow, bytes: &[u8]) -> Vec<Self> {
        let mut lines = Vec::new();
        for (index, chunk) in bytes.chunks(BYTES_PER_LINE).take(LINES_MAX).enumerate() {
            lines.push(Self::bytes(row.bytes.start + index * BYTES_PER_LINE, chunk));
        }
        if lines.is_empty() {
            lines.push(Self::default());
        }
        lines.extend(Self::more(bytes.len().saturating_sub(LINES_MAX * BYTES_PER_LINE)));
        let name = if row.is_heading { Emphasis::Heading } else { Emphasis::Plain };
        let value = if row.value == "absent" { Emphasis::Quiet } else { Emphasis::Value };
        let entry = if row.changes_dictionary { Emphasis::Changed } else { Emphasis::Quiet };
        let cells = &mut lines[0].cells;
        cells[2] = (row.indented_name(), name);
        cells[3] = (row.kind.clone(), Emphasis::Quiet);
        cells[4] = (row.operator.clone(), Emphasis::Plain);
        cells[5] = (row.bit.clone(), Emphasis::Bytes);
        cells[6] = (row.value.clone(), value);
        cells[7] = (row.dictionary.clone(), entry);
        lines
    }

    fn bytes(at: usize, bytes: &[u8]) -> Self {
        let mut line = Self::default();
        line.cells[0] = (at.to_string(), Emphasis::Quiet);
        line.cells[1] = (hex(bytes), Emphasis::Bytes);
        line
    }
}

/// Bytes in hexadecimal, with spaces between them.
pub(super) fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

//! Rows in columns, in colour where the output takes it.

use super::rows::Row;
use anstyle::{AnsiColor, Style};
use std::io::{self, Write};
use tickwire_feed::framing::Segment;

/// Bytes of a field on one line.
const BYTES_PER_LINE: usize = 8;
/// Most lines of a field or presence map.
const LINES_MAX: usize = 64;
/// Bits of a presence map in a byte.
const MAP_BITS: usize = 7;

const BYTES: Style = AnsiColor::Cyan.on_default();
const HEADING: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const VALUE: Style = AnsiColor::Green.on_default();
const CHANGED: Style = AnsiColor::Yellow.on_default();
const PLAIN: Style = Style::new();

/// The style of errors.
pub const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Writes a line in bold.
pub fn write_title(out: &mut impl Write, title: &str) -> io::Result<()> {
    writeln!(out, "{HEADING}{title}{HEADING:#}")
}

/// Writes rows of this segment of a packet with a heading.
pub fn write_rows(out: &mut impl Write, segment: &Segment<'_>, rows: &[Row]) -> io::Result<()> {
    let titles = ["offset", "bytes", "field", "type", "operator", "bit", "value", "dictionary"];
    // Made twice, so that not all lines have to be held.
    let lines = || rows.iter().flat_map(|row| Line::of(segment, row));
    let mut widths = titles.map(str::len);
    let is_short = |text: &str| text.chars().count() <= VALUE_WIDTH_MAX;
    for line in lines() {
        // The last two columns of a line may be long: they do not push others apart.
        for (width, (text, _)) in widths.iter_mut().zip(&line.cells[..6]) {
            *width = text.chars().count().max(*width);
        }
        let [.., (value, _), (dictionary, _)] = &line.cells;
        if !dictionary.is_empty() && is_short(value) {
            widths[6] = value.chars().count().max(widths[6]);
        }
    }
    let titles = Line { cells: titles.map(|title| (title.to_owned(), QUIET)) };
    for line in std::iter::once(titles).chain(lines()) {
        line.write(out, &widths)?;
    }
    Ok(())
}

/// Widest value that the dictionary column makes room for.
const VALUE_WIDTH_MAX: usize = 28;

/// A line of the table.
struct Line {
    cells: [(String, Style); 8],
}

impl Line {
    fn of(segment: &Segment<'_>, row: &Row) -> Vec<Self> {
        let at = row.bytes.start.saturating_sub(segment.offset);
        let bytes = segment.bytes.get(at..at + row.bytes.len()).unwrap_or_default();
        match &row.map_bits {
            Some(bits) => Self::map(row, bytes, bits),
            None => Self::field(row, bytes),
        }
    }

    /// A line for each byte of a presence map, with what its bits are for.
    fn map(row: &Row, bytes: &[u8], bits: &[String]) -> Vec<Self> {
        let line = |(index, byte): (usize, &u8)| {
            let names = bits.iter().skip(index * MAP_BITS).take(MAP_BITS);
            let names: Vec<&str> = names.map(String::as_str).collect();
            let value = format!("{:07b}  {}", byte & 0x7f, names.join(", "));
            let mut line = Self::bytes(row.bytes.start + index, &[*byte]);
            if index == 0 {
                line.cells[2] = (row.indented_name(), HEADING);
            }
            line.cells[6] = (value.trim_end().to_owned(), BYTES);
            line
        };
        let mut lines: Vec<Self> = bytes.iter().enumerate().take(LINES_MAX).map(line).collect();
        lines.extend(Self::more(bytes.len().saturating_sub(LINES_MAX)));
        lines
    }

    /// Says how many bytes are not shown.
    fn more(bytes: usize) -> Option<Self> {
        let mut line = Self { cells: Default::default() };
        line.cells[1] = (format!("and {bytes} more"), QUIET);
        (bytes > 0).then_some(line)
    }

    fn field(row: &Row, bytes: &[u8]) -> Vec<Self> {
        let mut lines = Vec::new();
        for (index, chunk) in bytes.chunks(BYTES_PER_LINE).take(LINES_MAX).enumerate() {
            lines.push(Self::bytes(row.bytes.start + index * BYTES_PER_LINE, chunk));
        }
        if lines.is_empty() {
            lines.push(Self { cells: Default::default() });
        }
        lines.extend(Self::more(bytes.len().saturating_sub(LINES_MAX * BYTES_PER_LINE)));
        let value_style = if row.value == "absent" { QUIET } else { VALUE };
        let cells = &mut lines[0].cells;
        cells[2] = (row.indented_name(), if row.is_heading { HEADING } else { PLAIN });
        cells[3] = (row.kind.clone(), QUIET);
        cells[4] = (row.operator.clone(), PLAIN);
        cells[5] = (row.bit.clone(), BYTES);
        cells[6] = (row.value.clone(), value_style);
        cells[7] = (row.dictionary.clone(), if row.changes_dictionary { CHANGED } else { QUIET });
        lines
    }

    fn bytes(at: usize, bytes: &[u8]) -> Self {
        let mut cells: [(String, Style); 8] = Default::default();
        cells[0] = (at.to_string(), QUIET);
        cells[1] = (hex(bytes), BYTES);
        Self { cells }
    }

    fn write(&self, out: &mut impl Write, widths: &[usize; 8]) -> io::Result<()> {
        let last = self.cells.iter().rposition(|(text, _)| !text.is_empty()).unwrap_or(0);
        for (index, ((text, style), &width)) in self.cells.iter().zip(widths).enumerate() {
            let padding = width.saturating_sub(text.chars().count());
            let (left, right) = if index == 0 { (padding, 0) } else { (0, padding) };
            let style = if text.is_empty() { &PLAIN } else { style };
            write!(out, "{:left$}{style}{text}{style:#}", "")?;
            if index == last {
                break;
            }
            write!(out, "{:right$}  ", "")?;
        }
        writeln!(out)
    }
}

fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

//! Prints parts of a packet as lines of text.

use std::io::{self, Write};

use super::lines::{Emphasis, ExplanationLine, TITLES, hex};
use super::{Explained, PacketPart, Stopped};
use tickwire_feed::counted;

/// Widest value that the dictionary column makes room for.
const VALUE_WIDTH_MAX: usize = 28;
/// Bytes printed after the position at which decoding failed.
const BYTES_SHOWN_MAX: usize = 24;

/// Writes a part. `paint` colours a text by its emphasis, or returns it unchanged.
///
/// # Errors
/// Errors of the output.
pub fn write_text(
    out: &mut dyn Write,
    part: &PacketPart<'_>,
    paint: &dyn Fn(Emphasis, &str) -> String,
) -> io::Result<()> {
    match part {
        PacketPart::Preamble { bytes, seq_num } => {
            let number = seq_num.map(|number| format!(", sequence number {number}"));
            writeln!(out, "preamble {}{}", hex(bytes), number.unwrap_or_default())
        }
        PacketPart::Message(message) => write_message(out, message, paint),
        PacketPart::Wrong(text) => writeln!(out, "{}", paint(Emphasis::Error, text)),
    }
}

fn write_message(
    out: &mut dyn Write,
    message: &Explained<'_>,
    paint: &dyn Fn(Emphasis, &str) -> String,
) -> io::Result<()> {
    writeln!(out, "\n{}", paint(Emphasis::Heading, &title(message)))?;
    let widths = widths(message);
    let titles = ExplanationLine { cells: TITLES.map(|title| (title.to_owned(), Emphasis::Quiet)) };
    for line in std::iter::once(titles).chain(message.lines()) {
        write_line(out, &line, &widths, paint)?;
    }
    if message.omitted > 0 {
        writeln!(out, "and {} more", message.omitted)?;
    }
    match &message.error {
        None => Ok(()),
        Some(stopped) => {
            writeln!(out, "{}", paint(Emphasis::Error, &stopped.text))?;
            writeln!(out, "{}", rest(message, stopped))
        }
    }
}

pub(super) fn title(message: &Explained<'_>) -> String {
    let offset = message.offset;
    match message.len {
        Some(len) => format!("message at offset {offset}, {}", counted(len, "byte")),
        None => format!("message at offset {offset}"),
    }
}

/// Describes the bytes left when decoding failed.
pub(super) fn rest(message: &Explained<'_>, stopped: &Stopped) -> String {
    let rest = message.bytes.get(stopped.at..).unwrap_or_default();
    if rest.is_empty() {
        return "no bytes are left".to_owned();
    }
    let shown = hex(&rest[..rest.len().min(BYTES_SHOWN_MAX)]);
    let more = if rest.len() > BYTES_SHOWN_MAX { " .." } else { "" };
    format!("bytes from there on, {}: {shown}{more}", rest.len())
}

fn widths(message: &Explained<'_>) -> [usize; 8] {
    let mut widths = TITLES.map(str::len);
    // Lines are created twice, so that they need not all be held in memory.
    for line in message.lines() {
        // The last two columns of a line may be long; they do not widen the columns.
        for (width, (text, _)) in widths.iter_mut().zip(&line.cells[..6]) {
            *width = text.chars().count().max(*width);
        }
        let [.., (value, _), (dictionary, _)] = &line.cells;
        let len = value.chars().count();
        if !dictionary.is_empty() && len <= VALUE_WIDTH_MAX {
            widths[6] = len.max(widths[6]);
        }
    }
    widths
}

fn write_line(
    out: &mut dyn Write,
    line: &ExplanationLine,
    widths: &[usize; 8],
    paint: &dyn Fn(Emphasis, &str) -> String,
) -> io::Result<()> {
    let last = line.cells.iter().rposition(|(text, _)| !text.is_empty()).unwrap_or(0);
    for (index, ((text, emphasis), &width)) in line.cells.iter().zip(widths).enumerate() {
        let padding = width.saturating_sub(text.chars().count());
        let (left, right) = if index == 0 { (padding, 0) } else { (0, padding) };
        let painted = if text.is_empty() { String::new() } else { paint(*emphasis, text) };
        write!(out, "{:left$}{painted}", "")?;
        if index == last {
            break;
        }
        write!(out, "{:right$}  ", "")?;
    }
    writeln!(out)
}

//! Parts of a packet as HTML.

use std::io::{self, Write};

use super::lines::{Emphasis, ExplanationLine, TITLES, hex};
use super::text::{rest, title};
use super::{Explained, PacketPart};

/// A style sheet for the output of [`write_html`], within an element of class `tickwire-explain`.
/// Colours can be distinguished on light and dark pages, and by people with colour blindness.
pub const STYLE: &str = "\
.tickwire-explain table { border-collapse: collapse; margin: 0.3em 0 1em; }
.tickwire-explain th, .tickwire-explain td { text-align: left; vertical-align: top; padding: 0 0.8em 0 0;
  font-family: monospace; white-space: pre-wrap; border: none; }
.tickwire-explain td:first-child, .tickwire-explain th:first-child { text-align: right; }
.tickwire-explain th, .tickwire-explain .quiet { opacity: 0.6; font-weight: normal; }
.tickwire-explain .heading { font-weight: bold; }
.tickwire-explain .bytes { color: #1b7fa8; }
.tickwire-explain .value { color: #2f8a3c; }
.tickwire-explain .changed { color: #b06f00; }
.tickwire-explain .error { color: #d2352b; font-weight: bold; }
";

/// Writes a part: a paragraph, or a heading and a table.
///
/// # Errors
/// Errors of the output.
pub fn write_html(out: &mut dyn Write, part: &PacketPart<'_>) -> io::Result<()> {
    match part {
        PacketPart::Preamble { bytes, seq_num } => {
            let number = seq_num.map(|number| format!(", sequence number {number}"));
            let number = number.unwrap_or_default();
            writeln!(out, "<p>preamble <code class=\"bytes\">{}</code>{number}</p>", hex(bytes))
        }
        PacketPart::Message(message) => write_message(out, message),
        PacketPart::Wrong(text) => writeln!(out, "<p class=\"error\">{}</p>", escaped(text)),
    }
}

fn write_message(out: &mut dyn Write, message: &Explained<'_>) -> io::Result<()> {
    writeln!(out, "<p class=\"heading\">{}</p>", title(message))?;
    write!(out, "<table><thead><tr>")?;
    for title in TITLES {
        write!(out, "<th>{title}</th>")?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for line in message.lines() {
        write_line(out, &line)?;
    }
    writeln!(out, "</tbody></table>")?;
    if message.omitted > 0 {
        writeln!(out, "<p class=\"quiet\">and {} more</p>", message.omitted)?;
    }
    let Some(stopped) = &message.error else { return Ok(()) };
    writeln!(out, "<p class=\"error\">{}</p>", escaped(&stopped.text))?;
    writeln!(out, "<p class=\"quiet\">{}</p>", rest(message, stopped))
}

fn write_line(out: &mut dyn Write, line: &ExplanationLine) -> io::Result<()> {
    write!(out, "<tr>")?;
    for (text, emphasis) in &line.cells {
        match class(*emphasis) {
            Some(class) if !text.is_empty() => {
                write!(out, "<td class=\"{class}\">{}</td>", escaped(text))?;
            }
            _ => write!(out, "<td>{}</td>", escaped(text))?,
        }
    }
    writeln!(out, "</tr>")
}

const fn class(emphasis: Emphasis) -> Option<&'static str> {
    match emphasis {
        Emphasis::Plain => None,
        Emphasis::Heading => Some("heading"),
        Emphasis::Quiet => Some("quiet"),
        Emphasis::Bytes => Some("bytes"),
        Emphasis::Value => Some("value"),
        Emphasis::Changed => Some("changed"),
        Emphasis::Error => Some("error"),
    }
}

/// Escapes a text so that nothing in it is markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

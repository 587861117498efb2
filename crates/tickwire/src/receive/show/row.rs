//! Rows of named members in each output format.

use std::fmt::{self, Write as _};
use tickwire_feed::book::Amount;
use tickwire_text::json::{ObjectWriter, push_string, push_unsigned};

/// The value of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberValue {
    /// Absent.
    Null,
    /// A number.
    Number(u64),
    /// Text, or a decimal.
    Text(String),
    /// Price, size and orders of a level.
    Level(String, String, Option<u32>),
}

impl MemberValue {
    /// Text, or null.
    pub fn text(text: Option<impl ToString>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.to_string()))
    }

    /// A number, or null.
    pub fn number(number: Option<u64>) -> Self {
        number.map_or(Self::Null, Self::Number)
    }

    /// A decimal in its shortest form, or null.
    pub fn amount(amount: Option<Amount>) -> Self {
        Self::text(amount)
    }
}

/// Members in order.
pub type MemberRow = Vec<(&'static str, MemberValue)>;

/// Appends a row as a JSON object.
pub fn push_json(out: &mut Vec<u8>, row: &MemberRow) {
    let mut members = ObjectWriter::begin(out);
    for (name, cell) in row {
        push_json_cell(members.member(name), cell);
    }
    members.end();
    out.push(b'\n');
}

/// Appends a value.
pub fn push_json_cell(out: &mut Vec<u8>, cell: &MemberValue) {
    match cell {
        MemberValue::Null => out.extend_from_slice(b"null"),
        MemberValue::Number(number) => push_unsigned(out, *number),
        MemberValue::Text(text) => push_string(out, text),
        MemberValue::Level(price, size, orders) => push_json_level(out, price, size, *orders),
    }
}

/// Appends `["price", "size", orders]`.
pub fn push_json_level(out: &mut Vec<u8>, price: &str, size: &str, orders: Option<u32>) {
    out.push(b'[');
    push_string(out, price);
    out.extend_from_slice(b", ");
    push_string(out, size);
    out.extend_from_slice(b", ");
    push_json_cell(out, &MemberValue::number(orders.map(u64::from)));
    out.push(b']');
}

/// Appends the cells of a row under these columns. A level takes three columns.
pub fn push_csv(out: &mut Vec<u8>, row: &MemberRow, columns: &[&str]) {
    let mut line = String::new();
    for column in columns {
        let cell = row.iter().find(|(name, _)| name == column).map(|(_, cell)| cell);
        push_csv_cell(&mut line, cell.unwrap_or(&MemberValue::Null), column);
        line.push(',');
    }
    line.pop();
    line.push('\n');
    out.extend_from_slice(line.as_bytes());
}

fn push_csv_cell(line: &mut String, cell: &MemberValue, column: &str) {
    // Writing to a string does not fail.
    let _ = match cell {
        MemberValue::Null if is_level(column) => write!(line, ",,"),
        MemberValue::Null => Ok(()),
        MemberValue::Number(number) => write!(line, "{number}"),
        MemberValue::Text(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) => {
            write!(line, "\"{}\"", text.replace('"', "\"\""))
        }
        MemberValue::Text(text) => write!(line, "{text}"),
        MemberValue::Level(price, size, Some(orders)) => write!(line, "{price},{size},{orders}"),
        MemberValue::Level(price, size, None) => write!(line, "{price},{size},"),
    };
}

fn is_level(column: &str) -> bool {
    matches!(column, "bid" | "offer")
}

/// Appends the heading of these columns.
pub fn push_heading(out: &mut Vec<u8>, columns: &[&str]) {
    let names = columns.iter().map(|column| match is_level(column) {
        true => format!("{column}_price,{column}_size,{column}_orders"),
        false => (*column).to_owned(),
    });
    out.extend_from_slice(names.collect::<Vec<_>>().join(",").as_bytes());
    out.push(b'\n');
}

/// Appends a row as a line of text: the time, then the names and values of present members.
pub fn push_text(out: &mut Vec<u8>, row: &MemberRow) {
    let mut line = String::new();
    for (name, cell) in row {
        // Writing to a string does not fail.
        let _ = match (*name, cell) {
            (_, MemberValue::Null) => continue,
            ("time", MemberValue::Number(time_ns)) => {
                tickwire_text::push_date_time(&mut line, *time_ns);
                Ok(())
            }
            ("channel" | "event" | "instrument" | "state", MemberValue::Text(text)) => {
                write!(line, "{}", Printable(text))
            }
            ("kind", MemberValue::Text(text)) if text == "outright" => continue,
            (name, MemberValue::Number(number)) => write!(line, "{name} {number}"),
            (name, MemberValue::Text(text)) => write!(line, "{name} {}", Printable(text)),
            (name, MemberValue::Level(price, size, _)) => write!(line, "{name} {size} @ {price}"),
        };
        line.push(' ');
    }
    out.extend_from_slice(line.trim_end().as_bytes());
    out.push(b'\n');
}

/// A text of the feed for a terminal. Control characters, which would break its line or control the terminal,
/// are written as escapes.
pub struct Printable<'t>(pub &'t str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character.is_control() {
            true => write!(f, "{}", character.escape_default()),
            false => f.write_char(character),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(row: &MemberRow, columns: &[&str]) -> [String; 3] {
        let (mut json, mut csv, mut text) = (Vec::new(), Vec::new(), Vec::new());
        push_json(&mut json, row);
        push_heading(&mut csv, columns);
        push_csv(&mut csv, row, columns);
        push_text(&mut text, row);
        [json, csv, text].map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_row_has_the_same_members_in_each_form() {
        let row = vec![
            ("time", MemberValue::Number(1_000_000_000)),
            ("instrument", MemberValue::Text("SBER:TQBR".to_owned())),
            ("state", MemberValue::Text("fresh".to_owned())),
            ("reason", MemberValue::Null),
            ("kind", MemberValue::Text("outright".to_owned())),
            ("bid", MemberValue::Level("133310".to_owned(), "1.5".to_owned(), Some(3))),
            ("offer", MemberValue::Null),
        ];
        let columns = ["time", "instrument", "state", "reason", "kind", "bid", "offer"];
        let [json, csv, text] = forms(&row, &columns);
        assert_eq!(
            json,
            "{\"time\": 1000000000, \"instrument\": \"SBER:TQBR\", \"state\": \"fresh\", \
             \"reason\": null, \"kind\": \"outright\", \"bid\": [\"133310\", \"1.5\", 3], \
             \"offer\": null}\n"
        );
        assert_eq!(
            csv,
            "time,instrument,state,reason,kind,bid_price,bid_size,bid_orders,offer_price,\
             offer_size,offer_orders\n1000000000,SBER:TQBR,fresh,,outright,133310,1.5,3,,,\n"
        );
        assert_eq!(text, "1970-01-01T00:00:01.000000000Z SBER:TQBR fresh bid 1.5 @ 133310\n");
    }

    #[test]
    fn names_of_the_feed_do_not_steer_a_terminal() {
        let row = vec![("instrument", MemberValue::Text("A\u{1b}[2J\nB\u{9b}".to_owned()))];
        let mut text = Vec::new();
        push_text(&mut text, &row);
        assert_eq!(text, b"A\\u{1b}[2J\\nB\\u{9b}\n");
    }
}

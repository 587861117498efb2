//! The views, a module each, and their common parts.

mod books;
mod feed;
mod fix;
mod history;
mod minutes;
mod packets;
mod processes;
mod topics;

pub(crate) use packets::explained_lines;

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table, TableState};
use serde_json::Value;

use crate::app::{App, Period, View};
use crate::fields::{clock, count, list, text, words};

/// Style of less important text.
pub(crate) const fn quiet() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// Style of a status. The status is also written as a word, so that nothing is shown by colour alone.
fn level(state: &str) -> Style {
    match state {
        "alive" | "fresh" | "live" | "logged_on" | "filled" | "present" | "done" | "snapshot" => {
            Style::new().fg(Color::Green)
        }
        "waiting" | "excluded" | "connected" | "stopped" | "around" | "resend" | "line" => {
            Style::new().fg(Color::Yellow)
        }
        "silent" | "stalled" | "disconnected" | "open" | "lost" | "replaying" | "gone"
        | "failed" | "fault" | "gap" => Style::new().fg(Color::Red),
        _ => Style::new(),
    }
}

fn state_cell(value: &Value) -> Cell<'static> {
    Cell::new(words(value)).style(level(&text(value)))
}

/// Formats a count of errors, in red if it is not 0.
fn fault(value: &Value) -> Cell<'static> {
    let style = match value.as_u64() {
        Some(1..) => Style::new().fg(Color::Red),
        _ => Style::new(),
    };
    Cell::new(Line::raw(count(value)).right_aligned()).style(style)
}

fn right(value: String) -> Cell<'static> {
    Cell::new(Line::raw(value).right_aligned())
}

/// Creates a table with a header. A `#` before a name right-aligns a column of numbers.
fn table(
    title: &str,
    names: &[&str],
    widths: &[Constraint],
    rows: Vec<Row<'static>>,
) -> Table<'static> {
    let head = names.iter().map(|name| match name.strip_prefix('#') {
        Some(name) => right(name.to_owned()),
        None => Cell::new((*name).to_owned()),
    });
    Table::new(rows, widths.iter().copied())
        .header(Row::new(head).style(quiet()))
        .block(Block::bordered().title(title.to_owned()))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
}

/// Returns false if the packets of a channel have no sequence numbers, so that losses are not known.
fn is_numbered(channel: &Value) -> bool {
    channel["has_seq_nums"] != false
}

/// Formats the time since which a book is stale: ` since 09:30:00`; empty if it is not known.
fn since(value: &Value) -> String {
    match value.as_u64() {
        Some(_) => format!(" since {}", &clock(value)[..8]),
        None => String::new(),
    }
}

fn chosen(app: &App) -> TableState {
    TableState::default().with_selected(Some(app.chosen))
}

/// Draws the view.
pub(crate) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    if app.is_overview() {
        return processes::draw(app, frame, area);
    }
    if app.state.is_null() {
        return;
    }
    match app.period {
        Period::Hour => return history::draw(app, frame, area),
        Period::Minutes => return minutes::draw(app, frame, area),
        Period::Now => {}
    }
    match app.view {
        View::Feed => feed::draw(app, frame, area),
        View::Books => books::draw(app, frame, area),
        View::Packets => packets::draw(app, frame, area),
        View::Fix => fix::draw(app, frame, area),
        View::Topics => topics::draw(app, frame, area),
    }
}

fn nothing(frame: &mut Frame<'_>, area: Rect, words: &str) {
    frame.render_widget(Paragraph::new(words.to_owned()).style(quiet()), area);
}

fn draw_events(events: &Value, frame: &mut Frame<'_>, area: Rect) {
    let row = |event: &Value| {
        Row::new(vec![
            Cell::new(clock(&event["at_ms"])),
            state_cell(&event["kind"]),
            Cell::new(text(&event["text"])),
        ])
    };
    let widths = [Constraint::Length(12), Constraint::Length(10), Constraint::Min(10)];
    let rows = list(events).iter().map(row).collect();
    frame.render_widget(table("Events", &["Time", "Kind", "What"], &widths, rows), area);
}

//! The view of packets, and of one explained.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;
use ratatui::widgets::{Cell, Paragraph, Row, Wrap};
use serde_json::Value;

use super::{chosen, nothing, quiet, right, state_cell, table};
use crate::app::App;
use crate::fields::{clock, count, list, text};

/// Draws the view.
pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    if app.detail_path().is_none() {
        return nothing(frame, area, "This process receives no feed.");
    }
    if let Some(error) = app.detail["error"].as_str() {
        return nothing(frame, area, error);
    }
    if app.packet.is_some() {
        return explained(app, frame, area);
    }
    let row = |packet: &Value| {
        Row::new(vec![
            Cell::new(clock(&packet["at_ms"])),
            Cell::new(format!(
                "{} {}",
                text(&packet["feed"]),
                text(&packet["line"]).to_uppercase()
            )),
            right(text(&packet["seq_num"])),
            right(count(&packet["len"])),
            state_cell(&packet["kind"]),
            Cell::new(text(&packet["error"])),
        ])
    };
    let widths = [
        Constraint::Length(12),
        Constraint::Length(15),
        Constraint::Length(12),
        Constraint::Length(7),
        Constraint::Length(8),
        Constraint::Min(10),
    ];
    let rows = list(&app.detail["packets"]).iter().map(row).collect();
    let names = ["Time", "Line", "#Number", "#Bytes", "Kind", "Error"];
    frame.render_stateful_widget(table("Packets", &names, &widths, rows), area, &mut chosen(app));
}

/// Draws a remark at the top; returns the area below it.
fn below_remark(remark: &str, frame: &mut Frame<'_>, area: Rect) -> Rect {
    // Words are not divided, so a line may be shorter than the area is wide.
    let rows = remark.len() * 5 / 4 / usize::from(area.width).max(1) + 1;
    let heights =
        [Constraint::Length(u16::try_from(rows).unwrap_or(u16::MAX)), Constraint::Fill(1)];
    let [top, below] = Layout::vertical(heights).areas(area);
    let words = Paragraph::new(remark).wrap(Wrap { trim: true });
    frame.render_widget(words.style(Color::Yellow), top);
    below
}

/// Returns the number of lines of an explanation.
pub(crate) fn explained_lines(detail: &Value) -> usize {
    let parts = list(&detail["explanation"]["parts"]);
    parts.iter().map(|part| 1 + list(&part["lines"]).len()).sum()
}

fn explained(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let area = match app.detail["explanation"]["remark"].as_str() {
        Some(remark) => below_remark(remark, frame, area),
        None => area,
    };
    let mut rows = Vec::new();
    for part in list(&app.detail["explanation"]["parts"]) {
        let heading = match part["kind"].as_str() {
            Some("preamble") => format!(
                "preamble, {} bytes, sequence number {}",
                part["len"],
                text(&part["seq_num"])
            ),
            Some("message") => match part["error"].as_str() {
                Some(error) => format!("message at {}: {error}", part["offset"]),
                None => format!("message at {}, {} bytes", part["offset"], part["len"]),
            },
            _ => text(&part["text"]),
        };
        rows.push(
            Row::new([Cell::new(""), Cell::new(""), Cell::new(heading)])
                .style(Style::new().add_modifier(Modifier::BOLD)),
        );
        for line in list(&part["lines"]) {
            let cells = list(&line["cells"]).iter().zip(list(&line["styles"]));
            rows.push(Row::new(cells.map(|(cell, style)| {
                let style = match style.as_str() {
                    Some("error") => Style::new().fg(Color::Red),
                    Some("changed") => Style::new().fg(Color::Yellow),
                    Some("value") => Style::new().fg(Color::Green),
                    Some("bytes") => Style::new().fg(Color::Cyan),
                    Some("quiet") => quiet(),
                    _ => Style::new(),
                };
                Cell::new(Span::styled(text(cell), style))
            })));
        }
    }
    let widths = [
        Constraint::Length(7),
        Constraint::Length(24),
        Constraint::Min(24),
        Constraint::Length(12),
        Constraint::Length(14),
        Constraint::Length(6),
        Constraint::Length(20),
        Constraint::Length(24),
    ];
    let names = ["offset", "bytes", "field", "type", "op", "bit", "value", "dictionary"];
    let packet = &app.detail["packet"];
    let title = format!(
        "Packet {} of line {}",
        text(&packet["seq_num"]),
        text(&packet["line"]).to_uppercase()
    );
    frame.render_stateful_widget(table(&title, &names, &widths, rows), area, &mut chosen(app));
}

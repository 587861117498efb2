//! The view of topics and publishers.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row};
use serde_json::Value;

use super::{chosen, fault, level, nothing, right, state_cell, table};
use crate::app::App;
use crate::fields::{count, list, rate, text, words};

/// Draws the view.
pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let bus = &app.state["bus"];
    if bus.is_null() {
        return nothing(frame, area, "This process has no topics.");
    }
    let publishers = list(&bus["publishers"]);
    let below = if publishers.is_empty() { 0 } else { publishers.len().min(8) as u16 + 3 };
    let heights = [Constraint::Length(1), Constraint::Min(4), Constraint::Length(below)];
    let [summary, top, bottom] = Layout::vertical(heights).areas(area);
    let counts = bus["counts"].as_object().into_iter().flatten();
    let counts: Vec<String> = counts
        .map(|(name, value)| format!("{} {}", count(value), name.replace('_', " ")))
        .collect();
    let line = Line::from_iter([
        Span::raw(format!("{} over {}: ", text(&bus["role"]), text(&bus["transport"]))),
        Span::styled(words(&bus["status"]), level(&text(&bus["status"]))),
        Span::raw(format!("  late joiners {}, {}", count(&bus["late_joiners"]), counts.join(", "))),
    ]);
    frame.render_widget(Paragraph::new(line), summary);
    let topic = |topic: &Value| {
        Row::new(vec![
            Cell::new(text(&topic["name"])),
            right(count(&topic["samples"])),
            right(rate(&topic["samples_per_second"])),
            right(count(&topic["matched"])),
            right(
                topic["backlog_samples"]
                    .as_u64()
                    .map_or_else(String::new, |_| count(&topic["backlog_samples"])),
            ),
        ])
    };
    let matched = if bus["role"] == "publisher" { "#Readers" } else { "#Writers" };
    let widths = [
        Constraint::Min(14),
        Constraint::Length(14),
        Constraint::Length(11),
        Constraint::Length(8),
        Constraint::Length(14),
    ];
    let rows = list(&bus["topics"]).iter().map(topic).collect();
    let all =
        table("Topics", &["Topic", "#Samples", "#Samples/s", matched, "#Backlog"], &widths, rows);
    frame.render_stateful_widget(all, top, &mut chosen(app));
    let publisher = |of: &Value| {
        Row::new(vec![
            state_cell(&of["standing"]),
            right(count(&of["received_samples"])),
            right(count(&of["written_samples"])),
            fault(&of["lost_samples"]),
            fault(&of["missing_samples"]),
            right(count(&of["last_values"])),
        ])
    };
    let widths = [
        Constraint::Length(12),
        Constraint::Length(14),
        Constraint::Length(14),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Min(12),
    ];
    let names = ["Publisher", "#Received", "#Wrote", "#Lost", "#Missing", "#Last values"];
    let rows = publishers.iter().map(publisher).collect();
    frame.render_widget(table("Publishers", &names, &widths, rows), bottom);
}

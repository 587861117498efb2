//! The view of a feed: channels, lines, times, gaps and events; of a sender: its lines.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::{Cell, Row};
use serde_json::Value;

use super::{
    chosen, draw_events, fault, is_numbered, level, nothing, right, since, state_cell, table,
};
use crate::app::App;
use crate::fields::{clock, count, list, ns, rate, span, sum, text, words};

/// Draws the view.
pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let channels = list(&app.state["channels"]);
    let sender = &app.state["sender"];
    let area = match sender.is_null() {
        true => area,
        false => {
            let height = list(&sender["lines"]).len() as u16 + 3;
            let [top, rest] =
                Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
            sent(sender, frame, top);
            rest
        }
    };
    let Some(channel) = channels.get(app.chosen.min(channels.len().saturating_sub(1))) else {
        if sender.is_null() {
            nothing(frame, area, "This process receives no feed.");
        }
        return;
    };
    let lines = list(&channel["lines"]);
    let measured = list(&channel["latencies"]).iter().filter(is_shown).count();
    let heights = [
        Constraint::Length(channels.len().min(6) as u16 + 3),
        Constraint::Length(lines.len() as u16 + 3),
        Constraint::Length(measured as u16 + 3),
        Constraint::Min(4),
    ];
    let [top, middle, times, bottom] = Layout::vertical(heights).areas(area);
    let channel_row = |channel: &Value| {
        let stale = sum(&channel["books"]["stale"]);
        // Without sequence numbers there are no counts of losses, and 0 would be wrong.
        let (gaps, lost, next) = match is_numbered(channel) {
            true => {
                let next = text(&channel["next_seq_num"]);
                (&channel["declared_gaps"], &channel["missing_seq_nums"], next)
            }
            false => (&Value::Null, &Value::Null, "not numbered".to_owned()),
        };
        Row::new(vec![
            Cell::new(text(&channel["name"])),
            state_cell(&channel["status"]),
            right(rate(&channel["messages_per_second"])),
            right(count(&channel["messages"])),
            fault(gaps),
            fault(lost),
            fault(&channel["failed_packets"]),
            right(count(&channel["books"]["fresh"])),
            fault(&stale.into()),
            Cell::new(next),
        ])
    };
    let names = [
        "Channel",
        "State",
        "#Messages/s",
        "#Messages",
        "#Gaps",
        "#Lost",
        "#Failed",
        "#Fresh",
        "#Stale",
        "Next",
    ];
    let widths = [
        Constraint::Min(10),
        Constraint::Length(9),
        Constraint::Length(11),
        Constraint::Length(13),
        Constraint::Length(7),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(12),
    ];
    let all = table("Channels", &names, &widths, channels.iter().map(channel_row).collect());
    frame.render_stateful_widget(all, top, &mut chosen(app));
    draw_lines(channel, frame, middle);
    draw_times(channel, frame, times);
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(45), Constraint::Min(10)]).areas(bottom);
    let stale = list(&channel["books"]["stale_books"]);
    // Head and borders of both tables, and a row of each.
    let stale_rows = if stale.is_empty() { 0 } else { stale.len().min(5) as u16 + 3 };
    let [gaps, stale_area] =
        Layout::vertical([Constraint::Min(4), Constraint::Length(stale_rows)]).areas(left);
    draw_gaps(channel, frame, gaps);
    draw_stale(stale, frame, stale_area);
    draw_events(&channel["events"], frame, right);
}

fn draw_lines(channel: &Value, frame: &mut Frame<'_>, area: Rect) {
    let row = |line: &Value| {
        let of = &line["arbitration"];
        let lost = if is_numbered(channel) { &of["lost_seq_nums"] } else { &Value::Null };
        Row::new(vec![
            Cell::new(format!("{} {}", text(&line["feed"]), text(&line["line"]).to_uppercase())),
            state_cell(&line["status"]),
            right(rate(&line["packets_per_second"])),
            right(count(&line["received_packets"])),
            right(count(&of["first_packets"])),
            right(count(&of["duplicate_packets"])),
            fault(lost),
            fault(&of["differing_packets"]),
            fault(&line["dropped_packets"]),
            right(format!("{} ago", span(&line["age_ms"]))),
            Cell::new(text(&line["group"])),
        ])
    };
    let names = [
        "Line",
        "State",
        "#Packets/s",
        "#Packets",
        "#First",
        "#Copies",
        "#Lost",
        "#Differ",
        "#Drops",
        "#Last",
        "Group",
    ];
    let widths = [
        Constraint::Length(15),
        Constraint::Length(9),
        Constraint::Length(10),
        Constraint::Length(12),
        Constraint::Length(12),
        Constraint::Length(12),
        Constraint::Length(8),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(11),
        Constraint::Min(8),
    ];
    let rows = list(&channel["lines"]).iter().map(row).collect();
    frame.render_widget(table("Lines", &names, &widths, rows), area);
}

/// Returns true for times of the incremental feed.
fn is_shown(of: &&Value) -> bool {
    of["line"].is_null() || text(&of["line"]).starts_with("incremental")
}

fn draw_times(channel: &Value, frame: &mut Frame<'_>, area: Rect) {
    let row = |of: &Value| {
        let name = match of["name"].as_str() {
            Some("decode_time") => "decoding a message".to_owned(),
            Some("book_time") => "applying a message to books".to_owned(),
            Some("publish_time") => "publishing".to_owned(),
            _ => format!("kernel to handler, {}", text(&of["line"])),
        };
        let quantiles = ["p50_ns", "p99_ns", "p999_ns", "max_ns"].map(|name| right(ns(&of[name])));
        Row::new(
            std::iter::once(Cell::new(name)).chain(quantiles).chain([right(count(&of["count"]))]),
        )
    };
    let names = ["Times", "#p50", "#p99", "#p99.9", "#max", "#measured"];
    let widths = [
        Constraint::Length(34),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Min(10),
    ];
    let rows = list(&channel["latencies"]).iter().filter(is_shown).map(row).collect();
    frame.render_widget(table("Times", &names, &widths, rows), area);
}

fn draw_gaps(channel: &Value, frame: &mut Frame<'_>, area: Rect) {
    let row = |gap: &Value| {
        let state = match gap["status"].as_str() {
            Some("filled") => format!(
                "filled by {} after {}",
                words(&gap["filled_by"]),
                span(&gap["filled_after_ms"])
            ),
            _ => words(&gap["status"]),
        };
        Row::new(vec![
            Cell::new(clock(&gap["at_ms"])),
            Cell::new(text(&gap["first"])),
            right(count(&gap["count"])),
            Cell::new(state).style(level(&text(&gap["status"]))),
        ])
    };
    let widths = [
        Constraint::Length(12),
        Constraint::Length(11),
        Constraint::Length(6),
        Constraint::Min(10),
    ];
    let rows = list(&channel["gaps"]).iter().map(row).collect();
    let title = match is_numbered(channel) {
        true => "Gaps",
        false => "Gaps: not known, the packets have no sequence numbers",
    };
    frame.render_widget(table(title, &["Time", "First", "#Lost", "State"], &widths, rows), area);
}

fn draw_stale(books: &[Value], frame: &mut Frame<'_>, area: Rect) {
    let row = |book: &Value| {
        Row::new(vec![
            Cell::new(text(&book["name"])),
            Cell::new(format!("{}{}", words(&book["reason"]), since(&book["since_ms"]))),
            Cell::new(text(&book["text"])),
        ])
    };
    let widths = [Constraint::Length(12), Constraint::Length(26), Constraint::Min(10)];
    let rows = books.iter().map(row).collect();
    frame.render_widget(table("Stale books", &["Book", "Reason", ""], &widths, rows), area);
}

fn sent(sender: &Value, frame: &mut Frame<'_>, area: Rect) {
    let row = |line: &Value| {
        Row::new(vec![
            Cell::new(text(&line["line"])),
            right(rate(&line["packets_per_second"])),
            right(rate(&line["bytes_per_second"])),
            right(count(&line["sent_packets"])),
            right(count(&line["lost_packets"])),
            right(count(&line["duplicated_packets"])),
            right(count(&line["overtaken_packets"])),
            fault(&line["no_room_packets"]),
            Cell::new(text(&line["group"])),
        ])
    };
    let names = [
        "Line",
        "#Packets/s",
        "#Bytes/s",
        "#Packets",
        "#Lost",
        "#Twice",
        "#Overtaken",
        "#No room",
        "Group",
    ];
    let widths = [
        Constraint::Length(10),
        Constraint::Length(11),
        Constraint::Length(12),
        Constraint::Length(13),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(9),
        Constraint::Min(10),
    ];
    let late = &sender["late"];
    let title = format!(
        "Packets sent; late by {} (p50), {} (p99), {} (p99.9), {} (max)",
        ns(&late["p50_ns"]),
        ns(&late["p99_ns"]),
        ns(&late["p999_ns"]),
        ns(&late["max_ns"])
    );
    let rows = list(&sender["lines"]).iter().map(row).collect();
    frame.render_widget(table(&title, &names, &widths, rows), area);
}

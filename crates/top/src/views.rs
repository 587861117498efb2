//! The views. Each draws the state with a function of its own.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table, TableState};
use serde_json::Value;

use crate::app::{App, View};
use crate::fields::{clock, count, list, ns, rate, span, sum, text, words};

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
        "waiting" | "put_aside" | "connected" | "stopped" | "around" | "resend" | "line" => {
            Style::new().fg(Color::Yellow)
        }
        "silent" | "stalled" | "disconnected" | "open" | "replaying" | "gone" | "failed"
        | "fault" | "gap" => Style::new().fg(Color::Red),
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

fn chosen(app: &App) -> TableState {
    TableState::default().with_selected(Some(app.chosen))
}

/// Draws the view.
pub(crate) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    if app.state.is_null() {
        return;
    }
    match app.view {
        View::Feed => feed(app, frame, area),
        View::Books => books(app, frame, area),
        View::Packets => packets(app, frame, area),
        View::Fix => fix(app, frame, area),
        View::Topics => topics(app, frame, area),
    }
}

fn nothing(frame: &mut Frame<'_>, area: Rect, words: &str) {
    frame.render_widget(Paragraph::new(words.to_owned()).style(quiet()), area);
}

fn feed(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let channels = list(&app.state["channels"]);
    let sender = &app.state["sender"];
    if !sender.is_null() {
        return sent(sender, frame, area);
    }
    let Some(channel) = channels.get(app.chosen.min(channels.len().saturating_sub(1))) else {
        return nothing(frame, area, "This process receives no feed.");
    };
    let lines = list(&channel["lines"]);
    let heights = [
        Constraint::Length(channels.len().min(6) as u16 + 3),
        Constraint::Length(lines.len() as u16 + 3),
        Constraint::Length(5),
        Constraint::Min(4),
    ];
    let [top, middle, times, bottom] = Layout::vertical(heights).areas(area);
    let channel_row = |channel: &Value| {
        let stale = sum(&channel["books"]["stale"]);
        Row::new(vec![
            Cell::new(text(&channel["name"])),
            state_cell(&channel["status"]),
            right(rate(&channel["messages_per_second"])),
            right(count(&channel["messages"])),
            fault(&channel["declared_gaps"]),
            fault(&channel["missing_seq_nums"]),
            fault(&channel["failed_packets"]),
            right(count(&channel["books"]["fresh"])),
            fault(&stale.into()),
            Cell::new(text(&channel["next_seq_num"])),
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
    draw_gaps(channel, frame, left);
    draw_events(&channel["events"], frame, right);
}

fn draw_lines(channel: &Value, frame: &mut Frame<'_>, area: Rect) {
    let row = |line: &Value| {
        let of = &line["arbitration"];
        Row::new(vec![
            Cell::new(format!("{} {}", text(&line["feed"]), text(&line["line"]).to_uppercase())),
            state_cell(&line["status"]),
            right(rate(&line["packets_per_second"])),
            right(count(&line["received_packets"])),
            right(count(&of["first_packets"])),
            right(count(&of["duplicate_packets"])),
            fault(&of["lost_seq_nums"]),
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

fn draw_times(channel: &Value, frame: &mut Frame<'_>, area: Rect) {
    let is_shown =
        |of: &&Value| of["name"] == "decode_time" || text(&of["line"]).starts_with("incremental");
    let row = |of: &Value| {
        let name = match of["name"].as_str() {
            Some("decode_time") => "decoding a message".to_owned(),
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
    frame.render_widget(table("Gaps", &["Time", "First", "#Lost", "State"], &widths, rows), area);
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

fn sent(sender: &Value, frame: &mut Frame<'_>, area: Rect) {
    let row = |line: &Value| {
        Row::new(vec![
            Cell::new(text(&line["line"])),
            right(rate(&line["packets_per_second"])),
            right(count(&line["sent_packets"])),
            right(count(&line["lost_packets"])),
            right(count(&line["duplicated_packets"])),
            right(count(&line["overtaken_packets"])),
            fault(&line["no_room_packets"]),
            Cell::new(text(&line["group"])),
        ])
    };
    let names =
        ["Line", "#Packets/s", "#Packets", "#Lost", "#Twice", "#Overtaken", "#No room", "Group"];
    let widths = [
        Constraint::Length(10),
        Constraint::Length(11),
        Constraint::Length(13),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(9),
        Constraint::Min(10),
    ];
    let late = &sender["late"];
    let title = format!(
        "Packets sent; late by {} (p50), {} (p99)",
        ns(&late["p50_ns"]),
        ns(&late["p99_ns"])
    );
    let rows = list(&sender["lines"]).iter().map(row).collect();
    frame.render_widget(table(&title, &names, &widths, rows), area);
}

fn books(app: &App, frame: &mut Frame<'_>, area: Rect) {
    if app.detail_path().is_none() {
        return nothing(frame, area, "This process receives no feed.");
    }
    let [left, middle] =
        Layout::horizontal([Constraint::Percentage(55), Constraint::Min(30)]).areas(area);
    let row = |book: &Value| {
        Row::new(vec![
            Cell::new(text(&book["name"])),
            right(text(&book["bid"]["price"])),
            right(text(&book["offer"]["price"])),
            state_cell(&book["status"]),
        ])
    };
    let title = match app.detail["is_ready"].as_bool() {
        Some(true) => format!(
            "{} of {} instruments",
            count(&app.detail["matching"]),
            count(&app.detail["instruments"])
        ),
        _ => "Instruments".to_owned(),
    };
    let widths = [
        Constraint::Min(14),
        Constraint::Length(14),
        Constraint::Length(14),
        Constraint::Length(14),
    ];
    let rows = list(&app.detail["books"]).iter().map(row).collect();
    let all = table(&title, &["Instrument", "#Bid", "#Offer", "State"], &widths, rows);
    frame.render_stateful_widget(all, left, &mut chosen(app));
    if let Some(book) = list(&app.detail["ladders"]).first() {
        ladder(book, frame, middle);
    }
}

fn ladder(book: &Value, frame: &mut Frame<'_>, area: Rect) {
    let row = |level: &Value, is_bid: bool| {
        let (size, price) = (right(text(&level["size"])), right(text(&level["price"])));
        let (style, cells) = match is_bid {
            true => (Color::Cyan, [size, price, Cell::new("")]),
            false => (Color::Yellow, [Cell::new(""), price, Cell::new(text(&level["size"]))]),
        };
        Row::new(cells).style(style)
    };
    let offers = list(&book["offers"]).iter().rev().map(|level| row(level, false));
    let spread = match book["spread"].as_str() {
        Some(spread) => format!("spread {spread}"),
        None => "no spread".to_owned(),
    };
    let middle = Row::new([Cell::new(""), right(spread), Cell::new("")]).style(quiet());
    let bids = list(&book["bids"]).iter().map(|level| row(level, true));
    let trades = list(&book["trades"]).iter().map(|trade| {
        Row::new([
            right(clock(&trade["at_ms"])),
            right(text(&trade["price"])),
            Cell::new(text(&trade["size"])),
        ])
        .style(quiet())
    });
    let rows = offers.chain([middle]).chain(bids).chain(trades).collect();
    let title = match book["stale_text"].as_str() {
        Some(why) => format!("{}: {why}", text(&book["name"])),
        None => format!("{}: {}", text(&book["name"]), words(&book["status"])),
    };
    let widths = [Constraint::Percentage(33), Constraint::Percentage(34), Constraint::Min(8)];
    frame.render_widget(table(&title, &["#Bid size", "#Price", "Offer size"], &widths, rows), area);
}

fn packets(app: &App, frame: &mut Frame<'_>, area: Rect) {
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

/// Returns the number of lines of an explanation.
pub(crate) fn explained_lines(detail: &Value) -> usize {
    let parts = list(&detail["explanation"]["parts"]);
    parts.iter().map(|part| 1 + list(&part["lines"]).len()).sum()
}

fn explained(app: &App, frame: &mut Frame<'_>, area: Rect) {
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

fn fix(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let sessions = list(&app.state["fix"]["sessions"]);
    let Some(session) = sessions.get(app.chosen.min(sessions.len().saturating_sub(1))) else {
        return nothing(frame, area, "This process has no FIX sessions.");
    };
    let height = (sessions.len().min(12) + 3) as u16;
    let [top, bottom] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(5)]).areas(area);
    let row = |session: &Value| {
        let counters = &session["counters"];
        Row::new(vec![
            Cell::new(format!(
                "{} > {}",
                text(&session["sender_comp_id"]),
                text(&session["target_comp_id"])
            )),
            state_cell(&session["state"]),
            right(count(&session["next_sender"])),
            right(count(&session["next_target"])),
            right(count(&session["queued"])),
            right(rate(&session["received_per_second"])),
            right(rate(&session["sent_per_second"])),
            fault(&counters["resend_requests"]),
            right(count(&counters["resent"])),
            fault(&counters["rejected"]),
        ])
    };
    let names = [
        "Session",
        "State",
        "#Next out",
        "#Next in",
        "#Waiting",
        "#In/s",
        "#Out/s",
        "#Gaps",
        "#Resent",
        "#Rejected",
    ];
    let widths = [
        Constraint::Min(16),
        Constraint::Length(12),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(7),
        Constraint::Length(9),
        Constraint::Length(9),
    ];
    let all = table("Sessions", &names, &widths, sessions.iter().map(row).collect());
    frame.render_stateful_widget(all, top, &mut chosen(app));
    let [left, right_side] =
        Layout::horizontal([Constraint::Percentage(50), Constraint::Min(10)]).areas(bottom);
    draw_events(&session["events"], frame, left);
    let message = |message: &Value| {
        let direction = if message["direction"] == "in" { "received" } else { "sent" };
        let again = if message["is_resent"] == true { "again" } else { "" };
        Row::new(vec![
            Cell::new(text(&message["time"]).get(9..21).unwrap_or_default().to_owned()),
            Cell::new(direction),
            right(text(&message["seq_num"])),
            Cell::new(text(&message["name"])),
            Cell::new(again),
        ])
    };
    let widths = [
        Constraint::Length(12),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Min(12),
        Constraint::Length(6),
    ];
    let rows = list(&session["messages"]).iter().map(message).collect();
    frame.render_widget(
        table("Last messages", &["Time", "Way", "#Number", "Message", ""], &widths, rows),
        right_side,
    );
}

fn topics(app: &App, frame: &mut Frame<'_>, area: Rect) {
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
        Span::raw(format!("  {} late joiners, {}", count(&bus["late_joiners"]), counts.join(", "))),
    ]);
    frame.render_widget(Paragraph::new(line), summary);
    let topic = |topic: &Value| {
        let backlog = match topic["has_backlog"].as_bool() {
            None => "",
            Some(true) => "not all acknowledged",
            Some(false) => "none",
        };
        Row::new(vec![
            Cell::new(text(&topic["name"])),
            right(count(&topic["samples"])),
            right(rate(&topic["samples_per_second"])),
            right(count(&topic["matched"])),
            Cell::new(backlog),
        ])
    };
    let matched = if bus["role"] == "publisher" { "#Readers" } else { "#Writers" };
    let widths = [
        Constraint::Min(14),
        Constraint::Length(14),
        Constraint::Length(11),
        Constraint::Length(8),
        Constraint::Length(21),
    ];
    let rows = list(&bus["topics"]).iter().map(topic).collect();
    let all =
        table("Topics", &["Topic", "#Samples", "#Samples/s", matched, "Backlog"], &widths, rows);
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

//! The view of FIX sessions.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::widgets::{Cell, Row};
use serde_json::Value;

use super::{chosen, draw_events, fault, level, nothing, right, table};
use crate::app::App;
use crate::fields::{count, list, rate, text, words};

/// Draws the view.
pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let fix = &app.state["fix"];
    let (sessions, unopened) = (list(&fix["sessions"]), list(&fix["unopened"]));
    // Head and borders of the table.
    let unopened_rows = if unopened.is_empty() { 0 } else { unopened.len().min(5) as u16 + 3 };
    let [unopened_area, area] =
        Layout::vertical([Constraint::Length(unopened_rows), Constraint::Min(0)]).areas(area);
    draw_unopened(unopened, frame, unopened_area);
    let Some(session) = sessions.get(app.chosen.min(sessions.len().saturating_sub(1))) else {
        let words = match unopened.is_empty() {
            true => "This process has no FIX sessions.",
            false => "No other FIX session.",
        };
        return nothing(frame, area, words);
    };
    let height = (sessions.len().min(12) + 3) as u16;
    let [top, bottom] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(5)]).areas(area);
    let row = |session: &Value| {
        let counters = &session["counters"];
        Row::new(vec![
            Cell::new(name(session)),
            Cell::new(text(&session["begin_string"])),
            state(session),
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
        "Version",
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
        Constraint::Length(8),
        Constraint::Length(16),
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

/// Returns the CompIDs of a session and its qualifier, which tells sessions with the same CompIDs apart.
fn name(session: &Value) -> String {
    let [sender, target, qualifier] =
        ["sender_comp_id", "target_comp_id", "qualifier"].map(|member| text(&session[member]));
    format!("{sender} > {target} {qualifier}").trim_end().to_owned()
}

/// Formats the state of a session. While its schedule is closed, no state is a fault.
fn state(session: &Value) -> Cell<'static> {
    let is_closed = session["in_schedule"] == false;
    let (shown, style) = match (session["enabled"] == false, text(&session["state"]).as_str()) {
        (true, _) => ("disabled".to_owned(), Style::new().fg(Color::Yellow)),
        (false, "disconnected") if is_closed => ("outside schedule".to_owned(), Style::new()),
        (false, state) => (words(&session["state"]), level(state)),
    };
    Cell::new(shown).style(if is_closed { Style::new() } else { style })
}

/// Draws the sessions whose store or message log cannot be opened.
fn draw_unopened(sessions: &[Value], frame: &mut Frame<'_>, area: Rect) {
    let row = |session: &Value| {
        Row::new([Cell::new(text(&session["name"])), Cell::new(text(&session["text"]))])
            .style(Style::new().fg(Color::Red))
    };
    let widths = [Constraint::Percentage(30), Constraint::Min(20)];
    let rows = sessions.iter().map(row).collect();
    frame.render_widget(table("Not opened", &["Session", "Reason"], &widths, rows), area);
}

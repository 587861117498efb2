//! The view of FIX sessions.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::{Cell, Row};
use serde_json::Value;

use super::{chosen, draw_events, fault, nothing, right, state_cell, table};
use crate::app::App;
use crate::fields::{count, list, rate, text};

/// Draws the view.
pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
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

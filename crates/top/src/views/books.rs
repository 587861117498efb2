//! The view of books: instruments, and the ladder of one.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Color;
use ratatui::widgets::{Cell, Row};
use serde_json::Value;

use super::{chosen, level, nothing, quiet, right, since, table};
use crate::app::App;
use crate::fields::{clock, count, list, text, words};

/// Draws the view.
pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
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
            Cell::new(format!("{}{}", words(&book["status"]), since(&book["stale_since_ms"])))
                .style(level(&text(&book["status"]))),
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
        Constraint::Length(20),
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
        Some(why) => {
            format!("{}: stale{}: {why}", text(&book["name"]), since(&book["stale_since_ms"]))
        }
        None => format!("{}: {}", text(&book["name"]), words(&book["status"])),
    };
    let widths = [Constraint::Percentage(33), Constraint::Percentage(34), Constraint::Min(8)];
    frame.render_widget(table(&title, &["#Bid size", "#Price", "Offer size"], &widths, rows), area);
}

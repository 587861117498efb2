//! The last minutes of a channel or a session: gaps or events on a time line, and heat maps of times.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Color;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};
use serde_json::Value;

use super::{is_numbered, level, nothing, quiet};
use crate::app::{App, View};
use crate::fields::{clock, counted, list, ns, text};

/// Time that a time line covers.
const TIME_LINE_MS: u64 = 600_000;
/// Title, marks, scale and legend.
const TIME_LINE_ROWS: u16 = 4;
/// Width of the labels of heat maps.
const LABEL: usize = 11;
/// Shades of a heat map, from the fewest to the most times in a second.
const SHADES: [&str; 4] = ["░", "▒", "▓", "█"];
/// Kinds of times, and their members in a second of the history.
const TIMES: [(&str, &str); 4] = [
    ("Kernel to handler", "receive_buckets"),
    ("Decoding a message", "decode_buckets"),
    ("Applying a message to books", "book_buckets"),
    ("Publishing", "publish_buckets"),
];

/// The marks of a time line: kind, symbol, and the state whose colour the symbol has. Where several fall into one column, the first
/// of the list is drawn.
type Legend = [(&'static str, &'static str, &'static str)];

const GAPS: &Legend = &[
    ("open", "◆", "open"),
    ("filled by a replay", "■", "filled"),
    ("filled by a snapshot", "●", "filled"),
    ("filled by updates", "▲", "filled"),
    ("void after a reset", "×", "filled"),
];
const EVENTS: &Legend = &[
    ("gap", "◆", "gap"),
    ("resend", "●", "resend"),
    ("reset", "×", "resend"),
    ("end", "■", "other"),
    ("logon", "▲", "live"),
    ("other", "·", "other"),
];

/// Something that happened at a time.
struct TimeLineMark {
    at_ms: u64,
    /// Kind in the [`Legend`].
    kind: &'static str,
}

/// Draws the view.
pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let now_ms = app.state["at_ms"].as_u64().unwrap_or(0);
    let subject = app.history_subject();
    match app.view {
        View::Topics => nothing(frame, area, "Topics have no time line; h shows their last hour."),
        View::Fix => {
            let Some(session) = app.shown_session() else {
                return nothing(frame, area, "This process has no FIX sessions.");
            };
            let marks = list(&session["events"]).iter().map(of_event).collect::<Vec<_>>();
            let title = format!("last 10 minutes of {subject}: {}", counted(marks.len(), "event"));
            time_line(title, &marks, EVENTS, now_ms, frame, area);
        }
        View::Feed | View::Books | View::Packets => {
            let Some(channel) = app.shown_channel() else {
                return nothing(frame, area, "This process receives no feed.");
            };
            let marks = list(&channel["gaps"]).iter().map(of_gap).collect::<Vec<_>>();
            let rows = [Constraint::Length(TIME_LINE_ROWS + 1), Constraint::Fill(1)];
            let [top, maps] = Layout::vertical(rows).areas(area);
            let gaps = match is_numbered(channel) {
                true => counted(marks.len(), "gap"),
                false => "gaps are not known, the packets have no sequence numbers".to_owned(),
            };
            let title = format!("last 10 minutes of {subject}: {gaps}");
            time_line(title, &marks, GAPS, now_ms, frame, top);
            heat_maps(app, frame, maps);
        }
    }
}

fn of_gap(gap: &Value) -> TimeLineMark {
    let kind = match (gap["status"].as_str(), gap["filled_by"].as_str()) {
        (Some("filled"), Some("replay")) => "filled by a replay",
        (Some("filled"), Some("updates")) => "filled by updates",
        (Some("filled"), Some("reset")) => "void after a reset",
        (Some("filled"), _) => "filled by a snapshot",
        _ => "open",
    };
    TimeLineMark { at_ms: gap["at_ms"].as_u64().unwrap_or(0), kind }
}

fn of_event(event: &Value) -> TimeLineMark {
    let kind = text(&event["kind"]);
    let known = EVENTS.iter().find(|(name, ..)| kind == *name);
    let kind = match known {
        Some((name, ..)) => name,
        None if kind.starts_with("end") => "end",
        None => "other",
    };
    TimeLineMark { at_ms: event["at_ms"].as_u64().unwrap_or(0), kind }
}

/// Draws marks by their time; the right end is now.
fn time_line(
    title: String,
    marks: &[TimeLineMark],
    legend: &Legend,
    now_ms: u64,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let width = usize::from(area.width);
    let mut line = vec![Span::styled("─", quiet()); width];
    let mut shown = 0;
    // In reverse, so that the first kind of the legend replaces the others of its column.
    for (kind, symbol, state) in legend.iter().rev() {
        let of_kind = marks.iter().filter(|mark| mark.kind == *kind);
        for at in of_kind.filter_map(|mark| column(mark.at_ms, now_ms, width)) {
            line[at] = Span::styled(*symbol, level(state));
            shown += 1;
        }
    }
    let before = marks.len() - shown;
    let title = match before {
        0 => title,
        _ => format!("{title}, {before} of them before these minutes"),
    };
    let now = clock(&now_ms.into());
    let scale = format!("-10 min{:>1$}", &now[..8], width.saturating_sub(7));
    let keys: Vec<String> =
        legend.iter().map(|(kind, symbol, _)| format!("{symbol} {kind}")).collect();
    let rows = vec![
        Line::raw(title),
        Line::from(line),
        Line::styled(scale, quiet()),
        Line::styled(keys.join("  "), quiet()),
    ];
    frame.render_widget(Paragraph::new(rows), area);
}

/// Returns the column of a time; `None` if it is before the time line, or after it because the clock was set back.
fn column(at_ms: u64, now_ms: u64, width: usize) -> Option<usize> {
    let ago_ms = now_ms.checked_sub(at_ms).filter(|ago_ms| *ago_ms < TIME_LINE_MS)?;
    let columns_ago = usize::try_from(ago_ms * width as u64 / TIME_LINE_MS).ok()?;
    width.checked_sub(columns_ago + 1)
}

/// Draws a heat map of each kind of times that the channel has measured: a column a second, a row a bucket.
fn heat_maps(app: &App, frame: &mut Frame<'_>, mut area: Rect) {
    let seconds = app.history();
    if seconds.is_empty() {
        let words = app.history_error.as_deref();
        return nothing(frame, area, words.unwrap_or("No second of the history has come yet."));
    }
    let columns = usize::from(area.width).saturating_sub(LABEL);
    let seconds = &seconds[seconds.len().saturating_sub(columns)..];
    for (title, member) in TIMES {
        let counts: Vec<Vec<u64>> = seconds.iter().map(|second| numbers(&second[member])).collect();
        let rows = heat_rows(&counts, app.bounds_ns());
        if rows.is_empty() {
            continue;
        }
        let height = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX);
        if height > area.height {
            return nothing(frame, area, &format!("{title}: needs a taller screen"));
        }
        let title = format!("{title}, the last {} s; denser is more", seconds.len());
        let map = Paragraph::new(rows).block(Block::new().title(title));
        frame.render_widget(map, Rect { height, ..area });
        (area.y, area.height) = (area.y + height, area.height - height);
    }
}

fn numbers(value: &Value) -> Vec<u64> {
    list(value).iter().filter_map(Value::as_u64).collect()
}

/// Returns the rows of a heat map, from the longest times that occurred to the shortest; none if no time was measured.
fn heat_rows(seconds: &[Vec<u64>], bounds_ns: &[u64]) -> Vec<Line<'static>> {
    let is_used = |bucket: &usize| seconds.iter().any(|counts| counts.get(*bucket) > Some(&0));
    let buckets = 0..=bounds_ns.len();
    let Some(low) = buckets.clone().find(is_used) else { return Vec::new() };
    let high = buckets.rev().find(is_used).unwrap_or(low);
    let most = seconds.iter().flatten().max().copied().unwrap_or(0);
    let row = |bucket: usize| {
        let label = match bounds_ns.get(bucket) {
            Some(bound) => format!("≤ {}", ns(&(*bound).into())),
            None => format!("> {}", ns(&bounds_ns.last().copied().into())),
        };
        let cells = seconds.iter().map(|counts| shade(counts.get(bucket).copied(), most));
        let cells = Span::styled(cells.collect::<String>(), Color::Cyan);
        let width = LABEL - 1;
        Line::from(vec![Span::styled(format!("{label:>width$} "), quiet()), cells])
    };
    (low..=high).rev().map(row).collect()
}

/// Returns the shade of a count by its logarithm; a space for none.
fn shade(count: Option<u64>, most: u64) -> &'static str {
    let Some(count @ 1..) = count else { return " " };
    let share = (1.0 + count as f64).ln() / (1.0 + most as f64).ln();
    let at = (share * SHADES.len() as f64) as usize;
    SHADES[at.min(SHADES.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_line_ends_now_and_covers_ten_minutes() {
        assert_eq!(column(1_000_000, 1_000_000, 100), Some(99));
        assert_eq!(column(400_001, 1_000_000, 100), Some(0));
        assert_eq!(column(400_000, 1_000_000, 100), None);
        // The clock was set back.
        assert_eq!(column(1_000_001, 1_000_000, 100), None);
        assert_eq!(column(999_000, 1_000_000, 0), None);
    }

    #[test]
    fn a_heat_map_has_the_buckets_that_occurred_and_denser_ones_for_more() {
        let seconds = [vec![0, 1, 0, 0], vec![0, 900, 0, 30], vec![]];
        let rows = heat_rows(&seconds, &[100, 1_000, 5_000]);
        let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
        assert_eq!(rows, ["  > 5.0 us  ▓ ", "  ≤ 5.0 us    ", "  ≤ 1.0 us ░█ "]);
        assert!(heat_rows(&[vec![0, 0]], &[100]).is_empty());
        assert!(heat_rows(&[], &[]).is_empty());
    }

    #[test]
    fn an_event_of_any_kind_has_a_mark() {
        let kind = |kind: &str| of_event(&serde_json::json!({ "kind": kind, "at_ms": 1 })).kind;
        assert_eq!(kind("logon"), "logon");
        assert_eq!(kind("end_by_peer"), "end");
        assert_eq!(kind("new_kind"), "other");
    }
}

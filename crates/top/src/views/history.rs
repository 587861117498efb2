//! The last hour of a channel, a session, topics or sent lines: a chart of each count.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::{Block, Paragraph, Sparkline};
use serde_json::Value;

use super::{is_numbered, nothing};
use crate::app::{App, View};
use crate::fields::{count, list, ns, span, text};

/// Least height of a chart: its title, and a row of bars.
const CHART_ROWS: u16 = 2;

/// A count of every second.
struct HourSeries {
    title: String,
    values: Vec<u64>,
    /// True if the values are nanoseconds.
    is_time: bool,
}

/// Draws the charts.
pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let seconds = app.history();
    if seconds.is_empty() {
        let words = match (&app.history_error, app.history_path()) {
            (_, None) => "There is no history of this view.",
            (Some(error), Some(_)) => error,
            (None, Some(_)) => "No second of the history has come yet.",
        };
        return nothing(frame, area, words);
    }
    let mut all = match app.view {
        View::Feed if list(&app.state["channels"]).is_empty() => {
            of_sent(seconds, &app.state["sender"]["lines"])
        }
        View::Feed | View::Books | View::Packets => {
            of_channel(seconds, app.shown_channel().is_none_or(is_numbered))
        }
        View::Fix => of_session(seconds),
        View::Topics => of_topics(seconds, &app.state["bus"]["topics"]),
    };
    let [heading, area] =
        Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let fitting = usize::from(area.height / CHART_ROWS).max(1);
    let subject = app.history_subject();
    let heading_text = match all.len().saturating_sub(fitting) {
        0 => format!("last hour of {subject}"),
        1 => format!("last hour of {subject}; 1 more chart needs a taller screen"),
        more => format!("last hour of {subject}; {more} more charts need a taller screen"),
    };
    frame.render_widget(Paragraph::new(heading_text), heading);
    all.truncate(fitting);
    let heights = vec![Constraint::Fill(1); all.len()];
    let covered = covered(seconds);
    for (series, area) in all.into_iter().zip(Layout::vertical(heights).split(area).iter()) {
        chart(&series, covered, frame, *area);
    }
}

/// Returns how many seconds passed from the first to the last one; some between may be missing.
fn covered(seconds: &[Value]) -> u64 {
    let [first, last] =
        [seconds.first(), seconds.last()].map(|of| of.and_then(|of| of["t"].as_u64()));
    last.unwrap_or(0).saturating_sub(first.unwrap_or(0)) + 1
}

/// Draws a series with its last and its greatest value; a column has the greatest value of its seconds.
fn chart(series: &HourSeries, seconds: u64, frame: &mut Frame<'_>, area: Rect) {
    let HourSeries { title, values, is_time } = series;
    let shown = |value: Option<&u64>| {
        let value = Value::from(value.copied().unwrap_or(0));
        if *is_time { ns(&value) } else { count(&value) }
    };
    let title = format!(
        "{title}: {} in the last second, {} at most in {}",
        shown(values.last()),
        shown(values.iter().max()),
        span(&(seconds * 1000).into()),
    );
    let chart =
        Sparkline::default().block(Block::new().title(title)).data(columns(values, area.width));
    frame.render_widget(chart, area);
}

/// Returns at most `width` values: each the greatest of as many seconds as needed.
fn columns(values: &[u64], width: u16) -> Vec<u64> {
    let per_column = values.len().div_ceil(usize::from(width).max(1)).max(1);
    values.chunks(per_column).filter_map(|chunk| chunk.iter().copied().max()).collect()
}

fn series(seconds: &[Value], title: &str, pointer: &str, is_time: bool) -> HourSeries {
    let value = |second: &Value| second.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    HourSeries { title: title.to_owned(), values: seconds.iter().map(value).collect(), is_time }
}

fn of_channel(seconds: &[Value], is_numbered: bool) -> Vec<HourSeries> {
    let of = [
        ("packets of line A", "/packets/0", false),
        ("packets of line B", "/packets/1", false),
        ("lost on line A", "/lost/0", false),
        ("lost on line B", "/lost/1", false),
        ("lost on both", "/missing", false),
        ("messages", "/messages", false),
        ("stale books", "/stale", false),
        ("kernel to handler, p99", "/receive_delay/p99_ns", true),
        ("decoding a message, p99", "/decode_time/p99_ns", true),
    ];
    let of = of.into_iter().filter(|(title, ..)| is_numbered || !title.starts_with("lost"));
    of.map(|(title, pointer, is_time)| series(seconds, title, pointer, is_time)).collect()
}

fn of_session(seconds: &[Value]) -> Vec<HourSeries> {
    let of = ["received", "sent", "resent", "rejected", "queued"];
    of.map(|member| series(seconds, &format!("messages {member}"), &format!("/{member}"), false))
        .into()
}

/// Returns the packets of each line.
fn of_sent(seconds: &[Value], lines: &Value) -> Vec<HourSeries> {
    let line = |(index, line): (usize, &Value)| {
        let of = [
            ("packets to line", "packets"),
            ("no room for packets to line", "no_room"),
            ("lost on purpose to line", "lost"),
        ];
        of.map(|(title, member)| {
            let title = format!("{title} {}", text(&line["line"]));
            series(seconds, &title, &format!("/lines/{index}/{member}"), false)
        })
    };
    list(lines).iter().enumerate().flat_map(line).collect()
}

/// Returns losses, and the samples of each topic that has any.
fn of_topics(seconds: &[Value], topics: &Value) -> Vec<HourSeries> {
    let topic = |(index, topic): (usize, &Value)| {
        let pointer = format!("/topics/{index}/samples");
        series(seconds, &format!("samples of {}", text(&topic["name"])), &pointer, false)
    };
    let lost = ["lost", "missing", "dropped"]
        .map(|member| series(seconds, &format!("samples {member}"), &format!("/{member}"), false));
    let has_any = |series: &HourSeries| series.values.iter().any(|value| *value > 0);
    let used = list(topics).iter().enumerate().map(topic).filter(has_any);
    lost.into_iter().chain(used).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_seconds_count_for_the_time_that_is_covered() {
        let at = |t: u64| serde_json::json!({ "t": t });
        assert_eq!(covered(&[at(100), at(101), at(109)]), 10);
        assert_eq!(covered(&[at(7)]), 1);
    }

    #[test]
    fn a_column_has_the_greatest_value_of_its_seconds() {
        assert_eq!(columns(&[1, 5, 2, 0, 7], 2), [5, 7]);
        assert_eq!(columns(&[1, 5, 2], 80), [1, 5, 2]);
        let hour: Vec<u64> = (0..3600).collect();
        let shown = columns(&hour, 100);
        assert_eq!((shown.len(), shown.last()), (100, Some(&3599)));
        assert_eq!(columns(&[3], 0), [3]);
    }
}

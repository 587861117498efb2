//! The processes of a monitor of several, and the topics of all of them beside each other.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::widgets::{Cell, Row};
use serde_json::Value;

use super::{chosen, is_numbered, right, table};
use crate::app::App;
use crate::fields::{count, list, rate, span, text, words};

/// Draws the view.
pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let processes = list(&app.processes);
    let writes = processes.iter().filter(|process| !process["bus"].is_null());
    let buses: Vec<&Value> = writes.collect();
    let height = processes.len().saturating_add(3).min(usize::from(u16::MAX)) as u16;
    let heights = match buses.is_empty() {
        true => [Constraint::Min(4), Constraint::Length(0)],
        false => [Constraint::Length(height), Constraint::Min(4)],
    };
    let [top, bottom] = Layout::vertical(heights).areas(area);
    let names = [
        "Process",
        "State",
        "#Messages/s",
        "#Gaps",
        "#Stale",
        "Sessions",
        "#Up",
        "Command and why",
    ];
    let widths = [
        Constraint::Min(16),
        Constraint::Length(10),
        Constraint::Length(11),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(19),
        Constraint::Length(8),
        Constraint::Percentage(40),
    ];
    let all = table("Processes", &names, &widths, processes.iter().map(process_row).collect());
    frame.render_stateful_widget(all, top, &mut chosen(app));
    if !buses.is_empty() {
        draw_topics(&buses, frame, bottom);
    }
}

fn process_row(process: &Value) -> Row<'static> {
    let reasons = [&process["not_ready"], &process["warnings"]];
    let reasons: Vec<&str> = reasons.into_iter().flat_map(list).filter_map(Value::as_str).collect();
    let error = process["error"].as_str();
    let (state, colour) = match process["level"].as_str() {
        Some("no_answer") => ("no answer", Color::Red),
        Some("not_ready") => ("not ready", Color::Red),
        Some("warning") => ("warning", Color::Yellow),
        _ => ("ready", Color::Green),
    };
    let channels = list(&process["channels"]);
    let sum = |member: &str| channels.iter().filter_map(|of| of[member].as_u64()).sum::<u64>();
    let per_second: f64 = channels.iter().filter_map(|of| of["messages_per_second"].as_f64()).sum();
    let of_channels =
        |shown: String| right(if channels.is_empty() { String::new() } else { shown });
    let gaps = match channels.iter().any(is_numbered) {
        true => count(&sum("declared_gaps").into()),
        false => "unknown".to_owned(),
    };
    let sessions = match process["sessions"].as_u64() {
        None | Some(0) => String::new(),
        Some(all) => format!("{} of {all} logged on", count(&process["logged_on"])),
    };
    let about = match error {
        Some(error) => error.to_owned(),
        None => format!("{}  {}", text(&process["command"]), reasons.join("; ")),
    };
    Row::new(vec![
        Cell::new(text(&process["name"])),
        Cell::new(state).style(Style::new().fg(colour)),
        of_channels(rate(&per_second.into())),
        of_channels(gaps),
        of_channels(count(&sum("stale_books").into())),
        Cell::new(sessions),
        right(span(&process["uptime_ms"])),
        Cell::new(about),
    ])
}

/// Draws a column for each process that writes or reads topics.
fn draw_topics(processes: &[&Value], frame: &mut Frame<'_>, area: Rect) {
    let mut names: Vec<String> = Vec::new();
    for topic in processes.iter().flat_map(|process| list(&process["bus"]["topics"])) {
        let name = text(&topic["name"]);
        // A topic without samples is not shown.
        if topic["samples"].as_u64() > Some(0) && !names.contains(&name) {
            names.push(name);
        }
    }
    let of = |process: &Value, name: &str| {
        let topics = list(&process["bus"]["topics"]);
        let topic = topics.iter().find(|topic| topic["name"] == name);
        right(topic.map_or_else(String::new, |topic| {
            format!("{} ({}/s)", count(&topic["samples"]), rate(&topic["samples_per_second"]))
        }))
    };
    let row = |name: &String| {
        let cells = processes.iter().map(|process| of(process, name));
        Row::new(std::iter::once(Cell::new(name.clone())).chain(cells))
    };
    let about = |process: &&Value| {
        let bus = &process["bus"];
        right(format!("{}, {}", words(&bus["transport"]), words(&bus["status"])))
    };
    let abouts = std::iter::once(Cell::new("")).chain(processes.iter().map(about));
    let rows = std::iter::once(Row::new(abouts)).chain(names.iter().map(row)).collect();
    let heads: Vec<String> = std::iter::once("Topic".to_owned())
        .chain(processes.iter().map(|process| format!("#{}", text(&process["name"]))))
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut widths = vec![Constraint::Min(14)];
    widths.resize(heads.len(), Constraint::Fill(1));
    frame.render_widget(table("Topics of all processes: samples", &heads, &widths, rows), area);
}

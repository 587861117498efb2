//! Draws screens from recorded answers of a process.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::Value;
use tickwire_top::{App, Keystroke};

/// Returns the recorded state of a process and its answers to the paths of the views.
fn recorded() -> Value {
    serde_json::from_str(include_str!("recorded.json")).expect("JSON")
}

/// Returns the lines of a screen with this many columns.
fn screen(app: &App, columns: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, 40)).expect("a terminal");
    terminal.draw(|frame| app.draw(frame)).expect("drawn");
    let buffer = terminal.backend().buffer().clone();
    let line = |row: u16| (0..columns).map(|column| buffer[(column, row)].symbol()).collect();
    (0..40).map(line).collect()
}

/// Returns the line that contains a text.
fn line_with<'s>(screen: &'s [String], text: &str) -> &'s str {
    let found = screen.iter().find(|line| line.contains(text));
    found.unwrap_or_else(|| panic!("no {text} in:\n{}", screen.join("\n")))
}

fn app() -> App {
    let mut app = App::new("127.0.0.1:9100".to_owned());
    app.set_state(recorded()["state"].clone());
    app
}

/// Formats a count as the screen does.
fn shown(value: &Value) -> String {
    let digits = value.as_u64().expect("a count").to_string();
    let chunks: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|chunk| std::str::from_utf8(chunk).expect("digits"))
        .collect();
    chunks.join(",")
}

#[test]
fn the_feed_has_the_counts_of_the_state() {
    let app = app();
    let lines = screen(&app, 160);
    let state = &recorded()["state"];
    let channel = &state["channels"][0];
    let row = line_with(&lines, channel["status"].as_str().expect("a status"));
    for member in ["messages", "declared_gaps", "missing_seq_nums", "failed_packets"] {
        assert!(row.contains(&shown(&channel[member])), "{member}: {row}");
    }
    for line in channel["lines"].as_array().expect("lines") {
        let name = format!(
            "{} {}",
            line["feed"].as_str().expect("a feed"),
            line["line"].as_str().expect("a line").to_uppercase()
        );
        let row = line_with(&lines, &name);
        assert!(row.contains(&shown(&line["received_packets"])), "{row}");
    }
    assert!(lines[0].contains("1 Feed") && lines[0].contains("5 Topics"), "{}", lines[0]);
    let gap = &channel["gaps"][0];
    let row = line_with(&lines, gap["first"].as_str().expect("a number"));
    assert!(row.contains(gap["status"].as_str().expect("a status")), "{row}");
    // A narrow terminal shows less, without a panic.
    screen(&app, 20);
}

#[test]
fn keys_change_the_view_and_what_is_asked_for() {
    let mut app = app();
    assert_eq!(app.detail_path(), None);
    app.press(Keystroke::Character('2'));
    let path = app.detail_path().expect("books are asked for");
    assert!(path.starts_with("/api/v1/books?channel=feed&search=&"), "{path}");
    app.set_detail(recorded()["books"].clone());
    let lines = screen(&app, 160);
    let book = &recorded()["books"]["books"][0];
    line_with(&lines, book["name"].as_str().expect("a name"));
    assert!(app.detail_path().is_some_and(|path| path.contains("&watch=0")));
    app.press(Keystroke::Character('/'));
    "a b".chars().for_each(|character| app.press(Keystroke::Character(character)));
    assert!(app.detail_path().is_some_and(|path| path.contains("search=a%20b")));
    assert!(screen(&app, 100)[39].contains("search: a b_"));
    app.press(Keystroke::Escape);
    app.press(Keystroke::Character('3'));
    app.set_detail(recorded()["packets"].clone());
    app.press(Keystroke::Enter);
    let id = &recorded()["packets"]["packets"][0]["id"];
    assert_eq!(app.detail_path(), Some(format!("/api/v1/packets/{id}?channel=feed")));
    app.set_detail(recorded()["packet"].clone());
    line_with(&screen(&app, 160), "template id");
    app.press(Keystroke::Escape);
    assert_eq!(app.detail_path().as_deref(), Some("/api/v1/packets?channel=feed"));
    for _ in 0..3 {
        app.press(Keystroke::Next);
    }
    app.press(Keystroke::Character('q'));
    assert!(app.is_over());
}

#[test]
fn sessions_and_topics_are_shown() {
    let mut app = App::new("127.0.0.1:9100".to_owned());
    app.set_state(recorded()["fix"].clone());
    app.press(Keystroke::Character('4'));
    let lines = screen(&app, 160);
    let session = &recorded()["fix"]["fix"]["sessions"][0];
    let row = line_with(&lines, "logged on");
    assert!(row.contains(&shown(&session["next_sender"])), "{row}");
    for message in session["messages"].as_array().expect("messages") {
        let member = |name: &str| message[name].as_str().expect("a text").to_owned();
        let row = line_with(&lines, &format!("{} {}", member("seq_num"), member("name")));
        let way = if member("direction") == "in" { "received" } else { "sent" };
        assert!(row.contains(way), "{way}: {row}");
    }
    let gap = session["events"].as_array().expect("events").iter().find(|of| of["kind"] == "gap");
    line_with(&lines, gap.expect("messages were lost")["text"].as_str().expect("a text"));
    app.set_state(recorded()["bus"].clone());
    app.press(Keystroke::Character('5'));
    let lines = screen(&app, 160);
    line_with(&lines, "late joiners");
    let topic = &recorded()["bus"]["bus"]["topics"][0];
    let row = line_with(&lines, topic["name"].as_str().expect("a name"));
    assert!(row.contains(&shown(&topic["samples"])), "{row}");
    assert!(row.trim_end_matches([' ', '│']).ends_with('7'), "the backlog: {row}");
}

//! Draws screens from recorded answers of a process.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use serde_json::{Value, json};
use tickwire_top::{App, Keystroke};

/// Returns the recorded state of a process and its answers to the paths of the views.
fn recorded() -> Value {
    serde_json::from_str(include_str!("recorded.json")).expect("JSON")
}

/// Returns the lines of a screen with this many columns and 40 rows.
fn screen(app: &App, columns: u16) -> Vec<String> {
    screen_of(app, columns, 40)
}

fn screen_of(app: &App, columns: u16, rows: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
    terminal.draw(|frame| app.draw(frame)).expect("drawn");
    let buffer = terminal.backend().buffer().clone();
    let line = |row: u16| (0..columns).map(|column| buffer[(column, row)].symbol()).collect();
    (0..rows).map(line).collect()
}

/// Returns the colour of a text on a screen with 160 columns.
fn colour(app: &App, text: &str) -> Color {
    let (row, line) = screen(app, 160)
        .into_iter()
        .enumerate()
        .find(|(_, line)| line.contains(text))
        .unwrap_or_else(|| panic!("no {text}"));
    let column = line[..line.find(text).expect("it is there")].chars().count();
    let mut terminal = Terminal::new(TestBackend::new(160, 40)).expect("a terminal");
    terminal.draw(|frame| app.draw(frame)).expect("drawn");
    terminal.backend().buffer()[(column as u16, row as u16)].fg
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
    let mut packet = recorded()["packet"].clone();
    packet["explanation"]["remark"] = json!(format!("{}end.", "word ".repeat(60)));
    app.set_detail(packet);
    // The whole remark is above the packet.
    for columns in [40, 160] {
        let lines = screen(&app, columns);
        let [end, packet] = ["end.", "Packet "]
            .map(|text| lines.iter().position(|line| line.contains(text)).expect("it is shown"));
        assert!(end < packet, "{}", lines.join("\n"));
    }
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

#[test]
fn sessions_are_told_apart_and_red_only_while_they_should_be_logged_on() {
    let mut app = App::new("127.0.0.1:9100".to_owned());
    let mut state = recorded()["fix"].clone();
    let session = |qualifier: &str, state: &str, enabled: bool, in_schedule: bool| {
        let mut session = recorded()["fix"]["fix"]["sessions"][0].clone();
        session["qualifier"] = qualifier.into();
        session["state"] = state.into();
        session["enabled"] = enabled.into();
        session["in_schedule"] = in_schedule.into();
        session
    };
    state["fix"]["sessions"] = json!([
        session("", "logged_on", true, true),
        session("down", "disconnected", true, true),
        session("off", "disconnected", false, true),
        session("closed", "disconnected", true, false),
        session("closed-off", "disconnected", false, false),
        session("late", "logged_on", true, false),
    ]);
    app.set_state(state.clone());
    app.press(Keystroke::Character('4'));
    let lines = screen(&app, 160);
    for (name, state) in [
        ("TEX_DLD > DLD_TEX down ", "disconnected"),
        ("TEX_DLD > DLD_TEX off ", "disabled"),
        ("TEX_DLD > DLD_TEX closed ", "outside schedule"),
        ("TEX_DLD > DLD_TEX closed-off ", "disabled"),
        ("TEX_DLD > DLD_TEX late ", "logged on"),
    ] {
        let row = line_with(&lines, name);
        assert!(row.contains(state) && row.contains("FIX.4.2"), "{name}: {row}");
    }
    assert_eq!(colour(&app, "disconnected"), Color::Red);
    assert_eq!(colour(&app, "disabled"), Color::Yellow);
    assert_eq!(colour(&app, "outside schedule"), Color::Reset);

    let reason = "store/FIX.4.4-A-ONE.journal: damaged from offset 24";
    state["fix"]["unopened"] = json!([{"name": "FIX.4.4-A-ONE", "text": reason}]);
    app.set_state(state.clone());
    let row = line_with(&screen(&app, 160), "FIX.4.4-A-ONE ").to_owned();
    assert!(row.contains(reason), "{row}");
    assert_eq!(colour(&app, reason), Color::Red);
    line_with(&screen(&app, 160), "TEX_DLD > DLD_TEX down ");
    // The unopened session is also shown if there is no other session.
    state["fix"]["sessions"] = json!([]);
    app.set_state(state);
    line_with(&screen(&app, 160), reason);
    assert!(!screen(&app, 160).iter().any(|line| line.contains("has no FIX sessions")));
}

#[test]
fn losses_are_not_known_without_sequence_numbers() {
    let mut app = App::new("127.0.0.1:9100".to_owned());
    let mut state = recorded()["state"].clone();
    let channel = &mut state["channels"][0];
    (channel["next_seq_num"], channel["has_seq_nums"]) = (Value::Null, false.into());
    (channel["declared_gaps"], channel["missing_seq_nums"]) = (0.into(), 0.into());
    channel["gaps"] = json!([]);
    for line in channel["lines"].as_array_mut().expect("lines") {
        if !line["arbitration"].is_null() {
            line["arbitration"]["lost_seq_nums"] = 123_456.into();
        }
    }
    app.set_state(state.clone());
    let lines = screen(&app, 160);
    let row = line_with(&lines, "not numbered");
    // Gaps and lost numbers.
    assert!(row.split_whitespace().filter(|word| *word == "-").count() == 2, "{row}");
    line_with(&lines, "Gaps: not known, the packets have no sequence numbers");
    assert!(!lines.iter().any(|line| line.contains("123,456")), "{}", lines.join("\n"));
    app.press(Keystroke::Character('m'));
    line_with(&screen(&app, 160), "gaps are not known, the packets have no sequence numbers");
    app.press(Keystroke::Character('h'));
    app.add_history(json!({"seconds": [{"t": 1, "packets": [5, 6]}]}));
    let lines = screen(&app, 160);
    line_with(&lines, "packets of line A: 5");
    assert!(!lines.iter().any(|line| line.contains("lost on")), "{}", lines.join("\n"));
    // Before the first message it is not known whether there are numbers.
    state["channels"][0]["has_seq_nums"] = Value::Null;
    app.set_state(state);
    app.press(Keystroke::Escape);
    assert!(!screen(&app, 160).iter().any(|line| line.contains("not numbered")));
}

#[test]
fn stale_books_say_since_when_and_why() {
    let mut app = App::new("127.0.0.1:9100".to_owned());
    let mut state = recorded()["state"].clone();
    // 09:30:05 UTC.
    let since_ms = 1_795_685_405_123_u64;
    let stale = &mut state["channels"][0]["books"]["stale_books"][0];
    stale["since_ms"] = since_ms.into();
    let (name, why) = (stale["name"].clone(), stale["text"].clone());
    app.set_state(state);
    let lines = screen(&app, 200);
    let row = line_with(&lines, "rpt seq gap since 09:30:05");
    assert!(row.contains(name.as_str().expect("a name")), "{row}");
    assert!(row.contains(&why.as_str().expect("a text")[..20]), "{row}");

    app.press(Keystroke::Character('2'));
    let mut books = recorded()["books"].clone();
    (books["books"][0]["status"], books["books"][0]["stale_since_ms"]) =
        ("stale".into(), since_ms.into());
    books["ladders"] = json!([{"name": "20518", "status": "stale", "stale_text": "no snapshot", "stale_since_ms": since_ms}]);
    app.set_detail(books);
    let lines = screen(&app, 160);
    line_with(&lines, "stale since 09:30:05");
    line_with(&lines, "20518: stale since 09:30:05: no snapshot");
}

#[test]
fn a_sender_has_its_lines_and_how_late_it_is() {
    let mut app = App::new("127.0.0.1:9100".to_owned());
    let mut state = recorded()["sender"].clone();
    app.set_state(state.clone());
    let lines = screen(&app, 160);
    let sender = &state["sender"];
    for line in sender["lines"].as_array().expect("lines") {
        let row = line_with(&lines, line["group"].as_str().expect("a group"));
        for member in ["sent_packets", "lost_packets", "duplicated_packets", "overtaken_packets"] {
            assert!(row.contains(&shown(&line[member])), "{member}: {row}");
        }
    }
    line_with(&lines, "late by 40.9 us (p50), 1.3 ms (p99), 9.6 ms (p99.9), 9.6 ms (max)");
    app.press(Keystroke::Character('h'));
    assert_eq!(app.history_path().as_deref(), Some("/api/v1/history?of=sent"));
    let packets = |count: u64| json!({"packets": count, "no_room": 0, "lost": 0});
    app.add_history(json!({"seconds": [{"t": 1, "lines": [packets(8), packets(9)]}]}));
    line_with(&screen(&app, 100), "packets to line B: 9 in the last second");
    line_with(&screen(&app, 100), "last hour of sent packets");
    app.press(Keystroke::Escape);
    // A process that receives too shows both.
    state["channels"] = recorded()["state"]["channels"].clone();
    app.set_state(state);
    let lines = screen(&app, 160);
    line_with(&lines, "Packets sent");
    line_with(&lines, "incremental A");
    line_with(&lines, "decoding a message");
}

/// The answer to `/api/v1/processes`: a feed, a publisher and a subscriber of topics, and a process
/// that is gone.
fn processes() -> Value {
    let topic = |name: &str, samples: u64| json!({"name": name, "samples": samples, "samples_per_second": 5.0, "matched": 1, "backlog_samples": null});
    let bus = |role: &str, transport: &str, samples: u64| json!({"role": role, "transport": transport, "status": "live", "late_joiners": 0, "topics": [topic("Quote", samples), topic("New", 0)]});
    let channel = json!({"name": "feed", "status": "live", "messages_per_second": 12.5, "declared_gaps": 7, "stale_books": 2});
    let process = |name: &str, level: &str, channels: Value, bus: Value| json!({"name": name, "address": "127.0.0.1:1", "error": null, "level": level, "command": "receive", "version": "0", "pid": 1, "uptime_ms": 61000, "not_ready": [], "warnings": if level == "warning" { vec!["feed: line B is silent"] } else { vec![] }, "channels": channels, "sessions": 2, "logged_on": 1, "bus": bus});
    json!({"processes": [
        process("feed", "warning", json!([channel]), Value::Null),
        process("writer", "ready", json!([]), bus("publisher", "DDS", 1234)),
        process("reader", "ready", json!([]), bus("subscriber", "shared memory", 999)),
        {"name": "gone", "address": "127.0.0.1:2", "error": "connection refused", "level": "no_answer", "not_ready": [], "warnings": [], "channels": []},
    ]})
}

#[test]
fn a_monitor_of_several_lists_its_processes_and_each_can_be_opened() {
    let mut app = App::new("127.0.0.1:9100".to_owned());
    app.set_processes(processes());
    let lines = screen(&app, 160);
    line_with(&lines, "4 processes at 127.0.0.1:9100");
    let row = line_with(&lines, "12.5");
    for wanted in ["feed", "warning", "1 of 2", "feed: line B is silent"] {
        assert!(row.contains(wanted), "{row}");
    }
    assert!(line_with(&lines, "no answer").contains("connection refused"));
    let mut unnumbered = processes();
    unnumbered["processes"][0]["channels"][0]["has_seq_nums"] = false.into();
    app.set_processes(unnumbered);
    let lines = screen(&app, 160);
    assert!(line_with(&lines, "12.5").contains(" unknown "), "{}", lines.join("\n"));
    // Topics of both transports beside each other; nobody has written the other topic.
    let row = line_with(&lines, "Quote");
    assert!(row.contains("1,234 (5.0/s)") && row.contains("999 (5.0/s)"), "{row}");
    let row = line_with(&lines, "DDS, live");
    assert!(row.contains("shared memory, live"), "{row}");
    assert!(!lines.iter().any(|line| line.contains("New")), "{}", lines.join("\n"));

    app.press(Keystroke::Down);
    app.press(Keystroke::Enter);
    app.set_state(recorded()["bus"].clone());
    app.press(Keystroke::Character('5'));
    let lines = screen(&app, 160);
    line_with(&lines, "writer: publish");
    line_with(&lines, "MDIncrementalRefresh");
    assert!(lines[39].contains("Esc: processes"), "{}", lines[39]);
    app.press(Keystroke::Escape);
    line_with(&screen(&app, 160), "4 processes");
    // A narrow terminal shows less, without a panic.
    screen(&app, 20);

    // Keys of one process have no effect in the list.
    for key in ['3', 'h', '/', 'c'].map(Keystroke::Character) {
        app.press(key);
    }
    app.press(Keystroke::Next);
    app.press(Keystroke::Enter);
    app.set_state(recorded()["bus"].clone());
    let lines = screen(&app, 160);
    assert!(lines[39].contains("5, Tab: view"), "still the Topics view: {}", lines[39]);
    line_with(&lines, "late joiners");
    assert_eq!(app.history_path(), None);
}

#[test]
fn the_last_hour_is_drawn_with_its_greatest_values() {
    let mut app = app();
    assert_eq!(app.history_path(), None);
    app.press(Keystroke::Character('h'));
    assert_eq!(app.history_path().as_deref(), Some("/api/v1/history?channel=feed"));
    let second = |t: u64, packets: u64| {
        let times = json!({"p99_ns": 1500});
        json!({"t": t, "packets": [packets, 3], "lost": [0, 1], "missing": 0, "messages": 2 * packets, "stale": 4, "receive_delay": times, "decode_time": times})
    };
    let seconds = |range: std::ops::Range<u64>| json!({"seconds": range.map(|t| second(t, t % 1000)).collect::<Vec<_>>()});
    app.add_history(seconds(1000..1010));
    // Seconds that are added again replace the earlier ones.
    app.add_history(seconds(1005..1012));
    let lines = screen(&app, 160);
    line_with(&lines, "packets of line A: 11 in the last second, 11 at most in 12.0 s");
    line_with(&lines, "messages: 22 in the last second, 22 at most in 12.0 s");
    line_with(&lines, "kernel to handler, p99: 1.5 us in the last second");
    line_with(&lines, "last hour of channel feed ");
    // A heading, and two rows for each of 9 charts; a screen has three rows for the rest.
    for (rows, more) in [(22, None), (21, Some(1)), (12, Some(5)), (5, Some(8))] {
        let lines = screen_of(&app, 80, rows);
        let heading = line_with(&lines, "last hour of channel feed");
        let said = more.map(|more| match more {
            1 => "1 more chart needs a taller screen".to_owned(),
            more => format!("{more} more charts need a taller screen"),
        });
        assert!(heading.contains(said.as_deref().unwrap_or("feed ")), "{rows} rows: {heading}");
        assert_eq!(heading.contains("taller"), said.is_some(), "{rows} rows: {heading}");
        let charts = lines.iter().filter(|line| line.contains("in the last second")).count();
        assert_eq!(charts, 9 - more.unwrap_or(0), "{rows} rows");
    }
    let title = lines.iter().position(|line| line.contains("packets of line A")).expect("a title");
    assert!(lines[title + 1..title + 4].iter().any(|line| line.contains('█')), "{lines:#?}");
    // One hour is kept, and its maximum is visible although each column stands for many seconds.
    app.add_history(seconds(2000..7000));
    line_with(
        &screen(&app, 80),
        "packets of line A: 999 in the last second, 999 at most in 60 min",
    );
    app.press(Keystroke::Escape);
    line_with(&screen(&app, 160), "incremental A");

    app.set_state(recorded()["fix"].clone());
    app.press(Keystroke::Character('4'));
    app.press(Keystroke::Character('h'));
    let path = app.history_path().expect("of a session");
    assert!(path.starts_with("/api/v1/history?of=session&session="), "{path}");
    app.add_history(json!({"seconds": [{"t": 1, "received": 5, "sent": 6, "resent": 0, "rejected": 0, "queued": 7}]}));
    line_with(&screen(&app, 100), "messages queued: 7 in the last second");
    let session = recorded()["fix"]["fix"]["sessions"][0]["name"].clone();
    let name = session.as_str().expect("a name");
    line_with(&screen(&app, 100), &format!("last hour of session {name}"));
    app.set_state(recorded()["bus"].clone());
    app.press(Keystroke::Character('5'));
    assert_eq!(app.history_path().as_deref(), Some("/api/v1/history?of=topics"));
    let topics = json!([{"samples": 8}, {"samples": 0}]);
    app.add_history(
        json!({"seconds": [{"t": 1, "lost": 0, "missing": 0, "dropped": 0, "topics": topics}]}),
    );
    line_with(&screen(&app, 100), "samples of MDIncrementalRefresh: 8 in the last second");
}

#[test]
fn gaps_events_and_times_of_the_last_minutes_are_drawn() {
    let mut app = app();
    app.press(Keystroke::Character('m'));
    assert_eq!(app.history_path().as_deref(), Some("/api/v1/history?channel=feed"));
    let now_ms = 1_795_661_335_717_u64;
    let mut state = recorded()["state"].clone();
    let gap = |ago_ms: u64, status: &str, filled_by: Value| json!({"at_ms": now_ms - ago_ms, "status": status, "filled_by": filled_by});
    state["at_ms"] = now_ms.into();
    state["channels"][0]["gaps"] = json!([
        gap(0, "open", Value::Null),
        gap(1, "filled", "snapshot".into()),
        gap(300_000, "filled", "replay".into()),
        gap(599_000, "filled", "updates".into()),
        gap(700_000, "filled", "snapshot".into()),
    ]);
    app.set_state(state);
    line_with(&screen(&app, 100), "No second of the history has come yet.");
    let second = |t: u64| json!({"t": t, "receive_buckets": [0, 5, 0], "decode_buckets": [9, 0, 1], "book_buckets": [], "publish_buckets": [0, 0, 0]});
    app.add_history(json!({"bounds_ns": [100, 2500], "seconds": [second(1), second(2)]}));
    let lines = screen(&app, 100);
    line_with(&lines, "last 10 minutes of channel feed: 5 gaps, 1 of them before these minutes");
    // If two marks fall into one column, the mark of the open gap is drawn.
    let marks = line_with(&lines, "──");
    let drawn: Vec<_> = marks.chars().enumerate().filter(|(_, mark)| *mark != '─').collect();
    assert_eq!(drawn, [(0, '▲'), (49, '■'), (99, '◆')]);
    line_with(&lines, "Kernel to handler, the last 2 s");
    line_with(&lines, "≤ 2.5 us ██");
    line_with(&lines, "Decoding a message, the last 2 s");
    line_with(&lines, "> 2.5 us ▒▒");
    assert!(!lines.iter().any(|line| line.contains("Publishing") || line.contains("books,")));
    line_with(&screen_of(&app, 60, 12), "Decoding a message: needs a taller screen");
    // Any size can be drawn.
    for (columns, rows) in [(1, 1), (5, 40), (300, 2)] {
        screen_of(&app, columns, rows);
    }

    app.press(Keystroke::Character('h'));
    line_with(&screen(&app, 100), "last hour of channel feed");
    app.press(Keystroke::Character('m'));
    app.set_state(recorded()["fix"].clone());
    app.press(Keystroke::Character('4'));
    let session = &recorded()["fix"]["fix"]["sessions"][0];
    let events = session["events"].as_array().expect("events").len();
    let title = format!(
        "last 10 minutes of session {}: {events} events",
        session["name"].as_str().expect("a name")
    );
    let lines = screen(&app, 120);
    line_with(&lines, &title);
    assert!(line_with(&lines, "──").contains('▲'), "the logon");
    app.press(Keystroke::Escape);
    line_with(&screen(&app, 120), "Next out");
}

use serde_json::json;

use super::*;

fn state(pid: u32) -> ApiAnswer {
    let state = json!({"process": {"pid": pid}, "channels": [{"name": "x"}, {"name": "y"}]});
    ApiAnswer::State { process: None, answer: Ok(state) }
}

/// Returns an answer with these seconds.
fn answer(query: WantedHistory, seconds: std::ops::Range<u64>) -> ApiAnswer {
    let seconds: Vec<Value> = seconds.map(|t| json!({ "t": t })).collect();
    ApiAnswer::History { process: None, query, answer: Ok(json!({ "seconds": seconds })) }
}

fn query(app: &App) -> WantedHistory {
    app.wanted().history.expect("a history is shown")
}

/// Returns an app that shows the history of channel x.
fn app() -> App {
    let mut app = App::new("127.0.0.1:9100".to_owned());
    app.take(state(1));
    app.press(Keystroke::Character('h'));
    app
}

#[test]
fn an_answer_that_came_while_another_channel_was_chosen_is_requested_again() {
    let mut app = app();
    let whole = query(&app);
    assert!(whole.path.ends_with("channel=x") && whole.after.is_none(), "{whole:?}");
    app.press(Keystroke::Down);
    app.take(answer(whole, 0..3600));
    app.press(Keystroke::Up);
    assert_eq!(query(&app).after, None);
    let whole = query(&app);
    app.take(answer(whole, 0..3600));
    assert_eq!((app.history().len(), query(&app).after), (3600, Some(3599)));
}

#[test]
fn the_seconds_of_a_restarted_process_replace_those_of_the_previous_one() {
    let mut app = app();
    let whole = query(&app);
    app.take(answer(whole, 100..200));
    let rest = query(&app);
    assert_eq!(rest.after, Some(199));
    // The new process answers the request for the seconds after those of the previous one.
    app.take(state(2));
    app.take(answer(rest, 198..202));
    assert!(app.history().is_empty());
    let whole = query(&app);
    assert_eq!(whole.after, None);
    app.take(answer(whole, 201..203));
    assert_eq!(app.history().len(), 2);
}

#[test]
fn answers_of_another_process_with_the_same_path_are_ignored() {
    let mut app = app();
    let (whole, of_first) = (query(&app), app.process.clone());
    app.show_process(Some("second".to_owned()));
    app.set_state(json!({"process": {"pid": 1}, "channels": [{"name": "x"}]}));
    app.press(Keystroke::Character('h'));
    assert_eq!(query(&app), whole);
    app.take(answer(whole, 0..3600));
    assert!(app.history().is_empty());
    app.press(Keystroke::Character('3'));
    let path = app.detail_path().expect("packets");
    app.take(ApiAnswer::Detail { process: of_first, path, answer: Ok(json!({"packets": []})) });
    assert!(app.detail.is_null());
}

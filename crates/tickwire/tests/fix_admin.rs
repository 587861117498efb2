//! Administration of the server's sessions over HTTP.

#[path = "trading/printing.rs"]
mod printing;

use printing::{Process, TIME_MAX};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Sends a request; returns the status and the JSON object.
fn ask(address: &str, token: &str, request: &str, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).expect("served");
    let len = body.len();
    write!(
        stream,
        "{request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: {len}\r\nConnection: close\r\n\r\n{body}"
    )
    .expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answered");
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let (_, body) = text.split_once("\r\n\r\n").expect("a body");
    (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}")))
}

#[test]
fn sessions_are_listed_logged_out_and_reset_by_those_with_the_token() {
    let folder = std::env::temp_dir().join(format!("tickwire-admin-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("token");
    let file = path.to_str().expect("text");
    let store = folder.join("store");
    let store = store.to_str().expect("text");
    let mut server = Process::start(&[
        "server",
        "--port",
        "0",
        "--admin",
        "0",
        "--admin-token",
        file,
        "--store",
        store,
    ]);
    let address = server.after("listening on ");
    let served = server.after("administration at http://");
    let token = std::fs::read_to_string(&path).expect("made");
    let token = token.trim();
    let client = Process::start(&[
        "client",
        &address,
        "--reliable",
        "--reconnect",
        "50ms",
        "--store",
        &format!("{store}-c"),
    ]);
    let name = "FIX.4.2-TEX_DLD-DLD_TEX";
    let session = |is_wanted: &dyn Fn(&Value) -> bool| {
        let begun = Instant::now();
        loop {
            let (status, found) = ask(&served, token, &format!("GET /sessions/{name}"), "");
            if status == 200 && is_wanted(&found) {
                return found;
            }
            assert!(begun.elapsed() < TIME_MAX, "{status} {found}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let found = session(&|found| found["state"] == "logged_on");
    assert_eq!((&found["role"], &found["enabled"]), (&"acceptor".into(), &true.into()));
    assert!(found["peer"].as_str().expect("text").starts_with("127.0.0.1:"), "{found}");
    writeln!(client.child.stdin.as_ref().expect("piped"), "N 20").expect("the menu listens");
    session(&|found| found["counters"]["delivered"] == 20);

    // Without the token, requests reveal and change nothing.
    for wrong in ["", "wrong"] {
        let (status, told) = ask(&served, wrong, "GET /sessions", "");
        assert_eq!(status, 401);
        assert!(told["sessions"].is_null(), "{told}");
        let (status, _) = ask(&served, wrong, &format!("POST /sessions/{name}/disable"), "");
        assert_eq!(status, 401);
    }
    let (status, all) = ask(&served, token, "GET /sessions", "");
    assert_eq!((status, all["sessions"][0]["name"].as_str()), (200, Some(name)), "{all}");

    // The numbers of a logged-on session do not change. After the session is disabled they do, and after it
    // is enabled both sides synchronise by a resend.
    let numbers = format!("POST /sessions/{name}/numbers");
    let (status, told) = ask(&served, token, &numbers, "{\"next_target\": 10}");
    assert_eq!(status, 409, "{told}");
    let (status, found) = ask(&served, token, &format!("POST /sessions/{name}/disable"), "");
    assert_eq!((status, &found["enabled"]), (200, &false.into()));
    session(&|found| found["state"] == "disconnected");
    session(&|found| found["refused_connections"]["disabled"].as_u64() > Some(0));
    let too_long = " ".repeat(5000);
    for (body, wanted) in [
        ("{\"next_target\": 0}", 400),
        ("{\"next_target\": 18446744073709551615}", 400),
        ("{\"next\": 1}", 400),
        ("{}", 400),
        ("[10,20]", 400),
        ("", 400),
        (&too_long, 413),
    ] {
        assert_eq!(ask(&served, token, &numbers, body).0, wanted, "{body}");
    }
    let (status, found) = ask(&served, token, &numbers, "{\"next_target\": 10}");
    assert_eq!((status, &found["next_target"]), (200, &10.into()), "{found}");
    let (status, _) = ask(&served, token, &format!("POST /sessions/{name}/enable"), "");
    assert_eq!(status, 200);
    // The messages that the acceptor requests again arrive after the Logon.
    session(&|found| found["state"] == "logged_on" && found["next_target"].as_u64() > Some(20));

    // A reset while logged on is agreed by Logons with ResetSeqNumFlag.
    let (status, _) = ask(&served, token, &format!("POST /sessions/{name}/reset"), "");
    assert_eq!(status, 200);
    let is_reset = |found: &Value| found["next_sender"] == 2 && found["next_target"] == 2;
    session(&|found| is_reset(found) && found["state"] == "logged_on");
    for (request, wanted) in [
        ("GET /sessions/nobody".to_owned(), 404),
        ("GET /".to_owned(), 404),
        (format!("GET /sessions/{name}/reset"), 405),
    ] {
        let mut stream = TcpStream::connect(&served).expect("served");
        write!(stream, "{request} HTTP/1.0\r\nAuthorization: Bearer {token}\r\n\r\n")
            .expect("asked");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("answered");
        assert!(text.contains(&wanted.to_string()), "{request}: {text}");
    }
    drop((client, server));
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn the_token_of_viewers_does_not_administer() {
    let folder = std::env::temp_dir().join(format!("tickwire-viewers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let [viewing, administering] = ["viewing", "administering"].map(|name| folder.join(name));
    let arguments = |admin: &std::path::Path| {
        let [viewing, admin] = [&viewing, admin].map(|path| path.display().to_string());
        [
            "server",
            "--port",
            "0",
            "--monitor",
            "0",
            "--monitor-token",
            &viewing,
            "--admin-token",
            &admin,
        ]
        .map(str::to_owned)
    };
    let start = |admin| {
        let arguments = arguments(admin);
        Process::start(&arguments.each_ref().map(String::as_str))
    };
    let mut server = start(&administering);
    let address = server.after("monitor at http://");
    let [viewer, administrator] = [&viewing, &administering]
        .map(|path| std::fs::read_to_string(path).expect("made").trim().to_owned());
    assert_ne!(viewer, administrator);
    let status = |token: &str, request: &str| ask(&address, token, request, "").0;
    assert_eq!(status(&viewer, "GET /api/v1/state"), 200);
    assert_eq!(status(&administrator, "GET /api/v1/state"), 401);
    for request in ["GET /sessions", "POST /sessions/X/logout", "POST /sessions/X/reset"] {
        assert_eq!(status(&viewer, request), 401, "{request}");
    }
    assert_eq!(status(&administrator, "GET /sessions"), 200);
    assert_eq!(status(&administrator, "POST /sessions/X/reset"), 404);
    drop(server);
    // One token for both would give viewers the rights of administrators.
    let mut server = start(&viewing);
    server.after("--monitor-token and --admin-token are the same");
    drop(server);
    let mut server = Process::start(&["server", "--port", "0", "--admin-token", "x"]);
    server.after("--admin-token is for --admin or --monitor");
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_session_whose_store_cannot_be_opened_makes_the_server_not_ready() {
    let folder = std::env::temp_dir().join(format!("tickwire-unopened-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let [config, token_file] = ["server.cfg", "token"].map(|name| folder.join(name));
    let settings = format!(
        "[DEFAULT]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\n\
         UseDataDictionary=N\nSocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\n\
         FileStorePath={}\n[SESSION]\nTargetCompID=ONE\n[SESSION]\nTargetCompID=TWO\n",
        folder.display()
    );
    std::fs::write(&config, settings).expect("written");
    std::fs::write(folder.join("FIX.4.4-A-ONE.journal"), "x").expect("written");
    let [config, path] = [&config, &token_file].map(|path| path.display().to_string());
    let mut server =
        Process::start(&["server", "--config", &config, "--monitor", "0", "--admin-token", &path]);
    let monitor = server.after("monitor at http://");
    let token = std::fs::read_to_string(&token_file).expect("made");
    let begun = Instant::now();
    loop {
        let (status, found) = ask(&monitor, token.trim(), "GET /ready", "");
        let reasons = found["reasons"].to_string();
        if status == 503 && reasons.contains("FIX.4.4-A-ONE: not opened: ") {
            assert!(reasons.contains("FIX.4.4-A-ONE.journal"), "{reasons}");
            assert!(reasons.contains("FIX.4.4-A-TWO: not logged on"), "{reasons}");
            break;
        }
        assert!(begun.elapsed() < TIME_MAX, "{status} {found}");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(server);
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn changes_are_events_of_the_session_with_the_client_that_asked() {
    let folder = std::env::temp_dir().join(format!("tickwire-changes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let token_file = folder.join("token");
    let path = token_file.display().to_string();
    let mut server =
        Process::start(&["server", "--port", "0", "--monitor", "0", "--admin-token", &path]);
    let monitor = server.after("monitor at http://");
    let address = server.after("listening on ");
    let token = std::fs::read_to_string(&token_file).expect("made");
    let token = token.trim();
    let client = Process::start(&["client", &address, "--reconnect", "50ms"]);
    let name = "FIX.4.2-TEX_DLD-DLD_TEX";
    let begun = Instant::now();
    let events = || {
        let (_, state) = ask(&monitor, token, "GET /api/v1/state", "");
        let of = |session: &&Value| session["name"] == name;
        let session = state["fix"]["sessions"].as_array().and_then(|all| all.iter().find(of));
        session.and_then(|of| of["events"].as_array()).cloned().unwrap_or_default()
    };
    let wait = |kind: &str, text: &str| loop {
        let events = events();
        let is_wanted = |event: &&Value| {
            event["kind"] == kind && event["text"].as_str().is_some_and(|of| of.starts_with(text))
        };
        if let Some(found) = events.iter().find(is_wanted) {
            return found.clone();
        }
        assert!(begun.elapsed() < TIME_MAX, "no {kind} {text}: {events:?}");
        std::thread::sleep(Duration::from_millis(10));
    };
    wait("logon", "logged on");
    assert_eq!(ask(&monitor, token, &format!("POST /sessions/{name}/disable"), "").0, 200);
    wait("administration", "disabled, by 127.0.0.1:");
    // A monitor of several processes names its own client.
    let forwarded = format!(
        "POST /sessions/{name}/enable HTTP/1.1\r\nX-Forwarded-For: 10.0.0.7:1234\r\nX-Rest:"
    );
    assert_eq!(ask(&monitor, token, &forwarded, "").0, 200);
    let event = wait("administration", "enabled, by 10.0.0.7:1234 through 127.0.0.1:");
    assert!(event["at_ms"].as_u64() > Some(0), "{event}");
    drop((client, server));
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn logs_are_objects_where_that_is_asked_for() {
    let mut server = Process::start(&["server", "--port", "0", "--log-format", "json"]);
    let address = server.after("listening on ");
    let _client = Process::start(&["client", &address, "--orders", "1"]);
    let rest = server.after("{\"timestamp\":");
    assert!(rest.contains("\"level\":\"") && rest.contains("\"message\":\""), "{rest}");
}

//! Several processes on one page.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::api::{check, check_error, document};
use crate::common::{Feed, Served, get, get_with, message, post, send, serve, token, wait};
use axum::Json;
use axum::extract::Request;
use axum::routing::any;
use serde_json::json;
use tickwire_feed::arbiter::Line;
use tickwire_monitor::{FleetProcess, MonitorBuilder, MonitorTarget, Router, fleet_routes};
use tickwire_telemetry::http::{BearerToken, HttpServer};
use tickwire_telemetry::metrics::Metrics;

fn process(name: &str, address: SocketAddr, token: Option<BearerToken>) -> FleetProcess {
    FleetProcess {
        name: name.to_owned(),
        target: MonitorTarget { address, token, tls: None, process: None },
    }
}

/// Serves a page over three processes: one open, one with a token, one that does not run.
fn fleet(own: Option<BearerToken>) -> (HttpServer, [Served; 2]) {
    let guarded = token("guarded");
    let open = serve(MonitorBuilder::new("open", "1"), None);
    let closed = serve(MonitorBuilder::new("closed", "1"), Some(guarded.clone()));
    let gone = serve(MonitorBuilder::new("gone", "1"), None).server.address();
    let processes = vec![
        process("open", open.server.address(), None),
        process("closed", closed.server.address(), Some(guarded)),
        process("gone", gone, None),
    ];
    let metrics = Metrics::new().routes();
    let server =
        HttpServer::serve("0".parse().unwrap(), fleet_routes(processes, own, metrics)).unwrap();
    (server, [open, closed])
}

#[test]
fn each_process_is_shown_and_passed_on() {
    let (server, served) = fleet(None);
    let address = server.address();
    let all = get(address, "/api/v1/processes").json();
    let of = |index: usize, member: &str| all["processes"][index][member].clone();
    assert_eq!((of(0, "command"), of(1, "command")), ("open".into(), "closed".into()));
    assert!(of(2, "error").as_str().unwrap().contains("refused"), "{all:#}");
    let ready = get(address, "/ready");
    assert_eq!(ready.status, 503);
    assert!(ready.body.contains("gone: "), "{}", ready.body);
    assert_eq!(get(address, "/health").status, 200);
    assert_eq!(get(address, "/metrics").status, 200);
    assert_eq!(get(address, "/build").json()["command"], "monitor");
    assert!(get(address, "/api/v1/openapi.json").json()["paths"].is_object());
    // The page adds the token of a process and never reveals it.
    for name in ["open", "closed"] {
        let state = get(address, &format!("/p/{name}/api/v1/state"));
        assert_eq!((state.status, state.json()["process"]["command"].as_str()), (200, Some(name)));
        assert!(!state.head.contains("authorization"), "{}", state.head);
    }
    assert_eq!(get(served[1].server.address(), "/api/v1/state").status, 401);
    assert_eq!(get(address, "/p/gone/api/v1/state").status, 502);
    assert_eq!(get(address, "/p/other/api/v1/state").status, 404);
}

#[test]
fn lines_that_are_silent_or_lose_packets_are_in_the_summary() {
    let mut builder = MonitorBuilder::new("receive", "1");
    let mut feed = Feed::new(&mut builder);
    let served = serve(builder, None);
    let of_feed = served.server.address();
    let gone = serve(MonitorBuilder::new("gone", "1"), None).server.address();
    let processes = vec![process("feed", of_feed, None), process("gone", gone, None)];
    let routes = fleet_routes(processes, None, Metrics::new().routes());
    let server = HttpServer::serve("0".parse().unwrap(), routes).unwrap();
    let summary = || get(server.address(), "/api/v1/processes").json();
    let both = |feed: &mut Feed, number| {
        Line::ALL.into_iter().for_each(|line| feed.receive(line, number, &message(1)));
    };
    // The handler runs before the first packet comes.
    feed.publish();
    both(&mut feed, 1);
    feed.publish();
    // Line B loses two of ten packets, and both lines lose one.
    for number in 2..=12 {
        match number {
            3 | 4 => feed.receive(Line::A, number, &message(1)),
            7 => {}
            number => both(&mut feed, number),
        }
    }
    feed.give_up();
    feed.publish();
    wait(of_feed, |state| state["channels"][0]["next_seq_num"] == "13");
    let found = summary();
    let channel = &found["processes"][0]["channels"][0];
    let lost = |at: usize| channel["lines"][at]["lost_percent"].as_f64().unwrap();
    assert_eq!((lost(0), lost(1)), (9.09, 27.27), "{channel:#}");
    assert_eq!(
        (&channel["recent_gaps"], &channel["lines"][1]["status"]),
        (&json!(1), &json!("alive"))
    );
    assert_eq!(found["processes"][0]["level"], "warning");
    assert_eq!(found["processes"][1]["level"], "no_answer");
    let warnings = json!([
        "futures: line A has lost 9.1 % in the last minute",
        "futures: line B has lost 27.3 % in the last minute",
        "futures: 1 gap in the last minute",
    ]);
    assert_eq!(found["processes"][0]["warnings"], warnings);
    let path = "/paths/~1api~1v1~1processes/get/responses/200/content/application~1json/schema";
    check(&document(), document().pointer(path).unwrap(), &found, "processes");
    // Line B receives nothing any more.
    let mut number = 13;
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        feed.receive(Line::A, number, &message(1));
        feed.publish();
        number += 1;
        let found = summary();
        let of = &found["processes"][0];
        if of["channels"][0]["lines"][1]["status"] == "silent" {
            assert_eq!((&of["level"], &of["not_ready"]), (&json!("warning"), &json!([])));
            let warnings = of["warnings"].as_array().unwrap();
            assert!(warnings.contains(&json!("futures: line B is silent")), "{of:#}");
            break;
        }
        assert!(Instant::now() < end, "{of:#}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn only_the_api_of_a_process_is_passed_on() {
    let (server, _served) = fleet(None);
    let address = server.address();
    for path in [
        "/p/open/",
        "/p/open/assets/page.js",
        "/p/open/api/v1/../../assets/page.js",
        "/p/open/api/v1/%2e%2e/%2e%2e/etc/passwd",
        "/p/open//evil.example/",
        "/p/../open/api/v1/state",
        "/p/open/http://evil.example/api/v1/state",
    ] {
        let answer = get(address, path);
        assert!((400..500).contains(&answer.status), "{path}: {} {}", answer.status, answer.body);
    }
    for headers in ["Origin: http://evil.example\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
        for path in ["/p/open/api/v1/state", "/api/v1/processes"] {
            assert_eq!(get_with(address, path, headers).status, 403, "{path} {headers}");
        }
    }
}

#[test]
fn a_name_that_points_at_the_page_over_all_is_not_answered() {
    let (server, _served) = fleet(None);
    for host in ["evil.example", "127.0.0.1.evil.example"] {
        for path in ["/", "/api/v1/processes", "/p/open/api/v1/state", "/p/open/sessions/S/logout"]
        {
            let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(send(server.address(), request.as_bytes()).status, 403, "{host} {path}");
        }
    }
}

#[test]
fn the_page_over_all_has_a_token_of_its_own() {
    let own = token("own");
    let (server, _served) = fleet(Some(own.clone()));
    let address = server.address();
    let right = format!("Authorization: Bearer {}\r\n", own.expose());
    let wrong = "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n";
    for path in
        ["/api/v1/processes", "/ready", "/p/closed/api/v1/state", "/p/open/metrics", "/metrics"]
    {
        assert_eq!(get(address, path).status, 401, "{path}");
        assert_eq!(get_with(address, path, wrong).status, 401, "{path}");
        assert_ne!(get_with(address, path, &right).status, 401, "{path}");
    }
    // The viewer's token is not the token of the process; the page replaces it.
    assert_eq!(get_with(address, "/p/closed/api/v1/state", &right).status, 200);
    // Routes of administration need only the token of the process, which the process checks.
    let (server, _served) = administered(&token("viewing-2"), Some(own));
    for (path, status) in [("/sessions", 200), ("/sessions/", 404), ("/sessions/S", 200)] {
        let path = format!("/p/orders{path}");
        let answer = get(server.address(), &path);
        assert!(answer.status == 401 && answer.body.contains("administration"), "{path}");
        let answer = get_with(server.address(), &path, wrong);
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert!(status == 404 || wrong.contains(answer.json()["token"].as_str().unwrap()));
    }
    // On all other routes the process does not get the client's token.
    for path in ["/p/orders/sessions-of-today", "/p/orders/api/v1/state"] {
        assert_eq!(get_with(server.address(), path, wrong).status, 401, "{path}");
    }
}

#[test]
fn a_token_file_with_another_token_is_named_and_asks_nobody_for_a_token() {
    let served = serve(MonitorBuilder::new("closed", "1"), Some(token("right")));
    let processes = vec![process("closed", served.server.address(), Some(token("other")))];
    let routes = fleet_routes(processes, None, Metrics::new().routes());
    let server = HttpServer::serve("0".parse().unwrap(), routes).unwrap();
    let answer = get(server.address(), "/p/closed/api/v1/state");
    assert_eq!(answer.status, 502, "{}", answer.body);
    assert_eq!(answer.json()["error"], "closed refuses the token of its token_file");
}

/// Serves a page over a process whose administration answers with the request's path and headers.
fn administered(viewing: &BearerToken, own: Option<BearerToken>) -> (HttpServer, Served) {
    let mut builder = MonitorBuilder::new("orders", "1");
    let told = |request: Request| async move {
        let text = |name: &str| {
            let value = request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            value.unwrap_or_default()
        };
        let (token, client) = (text("authorization"), text("x-forwarded-for"));
        Json(json!({"path": request.uri().path(), "token": token, "client": client}))
    };
    let routes = Router::new().route("/sessions", any(told)).route("/sessions/{*path}", any(told));
    builder.set_administration(routes);
    let served = serve(builder, Some(viewing.clone()));
    let processes = vec![process("orders", served.server.address(), Some(viewing.clone()))];
    let routes = fleet_routes(processes, own, Metrics::new().routes());
    (HttpServer::serve("0".parse().unwrap(), routes).unwrap(), served)
}

#[test]
fn administration_gets_the_token_and_address_of_the_client_and_no_other_token() {
    let (server, _served) = administered(&token("viewing"), None);
    let address = server.address();
    let shown = "Authorization: Bearer 0123456789abcdef\r\n";
    let found = get_with(address, "/p/orders/sessions/A..B/logout", shown);
    assert_eq!(found.status, 200, "{}", found.body);
    let found = found.json();
    assert_eq!(
        (&found["path"], &found["token"]),
        (&json!("/sessions/A..B/logout"), &json!("Bearer 0123456789abcdef"))
    );
    assert!(found["client"].as_str().unwrap().starts_with("127.0.0.1:"), "{found}");
    // `..` in a query is no path segment.
    let found = get(address, "/p/orders/api/v1/history?of=session&session=A..B");
    assert!(found.body.contains("no such session"), "{}", found.body);
    let found = get_with(address, "/p/orders/sessions/../api/v1/state", shown);
    assert_eq!(found.status, 404, "{}", found.body);
}

#[test]
fn nobody_without_a_token_reaches_the_administration_or_learns_where_it_is() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let gone = serve(MonitorBuilder::new("gone", "1"), None).server.address();
    let processes = vec![
        process("orders", listener.local_addr().unwrap(), Some(token("kept"))),
        process("gone", gone, None),
    ];
    let routes = fleet_routes(processes, Some(token("page")), Metrics::new().routes());
    let server = HttpServer::serve("0".parse().unwrap(), routes).unwrap();
    let address = server.address();
    for path in ["/p/orders/sessions/X/logout", "/p/gone/sessions/X/logout"] {
        let answer = post(address, path, "", "");
        assert_eq!(answer.status, 401, "{}", answer.body);
        assert!(!answer.body.contains("127.0.0.1"), "{}", answer.body);
    }
    let is_asked = listener.accept().is_ok();
    assert!(!is_asked, "a request without a token reached the process");
    let answer = post(address, "/p/gone/sessions/X/logout", "Authorization: Bearer x\r\n", "");
    assert_eq!((answer.status, &answer.json()["error"]), (502, &json!("gone does not answer")));
}

#[test]
fn a_process_that_speaks_tls_is_named_as_such() {
    // A TLS server answers plain HTTP with an alert.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let alert = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Read::read(&mut stream, &mut [0; 1024]).unwrap();
        std::io::Write::write_all(&mut stream, &[21, 3, 3, 0, 2, 2, 22]).unwrap();
    });
    let processes = vec![process("guarded", address, None)];
    let routes = fleet_routes(processes, None, Metrics::new().routes());
    let server = HttpServer::serve("0".parse().unwrap(), routes).unwrap();
    let ready = get(server.address(), "/ready");
    assert!(ready.status == 503 && ready.body.contains("seems to serve TLS"), "{}", ready.body);
    alert.join().unwrap();
}

#[test]
fn routes_of_the_page_over_all_are_as_the_document_says() {
    let own = token("documented");
    let (server, _served) = fleet(Some(own.clone()));
    let (address, document) = (server.address(), document());
    let right = format!("Authorization: Bearer {}\r\n", own.expose());
    let foreign = format!("{right}Origin: http://evil.example\r\n");
    for (path, headers, status) in [
        ("/p/open/api/v1/state", "", 401),
        ("/p/open/sessions/S", "", 401),
        ("/p/open/api/v1/state", foreign.as_str(), 403),
        ("/p/nobody/api/v1/state", &right, 404),
        ("/p/open/assets/page.js", &right, 404),
        ("/p/gone/api/v1/state", &right, 502),
    ] {
        let answer = get_with(address, path, headers);
        check_error(&document, "get", "/p/{name}/{path}", &answer, status);
    }
    for path in ["/api/v1/openapi.json", "/api/v1/processes", "/build", "/health"] {
        let answer = get_with(address, path, &right);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        let responses = &document["paths"][path]["get"]["responses"];
        let schema = &responses["200"]["content"]["application/json"]["schema"];
        check(&document, schema, &answer.json(), path);
    }
}

#[test]
fn errors_are_objects() {
    let (server, _served) = fleet(None);
    for path in ["/nowhere", "/p/open/assets/app.js", "/p/open/api/v1/nowhere"] {
        let answer = get(server.address(), path);
        assert!(answer.status == 404 && answer.json()["error"].is_string(), "{path}");
    }
}

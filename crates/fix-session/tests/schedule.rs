//! Sessions with a schedule.

use tickwire_fix_session::{
    BeginString, Config, DisconnectReason, Event, MemoryStore, Now, Schedule, Session,
    SessionEvent, SessionId, SessionRole, Store,
};

const SECOND: u64 = 1_000_000_000;
/// 2024-03-05T00:00:00Z.
const MIDNIGHT_S: u64 = 1_709_596_800;

fn at(hour: u64, minute: u64) -> Now {
    let of_day = (hour * 60 + minute) * 60 * SECOND;
    Now { wall_ns: MIDNIGHT_S * SECOND + of_day, steady_ns: of_day }
}

fn session(store: MemoryStore) -> Session<MemoryStore> {
    limited(store, None)
}

/// Returns a session with a schedule and an optional logon time.
fn limited(store: MemoryStore, logon: Option<(&str, &str)>) -> Session<MemoryStore> {
    let id = SessionId::new(BeginString::Fix44, "I", "A");
    let mut config = Config::new(SessionRole::Initiator, id);
    config.schedule = Some(Schedule::daily("UTC", "08:00:00", "16:00:00").expect("well written"));
    config.logon_schedule =
        logon.map(|(from, to)| Schedule::daily("UTC", from, to).expect("well written"));
    Session::new(config, store)
}

fn disconnects(session: &mut Session<MemoryStore>, now: Now) -> Option<DisconnectReason> {
    let mut found = None;
    while let Some(event) = session.poll_event(now) {
        if let Event::Session(SessionEvent::Disconnect(why)) = event {
            found = Some(why);
        }
    }
    found
}

fn acceptor() -> Session<MemoryStore> {
    let id = SessionId::new(BeginString::Fix44, "A", "I");
    Session::new(Config::new(SessionRole::Acceptor, id), MemoryStore::new())
}

/// Passes the output of one side to the other. Returns the other's disconnection reasons.
fn exchange(
    from: &mut Session<MemoryStore>,
    to: &mut Session<MemoryStore>,
    now: Now,
) -> Option<DisconnectReason> {
    let bytes = from.poll_transmit(now).expect("memory").to_vec();
    from.handle_transmitted(bytes.len());
    to.handle_bytes(&bytes);
    disconnects(to, now)
}

fn log_on(initiator: &mut Session<MemoryStore>, acceptor: &mut Session<MemoryStore>, now: Now) {
    initiator.handle_connected(now);
    acceptor.handle_connected(now);
    exchange(initiator, acceptor, now);
    exchange(acceptor, initiator, now);
    assert!(initiator.is_logged_on() && acceptor.is_logged_on());
}

#[test]
fn outside_of_the_schedule_nobody_logs_on() {
    let mut session = session(MemoryStore::new());
    session.handle_connected(at(7, 59));
    assert!(session.poll_transmit(at(7, 59)).expect("memory").is_empty());
    assert_eq!(disconnects(&mut session, at(7, 59)), Some(DisconnectReason::Schedule));
}

#[test]
fn numbers_begin_at_1_with_each_session() {
    let mut store = MemoryStore::new();
    store.reset(at(0, 0).wall_ns - 10 * 3600 * SECOND).expect("memory");
    store.set_next_sender(77).expect("memory");
    let mut session = session(store);
    session.handle_connected(at(9, 0));
    let logon =
        String::from_utf8_lossy(session.poll_transmit(at(9, 0)).expect("memory")).into_owned();
    assert!(logon.contains("\u{1}34=1\u{1}"), "{logon}");
    session.handle_disconnected(at(9, 30));
    session.handle_connected(at(9, 31));
    let logon =
        String::from_utf8_lossy(session.poll_transmit(at(9, 31)).expect("memory")).into_owned();
    assert!(logon.contains("\u{1}34=2\u{1}"), "{logon}");
}

#[test]
fn the_end_of_the_session_is_a_logout() {
    let (now, end) = (at(15, 59), at(16, 0).plus(SECOND));
    let mut initiator = session(MemoryStore::new());
    let mut acceptor = acceptor();
    log_on(&mut initiator, &mut acceptor, now);
    assert!(initiator.poll_timeout().expect("some") <= end.steady_ns);
    initiator.handle_timeout(end);
    let why = exchange(&mut initiator, &mut acceptor, end);
    assert_eq!(why, Some(DisconnectReason::LoggedOut { text: "end of session".to_owned() }));
    let why = exchange(&mut acceptor, &mut initiator, end);
    assert_eq!(why, Some(DisconnectReason::LoggedOut { text: String::new() }));
}

#[test]
fn the_time_to_be_logged_on_ends_with_a_logout_and_the_numbers_go_on() {
    let mut initiator = limited(MemoryStore::new(), Some(("09:00:00", "15:00:00")));
    // Within the session, but before the logon time.
    initiator.handle_connected(at(8, 30));
    assert_eq!(disconnects(&mut initiator, at(8, 30)), Some(DisconnectReason::Schedule));
    initiator.handle_disconnected(at(8, 30));
    let config = initiator.config();
    assert_eq!(config.logon_from(at(7, 0).wall_ns), Some(at(8, 0).wall_ns));
    assert_eq!(config.logon_from(at(8, 30).wall_ns), Some(at(9, 0).wall_ns));
    assert_eq!(config.logon_from(at(9, 30).wall_ns), Some(at(9, 30).wall_ns));

    let (mut acceptor, end) = (acceptor(), at(15, 0).plus(SECOND));
    log_on(&mut initiator, &mut acceptor, at(14, 59));
    assert!(initiator.poll_timeout().expect("some") <= end.steady_ns);
    initiator.handle_timeout(end);
    let why = exchange(&mut initiator, &mut acceptor, end);
    assert_eq!(why, Some(DisconnectReason::LoggedOut { text: "end of logon time".to_owned() }));
    exchange(&mut acceptor, &mut initiator, end);
    initiator.handle_disconnected(end);
    assert_eq!((initiator.store().next_sender(), initiator.store().next_target()), (3, 3));
    initiator.handle_connected(end);
    assert_eq!(disconnects(&mut initiator, end), Some(DisconnectReason::Schedule));
    // The sequence numbers are still those of the session.
    assert_eq!(initiator.store().next_sender(), 3);
}

#[test]
fn what_is_wrong_with_a_schedule_is_told() {
    let told = |zone: &str, start: &str| {
        Schedule::daily(zone, start, "16:00:00").expect_err("wrong").to_string()
    };
    assert_eq!(told("UTC", "8"), "'8' is not a time; expected HH:MM:SS");
    assert!(told("Mars/Olympus", "08:00:00").starts_with("'Mars/Olympus' is not a time zone"));
    let daily = Schedule::daily("UTC", "08:00:00", "16:00:00").expect("well written");
    let error = daily.weekly("Someday", "mon").expect_err("wrong").to_string();
    assert!(error.starts_with("'Someday' is not a day of the week"), "{error}");
}

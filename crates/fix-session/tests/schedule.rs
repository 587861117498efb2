//! Sessions that keep to a schedule.

use tickwire_fix_session::{
    BeginString, Config, Event, MemoryStore, Notice, Now, Role, Schedule, Session, SessionId,
    Store, Why,
};

const SECOND: u64 = 1_000_000_000;
/// 2024-03-05T00:00:00Z.
const MIDNIGHT_S: u64 = 1_709_596_800;

fn at(hour: u64, minute: u64) -> Now {
    let of_day = (hour * 60 + minute) * 60 * SECOND;
    Now { wall_ns: MIDNIGHT_S * SECOND + of_day, steady_ns: of_day }
}

fn session(store: MemoryStore) -> Session<MemoryStore> {
    let id = SessionId::new(BeginString::Fix44, "I", "A");
    let mut config = Config::new(Role::Initiator, id);
    config.schedule = Some(Schedule::daily("UTC", "08:00:00", "16:00:00").expect("well written"));
    Session::new(config, store)
}

fn disconnects(session: &mut Session<MemoryStore>, now: Now) -> Option<Why> {
    let mut found = None;
    while let Some(event) = session.poll_event(now) {
        if let Event::Notice(Notice::Disconnect(why)) = event {
            found = Some(why);
        }
    }
    found
}

#[test]
fn outside_of_the_schedule_nobody_logs_on() {
    let mut session = session(MemoryStore::new());
    session.handle_connected(at(7, 59));
    assert!(session.poll_transmit(at(7, 59)).expect("memory").is_empty());
    assert_eq!(disconnects(&mut session, at(7, 59)), Some(Why::Schedule));
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
    let id = SessionId::new(BeginString::Fix44, "A", "I");
    let mut acceptor = Session::new(Config::new(Role::Acceptor, id), MemoryStore::new());
    initiator.handle_connected(now);
    acceptor.handle_connected(now);
    let exchange = |from: &mut Session<MemoryStore>, to: &mut Session<MemoryStore>, now| {
        let bytes = from.poll_transmit(now).expect("memory").to_vec();
        from.handle_transmitted(bytes.len());
        to.handle_bytes(&bytes);
        disconnects(to, now)
    };
    exchange(&mut initiator, &mut acceptor, now);
    exchange(&mut acceptor, &mut initiator, now);
    assert!(initiator.is_logged_on() && acceptor.is_logged_on());
    assert!(initiator.poll_timeout().expect("some") <= end.steady_ns);
    initiator.handle_timeout(end);
    let why = exchange(&mut initiator, &mut acceptor, end);
    assert_eq!(why, Some(Why::LoggedOut { text: "end of session".to_owned() }));
    let why = exchange(&mut acceptor, &mut initiator, end);
    assert_eq!(why, Some(Why::LoggedOut { text: String::new() }));
}

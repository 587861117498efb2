//! A resend of very many messages reads them from the disk as fast as the connection accepts them.

use tickwire_fix::{FixFramer, FramerStep, Reader, Tag};
use tickwire_fix_session::{
    BeginString, Config, FileStore, FileStoreOptions, Fsync, Now, OutgoingHeader, Session,
    SessionId, SessionRole, Store,
};

/// Fewer without optimization, where a million takes ten seconds.
const MESSAGES: u64 = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
/// Most bytes of memory that the resend may use. The messages themselves have 8 MB, or 80 MB for a
/// million.
const GROWTH_MAX: u64 = 4 << 20;
/// Most bytes ready at a time: one chunk and one message.
const READY_MAX: usize = 80 << 10;

/// Returns the resident memory of this process in bytes; 0 if the operating system does not report
/// it.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

fn logon_and_request() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (msg_type, seq_num, body) in [("A", 1, "98=0|108=30|"), ("2", 2, "7=1|16=0|")] {
        let body = format!("35={msg_type}|34={seq_num}|49=THEM|52=20231114-22:13:20|56=US|{body}")
            .replace('|', "\u{1}");
        let mut message = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len()).into_bytes();
        let sum = message.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
        message.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
        bytes.append(&mut message);
    }
    bytes
}

#[test]
fn memory_does_not_grow_with_the_number_of_messages() {
    let folder = std::env::temp_dir().join(format!("tickwire-resend-{}", std::process::id()));
    let id = SessionId::new(BeginString::Fix44, "US", "THEM");
    let options = FileStoreOptions {
        folder: folder.clone(),
        name: id.file_name(),
        fsync: Fsync::None,
        archives_max: 0,
    };
    let store = FileStore::open(options, 0).expect("opens");
    let mut session = Session::new(Config::new(SessionRole::Acceptor, id), store);
    let now = Now { wall_ns: 1_700_000_000_000_000_000, steady_ns: 1 };
    for number in 1..=MESSAGES {
        let sent =
            session.send(now, &OutgoingHeader::new("B"), |writer| writer.uint(Tag(148), number));
        assert_eq!(sent.expect("accepted"), number);
        if number % 1000 == 0 {
            assert!(session.poll_transmit(now).expect("commits").is_empty());
        }
    }
    let before = resident();
    session.handle_connected(now);
    session.handle_bytes(&logon_and_request());
    while session.poll_event(now).is_some() {}
    let (mut framer, mut reader) = (FixFramer::default(), Reader::new());
    let (mut expected, mut logons) = (1, 0);
    loop {
        let bytes = session.poll_transmit(now).expect("reads");
        assert!(bytes.len() <= READY_MAX, "{} bytes at a time", bytes.len());
        if bytes.is_empty() {
            break;
        }
        let mut at = 0;
        while let FramerStep::Message(found) = framer.step(&bytes[at..]) {
            let message = reader.decode(found).expect("whole");
            let number = |tag| message.field(Tag(tag)).map(|f| f.uint().expect("a number"));
            if message.msg_type() == b"B" {
                assert_eq!((number(34), number(148)), (Some(expected), Some(expected)));
                expected += 1;
            } else {
                logons += u64::from(message.msg_type() == b"A");
            }
            at += found.len();
        }
        let len = at.max(1);
        session.handle_transmitted(len);
    }
    let growth = resident().saturating_sub(before);
    assert!(growth < GROWTH_MAX, "memory grew by {growth} bytes");
    assert_eq!((expected, logons), (MESSAGES + 1, 1));
    assert_eq!(session.counters().resent, MESSAGES);
    assert_eq!(session.store().next_sender(), MESSAGES + 2);
    let _ = std::fs::remove_dir_all(folder);
}

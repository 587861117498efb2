//! Sessions as tokio tasks.
#![cfg(feature = "tokio")]

#[path = "../examples/fix_tokio.rs"]
#[allow(dead_code)]
mod fix_tokio;
mod peers;
#[path = "../../fix-session/tests/watched/mod.rs"]
mod watched;

use peers::{acceptor_config, initiator_config};
use std::io::{ErrorKind, Result};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::time::Duration;
use tickwire_fix::Tag;
use tickwire_fix_engine::{
    HandleError, SessionTask, SessionTaskHandle, SessionTaskOptions, TaskEnd,
};
use tickwire_fix_session::{
    DisconnectReason, Event, MemoryStore, MessageDelivery, SendError, Session, SessionEvent,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, BufStream, DuplexStream, ReadBuf, duplex};
use watched::{Act, Before, Watched, full};

/// A store with a simulated full disk.
type Filling = Watched<MemoryStore, Before<MemoryStore>>;

fn filling(is_full: Arc<AtomicBool>) -> Filling {
    let before = move |act, _: &mut MemoryStore| match act {
        Act::Commit { .. } if is_full.load(Ordering::SeqCst) => Err(full("commit")),
        _ => Ok(()),
    };
    Watched::new(MemoryStore::new(), Box::new(before))
}

/// Returns an acceptor and an initiator, and the flag that fills the initiator's disk.
fn pair(options: SessionTaskOptions) -> ([SessionTask<Filling>; 2], Arc<AtomicBool>) {
    let is_full = Arc::new(AtomicBool::new(false));
    let accepting = Session::new(acceptor_config("I"), filling(Arc::default()));
    let mut config = initiator_config("I");
    config.log_messages = true;
    let calling = Session::new(config, filling(is_full.clone()));
    ([accepting, calling].map(|session| SessionTask::new(session, options)), is_full)
}

fn number(delivery: &MessageDelivery<'_, Filling>) -> u64 {
    delivery.message.field(Tag(148)).expect("there").uint().expect("a number")
}

async fn send(
    handle: &SessionTaskHandle<Filling>,
    number: u64,
) -> std::result::Result<u64, SendError> {
    let sent = handle.send("B", move |mut writer| {
        writer.uint(Tag(148), number);
        writer
    });
    sent.await.expect("the task runs")
}

/// Runs a task over a connection. Returns how it ended and the numbers of received messages.
async fn run(task: &mut SessionTask<Filling>, connection: DuplexStream) -> (TaskEnd, Vec<u64>) {
    let mut numbers = Vec::new();
    let end = task
        .run(connection, |event| {
            if let Event::Application(delivery) = event {
                numbers.push(number(&delivery));
            }
        })
        .await;
    (end, numbers)
}

#[tokio::test]
async fn the_example_trades_and_logs_out() {
    let (accepted, ends) = fix_tokio::trade(20).await.expect("trades");
    assert_eq!(accepted, (0..20).map(|number| format!("order-{number}")).collect::<Vec<_>>());
    for end in ends {
        assert!(matches!(end, TaskEnd::Session(DisconnectReason::LoggedOut { .. })), "{end:?}");
    }
    assert!(include_str!("../examples/fix_tokio.rs").lines().count() < 100);
}

#[tokio::test]
async fn a_connection_that_is_lost_loses_nothing() {
    let ([mut acceptor, initiator], _) = pair(SessionTaskOptions::default());
    let (log, lines) = mpsc::channel();
    let mut initiator = initiator.log(move |lines| log.send(lines.to_vec()).expect("kept"));
    let handle = initiator.handle();
    let mut received = Vec::new();
    for round in 0..5_u64 {
        let (near, far) = duplex(1 << 10);
        let sending = async {
            for number in 1..=50 {
                send(&handle, 50 * round + number).await.expect("stored");
            }
        };
        // The initiator's future is dropped while it sends, which closes its connection.
        let calling = async {
            tokio::select! {
                end = run(&mut initiator, near) => panic!("{:?}", end.0),
                () = sending => {}
            }
        };
        let ((), (end, numbers)) = tokio::join!(calling, run(&mut acceptor, far));
        assert!(matches!(end, TaskEnd::Closed | TaskEnd::Connection(_)), "{end:?}");
        received.extend(numbers);
    }
    let (near, far) = duplex(1 << 10);
    let ending = async {
        while handle.call(|session, _| !session.is_logged_on()).await.expect("runs") {}
        // Missing messages are requested before the Logout is answered.
        tokio::time::sleep(Duration::from_millis(50)).await;
        handle.call(|session, now| session.logout(now, "")).await.expect("runs");
    };
    let ((), (first, _), (second, numbers)) =
        tokio::join!(ending, run(&mut initiator, near), run(&mut acceptor, far));
    received.extend(numbers);
    for end in [first, second] {
        assert!(matches!(end, TaskEnd::Session(DisconnectReason::LoggedOut { .. })), "{end:?}");
    }
    received.dedup();
    assert_eq!(received, (1..=250).collect::<Vec<_>>());
    let log = String::from_utf8(lines.try_iter().flatten().collect()).expect("text");
    for number in 1..=250 {
        assert!(log.contains(&format!("\u{1}148={number}\u{1}")), "{number} is logged");
    }
}

#[tokio::test]
async fn a_connection_that_keeps_bytes_back_is_flushed() {
    let ([mut acceptor, mut initiator], _) = pair(SessionTaskOptions::default());
    let handle = initiator.handle();
    let (near, far) = duplex(1 << 10);
    let ending = async {
        while handle.call(|session, _| !session.is_logged_on()).await.expect("runs") {}
        send(&handle, 1).await.expect("stored");
        handle.call(|session, now| session.logout(now, "")).await.expect("runs");
    };
    let mut delivered = 0;
    let near = initiator.run(BufStream::new(near), |_| {});
    let far = acceptor.run(BufStream::new(far), |event| {
        delivered += usize::from(matches!(event, Event::Application(_)));
    });
    let all = async { tokio::join!(ending, near, far) };
    let ((), near, far) = tokio::time::timeout(Duration::from_secs(5), all).await.expect("in time");
    for end in [near, far] {
        assert!(matches!(end, TaskEnd::Session(DisconnectReason::LoggedOut { .. })), "{end:?}");
    }
    assert_eq!(delivered, 1);
}

/// A connection that accepts no bytes and returns none.
struct Shut;

impl AsyncRead for Shut {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for Shut {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<Result<usize>> {
        Poll::Ready(Ok(0))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_connection_that_takes_no_more_ends() {
    let ([_, mut initiator], _) = pair(SessionTaskOptions::default());
    let end = tokio::time::timeout(Duration::from_secs(5), initiator.run(Shut, |_| {})).await;
    let end = end.expect("in time");
    assert!(
        matches!(&end, TaskEnd::Connection(error) if error.kind() == ErrorKind::WriteZero),
        "{end:?}"
    );
}

#[tokio::test]
async fn what_the_store_does_not_take_is_not_acknowledged() {
    let ([mut acceptor, mut initiator], is_full) = pair(SessionTaskOptions::default());
    let handle = initiator.handle();
    let (near, far) = duplex(1 << 16);
    let sending = async {
        assert_eq!(send(&handle, 1).await.expect("stored"), 2);
        is_full.store(true, Ordering::SeqCst);
        send(&handle, 2).await
    };
    let mut told = Vec::new();
    let running = initiator.run(near, |event| {
        if let Event::Session(notice) = event {
            told.push(notice);
        }
    });
    let (sent, end, _) = tokio::join!(sending, running, run(&mut acceptor, far));
    assert!(matches!(sent, Err(SendError::Store(_))), "{sent:?}");
    let TaskEnd::Session(why @ DisconnectReason::Store(_)) = end else { panic!("{end:?}") };
    // The last commit of the task also fails.
    let text = full("commit").to_string();
    let expected =
        [SessionEvent::LoggedOn, SessionEvent::Disconnect(why), SessionEvent::StoreFailed { text }];
    assert_eq!(told, expected);
    // A request waits while the task does not run; once the task is dropped, it fails.
    drop(initiator);
    let asked = handle.call(|_, _| ()).await;
    assert_eq!(asked, Err(HandleError::Ended));
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_disconnected() {
    let options = SessionTaskOptions { slow_reader_s: 1, ..SessionTaskOptions::default() };
    let ([_, mut initiator], _) = pair(options);
    // The Logon is longer than the buffer of the stream.
    let (near, mut far) = duplex(16);
    let (end, _) = run(&mut initiator, near).await;
    assert!(matches!(end, TaskEnd::Session(DisconnectReason::SlowReader)), "{end:?}");
    let mut text = String::new();
    far.read_to_string(&mut text).await.expect("text");
    assert!(text.starts_with("8=FIX.4.4"), "{text}");
}

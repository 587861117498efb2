//! A correct peer that logs on after an incorrect one.

use super::super::MS;
use super::Victim;
use super::script::{Script, application, message};
use std::collections::BTreeMap;
use tickwire_fix::{FixFramer, FramerStep, Tag};
use tickwire_fix_session::{SessionRole, Store};

/// The messages that the correct peer has received.
#[derive(Default)]
struct Got {
    /// Application messages by MsgSeqNum.
    messages: BTreeMap<u64, u64>,
    logouts: usize,
    /// NewSeqNo of the last gap fill, or the last number.
    next: u64,
}

fn hear(victim: &mut Victim, got: &mut Got) {
    loop {
        let bytes = victim.transmit(usize::MAX);
        if bytes.is_empty() {
            return;
        }
        let (mut framer, mut reader, mut at) = (FixFramer::default(), super::reader(), 0);
        while let FramerStep::Message(found) = framer.step(&bytes[at..]) {
            at += found.len();
            let message = reader.decode(found).expect("ours are right");
            let number = |tag| message.field(Tag(tag)).and_then(|field| field.uint().ok());
            got.next = number(36).unwrap_or(number(34).expect("there") + 1);
            match message.msg_type() {
                b"U1" => drop(
                    got.messages.insert(number(34).expect("there"), number(148).expect("there")),
                ),
                b"5" => got.logouts += 1,
                b"3" | b"j" => panic!("rejected: {}", String::from_utf8_lossy(found)),
                _ => {}
            }
        }
        assert_eq!(at, bytes.len(), "whole messages");
    }
}

/// Logs on with the session's current numbers, requests all messages, exchanges messages and logs
/// out.
pub fn recover(victim: &mut Victim, script: &mut Script) {
    victim.wait(10_000 * MS);
    victim.connect();
    let mut got = Got::default();
    let mut next = victim.session.store().next_target();
    // If a bad peer has driven the numbers close to the maximum, they are reset.
    let resets = next > u64::MAX / 2;
    if resets {
        next = 1;
    }
    if victim.session.config().role == SessionRole::Initiator {
        hear(victim, &mut got);
    }
    let said_reset = victim.watch.awaits_reset;
    if said_reset {
        next = 1;
    }
    let resets = resets || said_reset;
    let body = if resets { &b"98=0\x01108=30\x01141=Y\x01"[..] } else { b"98=0\x01108=30\x01" };
    let logon = message(victim, "A", &next.to_string(), "", body);
    victim.handle(&logon);
    hear(victim, &mut got);
    next += 1;
    if victim.watch.awaits_reset && !resets {
        // An acceptor with an unconfirmed reset answers with it.
        let answer = message(victim, "A", "1", "", b"98=0\x01108=30\x01141=Y\x01");
        victim.handle(&answer);
        hear(victim, &mut got);
        next = 2;
    }
    assert!(victim.session.is_logged_on() && !victim.closes, "a good peer is let in");
    let ask = message(victim, "2", &next.to_string(), "", b"7=1\x0116=0\x01");
    victim.handle(&ask);
    next += 1;
    hear(victim, &mut got);
    assert_eq!(got.messages, victim.watch.sent, "all that was accepted");
    let delivered = victim.session.counters().delivered;
    for _ in 0..5 {
        script.said += 1;
        let one = message(victim, "U1", &next.to_string(), "", &application(script.said));
        victim.handle(&one);
        next += 1;
        victim.send();
        hear(victim, &mut got);
    }
    assert_eq!(victim.session.counters().delivered, delivered + 5);
    assert_eq!(got.messages, victim.watch.sent);
    let logout = message(victim, "5", &next.to_string(), "", b"");
    victim.handle(&logout);
    hear(victim, &mut got);
    assert_eq!((got.logouts, got.next), (1, victim.session.store().next_sender()));
    victim.disconnect();
}

//! Peers that violate every rule: garbage, wrong lengths and sums, sequence numbers that are
//! absent, negative, huge or too low, floods of Resend Requests, repeated Logons, messages before
//! Logon and after Logout, other CompIDs, false duplicates, wrong times, incomplete messages,
//! connections cut at any byte, peers that do not read.
//!
//! Whatever they send: nothing panics, each of their messages causes a bounded number of new ones,
//! the output that waits for them is bounded, the application gets each of their messages once and
//! in order, no sequence number of ours is used twice, and no application message of ours is
//! gap-filled. Then a correct peer logs on, receives all messages, and its own are delivered.

mod good_peer;
mod script;
mod watch;

use super::MS;
use super::content::{dictionaries, write_body};
use super::kept::{BoxStore, Kept};
use fastrand::Rng;
use script::Script;
use tickwire_fix::{Reader, Tag};
use tickwire_fix_session::{
    BeginString, Config, Event, Now, OutgoingHeader, SendError, Session, SessionEvent, SessionId,
    SessionRole, Store,
};
use watch::Watch;

/// Most new messages that one message of the peer, or one run of the timers, may cause.
const ANSWERS_MAX: usize = 4;

/// The attacked side, and the observations of it.
pub struct Victim {
    pub session: Session<BoxStore>,
    pub now: Now,
    pub watch: Watch,
    /// Number of the last message that the application sent.
    pub sent: u64,
    pub closes: bool,
}

impl Victim {
    fn new(random: &mut Rng) -> Self {
        let role =
            if random.u64(..3) == 0 { SessionRole::Initiator } else { SessionRole::Acceptor };
        let mut config = Config::new(role, SessionId::new(BeginString::Fix44, "V", "P"));
        config.dictionaries = Some(dictionaries());
        config.next_expected_seq_num = random.u64(..3) == 0;
        config.redundant_resend_requests = random.u64(..3) == 0;
        config.requires_orig_sending_time = random.u64(..3) > 0;
        config.reject_invalid = random.u64(..4) > 0;
        config.last_seq_num_processed = random.u64(..4) == 0;
        config.authenticate = random.u64(..3) == 0;
        config.latency_max_s = (random.u64(..2) == 0).then_some(120);
        config.resend_request_max = random.u64(..2) * random.u64(..5);
        config.limits.held_max = 5;
        config.limits.held_bytes_max = 2000;
        config.limits.message_len_max = 4000;
        config.limits.transmit_len_max = 1000;
        let session = Session::new(config, Kept::Memory.open(""));
        let now = Now { wall_ns: 1_700_000_000_000 * MS, steady_ns: 5 };
        Self { session, now, watch: Watch::default(), sent: 0, closes: false }
    }

    pub fn connect(&mut self) {
        self.watch.connected();
        self.session.handle_connected(self.now);
        self.closes = false;
    }

    pub fn disconnect(&mut self) {
        self.session.handle_disconnected(self.now);
        self.closes = true;
    }

    /// Sends an application message.
    pub fn send(&mut self) {
        let number = self.sent + 1;
        let seq_num = self.session.store().next_sender();
        let sent = self
            .session
            .send(self.now, &OutgoingHeader::new("U1"), |writer| write_body(writer, number));
        match sent {
            Ok(given) => {
                assert!(given == seq_num || given == 2, "{given} {seq_num}");
                self.watch.note_sent(given, number);
                self.sent = number;
            }
            Err(SendError::NotLoggedOn | SendError::QueueFull) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Lets time pass.
    pub fn wait(&mut self, ns: u64) {
        self.now = self.now.plus(ns);
        self.session.handle_timeout(self.now);
        self.handle(b"");
    }

    /// Handles received bytes.
    pub fn handle(&mut self, bytes: &[u8]) {
        let mut handled = 0;
        self.session.handle_bytes(bytes);
        let Self { session, watch, closes, now, .. } = self;
        let before = session.store().next_sender();
        let mut resets = 0;
        while let Some(event) = session.poll_event(*now) {
            handled += 1;
            assert!(handled < 10_000, "events without end");
            match event {
                Event::Application(delivery) => {
                    let number =
                        delivery.message.field(Tag(148)).and_then(|field| field.uint().ok());
                    watch.note_delivered(delivery.seq_num, number);
                }
                Event::Logon(request) => request.accept(),
                Event::Session(SessionEvent::Reset { .. }) => {
                    resets += 1;
                    watch.note_reset();
                }
                Event::Session(SessionEvent::Disconnect(_)) => *closes = true,
                Event::Session(_) => {}
            }
        }
        let caused = session.store().next_sender().saturating_sub(before) as usize;
        let heard = bytes.windows(6).filter(|window| window.starts_with(b"8=FIX.")).count();
        assert!(resets > 0 || caused <= ANSWERS_MAX * (heard + 2), "{caused} answers to {heard}");
        watch.note_expected(session.store().next_target());
    }

    /// Returns bytes for the peer.
    pub fn transmit(&mut self, len_max: usize) -> Vec<u8> {
        let bytes = self.session.poll_transmit(self.now).expect("memory");
        // The ready bytes are bounded, however little the peer reads.
        assert!(bytes.len() < 150_000, "{} bytes wait", bytes.len());
        let bytes = bytes[..bytes.len().min(len_max)].to_vec();
        self.session.handle_transmitted(bytes.len());
        self.watch.note_bytes(&bytes);
        bytes
    }
}

/// Returns a reader that knows the data field of this side's messages.
fn reader() -> Reader {
    Reader::new().data_fields(dictionaries().session.data_fields())
}

fn simulate(seed: u64) {
    let mut random = Rng::with_seed(seed);
    let mut victim = Victim::new(&mut random);
    let mut script = Script::default();
    for _ in 0..3 + random.u64(..5) {
        victim.connect();
        script.begin(&mut random, &victim);
        for _ in 0..random.u64(..80) {
            let bytes = script.next(&mut random, &victim);
            // Pieces cut at arbitrary bytes.
            for piece in bytes.chunks(1 + random.u64(..200) as usize) {
                victim.handle(piece);
                if random.u64(..4) == 0 {
                    victim.transmit(random.u64(..3000) as usize);
                }
            }
            if random.u64(..3) == 0 {
                victim.send();
            }
            if random.u64(..8) == 0 {
                victim.wait(random.u64(..20_000) * MS);
            }
            match random.u64(..300) {
                0 => {
                    victim.session.reset(victim.now);
                    victim.handle(b"");
                }
                1 => victim.session.logout(victim.now, "enough"),
                _ => {}
            }
            if victim.closes || random.u64(..100) == 0 {
                break;
            }
        }
        victim.transmit(random.u64(..100_000) as usize);
        victim.disconnect();
        victim.wait(random.u64(..5000) * MS);
    }
    good_peer::recover(&mut victim, &mut script);
}

#[test]
fn peers_that_keep_no_rule_do_no_harm() {
    let seeds = super::resets::seeds();
    let first =
        std::env::var("SIMULATION_FIRST").map_or(0, |first| first.parse().expect("a number"));
    for seed in first..first + seeds {
        let found = std::panic::catch_unwind(|| simulate(seed));
        assert!(found.is_ok(), "seed {seed}");
    }
}

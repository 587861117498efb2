//! One side of a simulated session.

use super::content::{self, check_body, dictionaries, write_body};
use super::kept::{BoxStore, Kept};
use tickwire_fix::Tag;
use tickwire_fix_session::{
    BeginString, Config, DisconnectReason, Event, Now, OutgoingHeader, ResetOrigin, Session,
    SessionEvent, SessionId, SessionRole, Store,
};

/// One side: its session, and the messages that its application sent and received.
pub struct Side {
    pub config: Config,
    pub session: Option<Session<BoxStore>>,
    /// Number of the last message that the application sent.
    pub sent: u64,
    /// Last message that a reset may have discarded.
    pub lost_max: u64,
    /// Numbers of the received messages.
    pub got: Vec<u64>,
    /// Bytes on their way to the other side.
    pub wire: Vec<u8>,
    /// MsgSeqNum of the last message that the application sent since the last reset.
    last_seq_num: u64,
    /// Resets by the logged-on peer while messages of this side could be in flight.
    pub resets_in_flight: u64,
}

impl Side {
    pub fn new(role: SessionRole, tweak: fn(&mut Config)) -> Self {
        let (sender, target) = match role {
            SessionRole::Acceptor => ("A", "I"),
            SessionRole::Initiator => ("I", "A"),
        };
        let mut config = Config::new(role, SessionId::new(BeginString::Fix44, sender, target));
        config.dictionaries = Some(dictionaries());
        tweak(&mut config);
        Self {
            config,
            session: None,
            sent: 0,
            lost_max: 0,
            got: Vec::new(),
            wire: Vec::new(),
            last_seq_num: 0,
            resets_in_flight: 0,
        }
    }

    pub fn session(&mut self) -> &mut Session<BoxStore> {
        self.session.as_mut().expect("started")
    }

    pub fn send(&mut self, now: Now) {
        let number = self.sent + 1;
        let sent = self
            .session()
            .send(now, &OutgoingHeader::new("U1"), |writer| write_body(writer, number));
        self.last_seq_num = sent.expect("accepted");
        self.sent = number;
    }

    /// Resets the sequence numbers; messages sent before may be lost.
    pub fn reset(&mut self, now: Now) {
        self.session().reset(now);
        self.lost_max = self.sent;
        self.last_seq_num = 0;
    }

    /// Restarts with the content of the store; the application repeats the messages that are not in
    /// it.
    pub fn restart(&mut self, kept: &Kept, name: &str) {
        self.session = None;
        kept.damage(name);
        let mut session = Session::new(self.config.clone(), kept.open(name));
        let newest = session.store().next_sender();
        let mut last = Vec::new();
        let found = (1..newest).rev().find(|seq_num| {
            last.clear();
            session.store_mut().read_next(*seq_num, &mut last).expect("reads") == Some(*seq_num)
        });
        self.sent = found.map_or(0, |_| content::number_of(&last));
        self.session = Some(session);
    }

    /// Handles received bytes. Returns true if the connection should be closed.
    pub fn handle(&mut self, now: Now, bytes: &[u8]) -> bool {
        let Self { session, got, sent, lost_max, last_seq_num, resets_in_flight, .. } = self;
        let session = session.as_mut().expect("started");
        session.handle_bytes(bytes);
        let mut closes = false;
        while let Some(event) = session.poll_event(now) {
            match event {
                Event::Application(delivery) => {
                    let number = delivery.message.field(Tag(148)).expect("there").uint();
                    let number = number.expect("a number");
                    check_body(&delivery.message, number);
                    // The application recognizes handled messages by their number.
                    if got.last().is_some_and(|last| number <= *last) {
                        assert!(delivery.poss_dup, "{number} came twice without PossDupFlag");
                    } else {
                        got.push(number);
                    }
                }
                Event::Logon(request) => request.accept(),
                Event::Session(SessionEvent::Disconnect(why)) => {
                    assert!(
                        matches!(
                            why,
                            DisconnectReason::Silence
                                | DisconnectReason::LogonTimeout
                                | DisconnectReason::Reset
                                | DisconnectReason::LoggedOut { .. }
                                | DisconnectReason::LogoutTimeout
                        ),
                        "the protocol itself failed: {why:?}"
                    );
                    closes = true;
                }
                Event::Session(SessionEvent::Reset { origin, last_sent, .. }) => {
                    if origin == ResetOrigin::PeerWhileLoggedOn {
                        assert!(last_sent >= *last_seq_num, "{last_seq_num} was sent too");
                        *resets_in_flight += u64::from(*sent > *lost_max);
                    }
                    *lost_max = *sent;
                    *last_seq_num = 0;
                }
                Event::Session(notice) => assert!(
                    !matches!(
                        notice,
                        SessionEvent::Garbled
                            | SessionEvent::Garbage { .. }
                            | SessionEvent::Rejected { .. }
                    ),
                    "{notice:?}"
                ),
            }
        }
        closes
    }

    /// Commits, and puts at most `len_max` bytes on the wire. Returns false if the store failed.
    pub fn transmit(&mut self, now: Now, len_max: usize) -> bool {
        let Self { session, wire, .. } = self;
        let session = session.as_mut().expect("started");
        let Ok(bytes) = session.poll_transmit(now) else { return false };
        let len = bytes.len().min(len_max);
        wire.extend_from_slice(&bytes[..len]);
        session.handle_transmitted(len);
        true
    }
}

//! The state of a session except its received bytes.

use std::collections::{BTreeMap, VecDeque};

use tickwire_fix::{Reader, Validator};

use super::event::{DisconnectReason, ResetOrigin, SessionCounters, SessionEvent};
use super::transmit::Transmit;
use crate::config::{Config, SessionRole};
use crate::error::StoreError;
use crate::id::{ApplVersion, BeginString};
use crate::now::{Now, SECOND_NS};
use crate::store::Store;

/// Messages that arrived early and wait for the missing ones before them.
#[derive(Debug, Default)]
pub(super) struct EarlyMessages {
    /// By MsgSeqNum. `None` for a message that was handled on arrival but is not counted as
    /// received yet.
    pub messages: BTreeMap<u64, Option<Box<[u8]>>>,
    pub bytes: usize,
}

/// Range of a resend request: first and last number, and the last missing number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResendRange {
    pub begin: u64,
    pub end: u64,
    pub missing_end: u64,
    /// Expected number at the last check, and the steady-clock time since which nothing requested
    /// has arrived.
    pub expected: u64,
    pub since_ns: u64,
    /// Number of requests since then.
    pub times: u32,
}

/// A Logout of the peer that is not answered at once, because messages are missing or still to be
/// resent.
#[derive(Clone, Debug)]
pub(super) struct PeerLogout {
    pub text: String,
    /// Deadline of the wait, on the steady clock.
    pub until_ns: u64,
    /// The last number before the Logout, if messages are missing.
    pub missing_end: Option<u64>,
}

/// A Logon that waits for the application's decision.
#[derive(Clone, Debug)]
pub(super) struct PendingLogon {
    pub seq_num: u64,
    pub poss_dup: bool,
    pub reset: bool,
    pub heartbeat_s: Option<u32>,
    pub next_expected: Option<u64>,
    pub appl_ver_id: Option<Vec<u8>>,
}

/// The state of a session except its received bytes.
#[derive(Debug)]
pub(crate) struct Core<S> {
    pub(super) config: Config,
    pub(super) store: S,
    pub(super) validator: Validator,
    pub(super) notices: VecDeque<SessionEvent>,
    pub(super) counters: SessionCounters,
    pub(super) transmit: Transmit,
    /// Parses this side's own messages: stored ones for resends, new ones for hooks.
    pub(super) replay_reader: Reader,
    pub(super) held: EarlyMessages,
    pub(super) asked: Option<ResendRange>,
    /// True if a message longer than the limit has arrived since the last time that no message was
    /// missing.
    pub(super) was_too_long: bool,
    /// True if the current message was held: it was logged, counted and its SendingTime was checked
    /// on arrival.
    pub(super) is_held: bool,
    pub(super) pending_logon: Option<PendingLogon>,
    /// True if the application accepted the Logon before the session received it.
    pub(super) authenticated: bool,
    /// The version of application messages that have no ApplVerID.
    pub(super) appl_version: Option<ApplVersion>,
    /// DefaultApplVerID as in the peer's Logon.
    pub(super) appl_ver_id: Option<Vec<u8>>,
    /// Start of the decoding of the current message, on the codec clock.
    pub(super) decoding_from: Option<u64>,
    pub(super) connected_ns: Option<u64>,
    /// End of the scheduled session or of the logon time, on the steady clock.
    pub(super) session_end_ns: Option<u64>,
    pub(super) closing: bool,
    pub(super) sent_logon: bool,
    pub(super) received_logon: bool,
    /// When our Logon with ResetSeqNumFlag was sent on this connection, while it awaits the answer;
    /// steady clock.
    pub(super) sent_reset_ns: Option<u64>,
    /// True if our numbers were reset and the peer has not confirmed it, on this connection or an
    /// earlier one.
    pub(super) is_reset_open: bool,
    pub(super) sent_logout_ns: Option<u64>,
    /// Time of the last resend after our Logout.
    pub(super) resent_ns: Option<u64>,
    /// The peer's Logout, while a resend to the peer is incomplete or messages of the peer are
    /// missing.
    pub(super) peer_logout: Option<PeerLogout>,
    pub(super) last_sent_ns: u64,
    pub(super) last_received_ns: u64,
    pub(super) heartbeat_ns: u64,
    pub(super) test_requests: u64,
}

impl<S: Store> Core<S> {
    pub(super) fn new(config: Config, store: S) -> Self {
        // Stored messages were within the limits of their time; today's limits may be lower.
        let limits =
            tickwire_fix::FixLimits { fields_max: usize::MAX, message_len_max: usize::MAX };
        Self {
            validator: Validator::new(config.checks),
            store,
            notices: VecDeque::new(),
            counters: SessionCounters::default(),
            transmit: Transmit::new(config.log_messages),
            replay_reader: config.reader().limits(limits),
            held: EarlyMessages::default(),
            asked: None,
            was_too_long: false,
            is_held: false,
            pending_logon: None,
            authenticated: false,
            appl_version: None,
            appl_ver_id: None,
            decoding_from: None,
            connected_ns: None,
            session_end_ns: None,
            closing: false,
            sent_logon: false,
            received_logon: false,
            sent_reset_ns: None,
            is_reset_open: false,
            sent_logout_ns: None,
            resent_ns: None,
            peer_logout: None,
            last_sent_ns: 0,
            last_received_ns: 0,
            heartbeat_ns: u64::from(config.heartbeat_s) * SECOND_NS,
            test_requests: 0,
            config,
        }
    }

    /// True if received bytes are processed.
    pub(super) const fn is_open(&self) -> bool {
        self.connected_ns.is_some() && !self.closing
    }

    /// True if both sides have sent Logon on this connection.
    pub(super) const fn is_established(&self) -> bool {
        self.sent_logon && self.received_logon && self.is_open()
    }

    /// True if both sides have sent Logon and this side has not sent Logout.
    pub(super) const fn is_logged_on(&self) -> bool {
        self.is_established() && self.sent_logout_ns.is_none()
    }

    /// True if our Logon has no answer yet. An acceptor's Logon is the answer.
    pub(super) const fn awaits_logon(&self) -> bool {
        self.sent_logon && !self.received_logon && self.is_open()
    }

    pub(super) fn is_initiator(&self) -> bool {
        self.config.role == SessionRole::Initiator
    }

    /// True if our Logon with ResetSeqNumFlag waits for its answer.
    pub(super) const fn awaits_reset(&self) -> bool {
        self.sent_reset_ns.is_some()
    }

    /// Asks for the connection to be closed.
    pub(super) fn close(&mut self, why: DisconnectReason) {
        if !self.closing {
            self.closing = true;
            self.notices.push_back(SessionEvent::Disconnect(why));
        }
    }

    /// Records a failure of the store: nothing more is sent or received.
    pub(super) fn store_failed(&mut self, error: &StoreError) {
        self.transmit.discard();
        match self.connected_ns {
            Some(_) => self.close(DisconnectReason::Store(error.to_string())),
            None => self.notices.push_back(SessionEvent::StoreFailed { text: error.to_string() }),
        }
    }

    /// Runs an operation of the store and records its failure.
    pub(super) fn with_store(&mut self, act: impl FnOnce(&mut S) -> Result<(), StoreError>) {
        if let Err(error) = act(&mut self.store) {
            self.store_failed(&error);
        }
    }

    /// Counts the message `seq_num` and all before it as received.
    pub(super) fn count_received(&mut self, seq_num: u64) {
        let expected = self.store.next_target();
        let next = seq_num.saturating_add(1);
        if next > expected {
            self.with_store(|store| store.set_next_target(next));
        }
    }

    /// True if a message with this number is counted on arrival. None is counted until our reset is
    /// answered.
    pub(super) fn is_due(&self, seq_num: u64) -> bool {
        if self.is_reset_open || self.awaits_reset() {
            return false;
        }
        let expected = self.store.next_target();
        seq_num == expected || !self.config.check_seq_nums && seq_num > expected
    }

    /// Returns LastMsgSeqNumProcessed, if it is sent.
    pub(super) fn last_processed(&self) -> Option<u64> {
        let is_sent =
            self.config.last_seq_num_processed && self.config.id.begin_string >= BeginString::Fix42;
        is_sent.then(|| self.store.next_target().saturating_sub(1))
    }

    /// Resets both sequence numbers to 1. Returns true if the store did so.
    pub(super) fn reset(&mut self, now: Now, origin: ResetOrigin) -> bool {
        let last_sent = self.store.next_sender().saturating_sub(1);
        let last_received = self.store.next_target().saturating_sub(1);
        if let Err(error) = self.store.reset(now.wall_ns) {
            self.store_failed(&error);
            return false;
        }
        self.is_reset_open = false;
        self.held = EarlyMessages::default();
        self.asked = None;
        self.transmit.forget_replays();
        self.notices.push_back(SessionEvent::Reset { origin, last_sent, last_received });
        true
    }

    pub(super) fn connected(&mut self, now: Now) {
        self.disconnected_state();
        // A disconnection requested on an earlier connection must not end this one.
        self.notices.retain(|notice| !matches!(notice, SessionEvent::Disconnect(_)));
        self.connected_ns = Some(now.steady_ns);
        self.last_sent_ns = now.steady_ns;
        self.last_received_ns = now.steady_ns;
        if !self.keep_schedule(now) {
            return;
        }
        if self.is_initiator() {
            self.begin_session_of_schedule(now);
            self.send_first_logon(now);
        }
    }

    pub(super) fn disconnected(&mut self, now: Now) {
        // The disconnection of a peer that was not admitted changes nothing.
        let was_in = self.sent_logon || self.received_logon;
        self.disconnected_state();
        if was_in && self.config.reset_on_disconnect {
            self.reset(now, ResetOrigin::ThisSide);
        }
    }

    fn disconnected_state(&mut self) {
        self.transmit.disconnected();
        self.held = EarlyMessages::default();
        self.asked = None;
        self.was_too_long = false;
        self.pending_logon = None;
        self.authenticated = false;
        self.connected_ns = None;
        self.session_end_ns = None;
        self.closing = false;
        self.sent_logon = false;
        self.received_logon = false;
        self.sent_reset_ns = None;
        self.sent_logout_ns = None;
        self.resent_ns = None;
        self.peer_logout = None;
        self.test_requests = 0;
        self.heartbeat_ns = u64::from(self.config.heartbeat_s) * SECOND_NS;
    }
}

//! Configuration of a session.

use std::sync::Arc;

use tickwire_fix::dictionary::{Problems, shipped};
use tickwire_fix::{Checks, DataFields, Dictionary, Precision, Reader, Tag};

use crate::id::{ApplVersion, BeginString, SessionId};
use crate::now::SECOND_NS;
use crate::schedule::Schedule;
use crate::secret::Secret;
use crate::session::Hooks;

/// Side of a session: the one that connects or the one that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionRole {
    /// Waits for the peer's Logon.
    Acceptor,
    /// Connects and sends the first Logon.
    Initiator,
}

/// Limits on the memory that a peer or the application can make a session use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Most messages accepted for sending but not yet written to the connection; they wait in the
    /// store. Default 4,000,000.
    pub backlog_max: u64,
    /// Most bytes of these messages. A memory store must keep more than that; otherwise it drops
    /// queued messages. Default 128 MiB.
    pub backlog_bytes_max: u64,
    /// Most messages held while an earlier one is missing. Default 10,000.
    pub held_max: usize,
    /// Most bytes of these held messages. Default 16 MiB.
    pub held_bytes_max: usize,
    /// Most bytes of a received or sent message. Default 1 MiB.
    pub message_len_max: usize,
    /// Most fields of a message. Default 65,536.
    pub fields_max: usize,
    /// Most bytes ready to be written to the connection; further messages wait in the store.
    /// Default 1 MiB.
    pub transmit_len_max: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            backlog_max: 4_000_000,
            backlog_bytes_max: 128 << 20,
            held_max: 10_000,
            held_bytes_max: 16 << 20,
            message_len_max: 1 << 20,
            fields_max: 65_536,
            transmit_len_max: 1 << 20,
        }
    }
}

/// The dictionaries that messages are validated against.
#[derive(Clone, Debug)]
pub struct Dictionaries {
    /// Header, trailer and session messages; for FIX 4 also the application messages.
    pub session: Arc<Dictionary>,
    /// Application messages by version; used by FIXT sessions only.
    pub application: Vec<(ApplVersion, Arc<Dictionary>)>,
}

impl Dictionaries {
    /// Returns the built-in dictionaries; for FIXT those of the application versions from FIX 5.0
    /// on.
    ///
    /// # Errors
    /// The problems of a dictionary; the built-in ones have none.
    pub fn shipped(version: BeginString) -> Result<Self, Problems> {
        let parse = |text| Dictionary::parse_quickfix(text).map(Arc::new);
        let session = match version {
            BeginString::Fix40 => &shipped::FIX40,
            BeginString::Fix41 => &shipped::FIX41,
            BeginString::Fix42 => &shipped::FIX42,
            BeginString::Fix43 => &shipped::FIX43,
            BeginString::Fix44 => &shipped::FIX44,
            BeginString::Fixt11 => &shipped::FIXT11,
        };
        let mut application = Vec::new();
        if version == BeginString::Fixt11 {
            application.push((ApplVersion::Fix50, parse(&shipped::FIX50)?));
            application.push((ApplVersion::Fix50Sp1, parse(&shipped::FIX50SP1)?));
            application.push((ApplVersion::Fix50Sp2, parse(&shipped::FIX50SP2)?));
        }
        Ok(Self { session: parse(session)?, application })
    }
}

/// Configuration of a session. The switches are those of QuickFIX, named in the standard's terms.
#[derive(Clone, Debug)]
pub struct Config {
    /// Version and CompIDs.
    pub id: SessionId,
    /// Side of the session.
    pub role: SessionRole,
    /// HeartBtInt in seconds; an acceptor uses the value of the peer's Logon. Default 30.
    pub heartbeat_s: u32,
    /// SenderSubID of sent messages.
    pub sender_sub_id: Option<String>,
    /// TargetSubID of sent messages.
    pub target_sub_id: Option<String>,
    /// SenderLocationID of sent messages.
    pub sender_location_id: Option<String>,
    /// TargetLocationID of sent messages.
    pub target_location_id: Option<String>,
    /// Username of an initiator's Logon.
    pub username: Option<String>,
    /// Password of an initiator's Logon.
    pub password: Option<Secret>,
    /// Username that an acceptor requires in the peer's Logon; `None` accepts any, or none.
    pub required_username: Option<String>,
    /// Password that an acceptor requires in the peer's Logon; `None` accepts any, or none.
    pub required_password: Option<Secret>,
    /// Further body fields of every sent Logon, with their values.
    pub logon_fields: Vec<(Tag, Secret)>,
    /// DefaultApplVerID of a sent Logon. A FIXT initiator must have one; an acceptor answers with
    /// the peer's.
    pub default_appl_ver_id: Option<String>,
    /// True if the application decides on each Logon ([`crate::Event::Logon`]). Default no.
    pub authenticate: bool,
    /// True if both sequence numbers are reset to 1 at every Logon. Default no.
    pub reset_on_logon: bool,
    /// True if both sequence numbers are reset to 1 after a Logout. Default no.
    pub reset_on_logout: bool,
    /// True if both sequence numbers are reset to 1 after a disconnection. Default no.
    pub reset_on_disconnect: bool,
    /// Most seconds between SendingTime and the time of arrival; `None` disables the check. Default
    /// 120.
    pub latency_max_s: Option<u32>,
    /// True if SenderCompID and TargetCompID of received messages must be those of the session.
    /// Default yes.
    pub check_comp_id: bool,
    /// True if MsgSeqNum of a received message must be the expected one. Otherwise every message is
    /// handled on arrival, whatever its number: there are no resend requests, no message is refused
    /// for its number, and the application receives possible duplicates. Default yes.
    pub check_seq_nums: bool,
    /// True if every header has LastMsgSeqNumProcessed; FIX 4.2 and later. Default no.
    pub last_seq_num_processed: bool,
    /// True if NextExpectedMsgSeqNum is sent and honoured; FIX 4.4 and later, and only while
    /// [`Config::check_seq_nums`]. Default no.
    pub next_expected_seq_num: bool,
    /// True if a message that violates its dictionary is rejected. Otherwise the session reports it
    /// with [`crate::SessionEvent::Invalid`] and handles it as if it were valid. Default yes.
    pub reject_invalid: bool,
    /// True if a possible duplicate must have OrigSendingTime. Default yes.
    pub requires_orig_sending_time: bool,
    /// True if a resend request ends with the last missing number; otherwise it is open-ended.
    /// Default no.
    pub closed_resend_interval: bool,
    /// True if every message that arrives early causes a resend request, even if the missing
    /// messages were already requested. Default no.
    pub redundant_resend_requests: bool,
    /// Most messages per resend request; 0 requests all missing ones at once. Default 0.
    pub resend_request_max: u64,
    /// True if sent messages are stored for resends; otherwise a resend request is answered with a
    /// gap fill. Default yes.
    pub persist_messages: bool,
    /// True if a Business Message Reject over FIXT repeats DefaultApplVerID, as QuickFIX does
    /// although the message has no such field. Default no.
    pub business_reject_version: bool,
    /// The times at which the session may be logged on; `None` for always. Each scheduled session
    /// begins with sequence number 1.
    pub schedule: Option<Schedule>,
    /// The times within the schedule at which both sides may be logged on; `None` for all of it.
    /// The sequence numbers are not reset.
    pub logon_schedule: Option<Schedule>,
    /// Silence of the peer after which a Test Request is sent, in thousandths of the heartbeat
    /// interval; the wait restarts after each unanswered request. Default 1,200.
    pub test_request_permille: u32,
    /// Silence after which the peer is disconnected, in thousandths of the heartbeat interval;
    /// `None` never disconnects and sends no Test Requests. Default 2,400.
    pub silence_permille: Option<u32>,
    /// Seconds to wait for the answer to a Logon. Default 10.
    pub logon_timeout_s: u32,
    /// Seconds to wait for the answer to a Logout. Default 2.
    pub logout_timeout_s: u32,
    /// Digits of SendingTime after the point. Default: none before FIX 4.2, then three.
    pub precision: Precision,
    /// True if every message is logged for [`crate::Session::take_log`]. Default no.
    pub log_messages: bool,
    /// Clock in nanoseconds that measures encoding and decoding; `None` measures nothing. Default
    /// none.
    pub codec_clock: Option<fn() -> u64>,
    /// Hooks of the application for outgoing and incoming messages; `None` for none.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// Dictionaries for validation; `None` validates only the fields that the session itself needs.
    pub dictionaries: Option<Dictionaries>,
    /// Validation settings.
    pub checks: Checks,
    /// Limits on the memory that the peer and the application can use.
    pub limits: SessionLimits,
}

impl Config {
    /// Creates a configuration with default values.
    pub fn new(role: SessionRole, id: SessionId) -> Self {
        let precision = match id.begin_string {
            BeginString::Fix40 | BeginString::Fix41 => Precision::Seconds,
            _ => Precision::Millis,
        };
        Self {
            id,
            role,
            heartbeat_s: 30,
            sender_sub_id: None,
            target_sub_id: None,
            sender_location_id: None,
            target_location_id: None,
            username: None,
            password: None,
            required_username: None,
            required_password: None,
            logon_fields: Vec::new(),
            default_appl_ver_id: None,
            authenticate: false,
            reset_on_logon: false,
            reset_on_logout: false,
            reset_on_disconnect: false,
            latency_max_s: Some(120),
            check_comp_id: true,
            check_seq_nums: true,
            last_seq_num_processed: false,
            next_expected_seq_num: false,
            reject_invalid: true,
            requires_orig_sending_time: true,
            closed_resend_interval: false,
            redundant_resend_requests: false,
            resend_request_max: 0,
            persist_messages: true,
            business_reject_version: false,
            schedule: None,
            logon_schedule: None,
            test_request_permille: 1200,
            silence_permille: Some(2400),
            logon_timeout_s: 10,
            logout_timeout_s: 2,
            precision,
            log_messages: false,
            codec_clock: None,
            hooks: None,
            dictionaries: None,
            checks: Checks::default(),
            limits: SessionLimits::default(),
        }
    }

    /// True if the schedule and the logon times let the session be logged on at `wall_ns`, in nanoseconds since 1970-01-01
    /// UTC.
    pub fn is_in_schedule(&self, wall_ns: u64) -> bool {
        let schedules = [&self.schedule, &self.logon_schedule];
        schedules.into_iter().flatten().all(|schedule| schedule.session_at(wall_ns).is_some())
    }

    /// Returns when to try a Logon, in nanoseconds since 1970-01-01 UTC: `wall_ns` itself if the
    /// session may be logged on then, otherwise the next start of the schedule or logon time that
    /// forbids it. Check again at that time. `None` if never.
    pub fn logon_from(&self, wall_ns: u64) -> Option<u64> {
        for schedule in [&self.schedule, &self.logon_schedule].into_iter().flatten() {
            if schedule.session_at(wall_ns).is_none() {
                return schedule.next_start(wall_ns);
            }
        }
        Some(wall_ns)
    }

    /// Returns the description of the wait if no Logon is permitted at `wall_ns`, for logs.
    pub fn schedule_wait(&self, wall_ns: u64) -> Option<String> {
        let from_ns = self.logon_from(wall_ns);
        if from_ns == Some(wall_ns) {
            return None;
        }
        let seconds = from_ns.and_then(|from_ns| i64::try_from(from_ns / SECOND_NS).ok());
        let from = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
        Some(from.map_or_else(
            || "outside the schedule, which has no further session".to_owned(),
            |from| format!("outside the schedule until {from}"),
        ))
    }

    /// True if NextExpectedMsgSeqNum is sent and honoured.
    pub(crate) fn uses_next_expected(&self) -> bool {
        self.next_expected_seq_num
            && self.check_seq_nums
            && self.id.begin_string >= BeginString::Fix44
    }

    /// Returns a reader for this session's messages. It knows the data fields of all dictionaries.
    pub(crate) fn reader(&self) -> Reader {
        let mut data_fields = DataFields::standard();
        if let Some(dictionaries) = &self.dictionaries {
            let application = dictionaries.application.iter().map(|(_, dictionary)| dictionary);
            for dictionary in application.chain([&dictionaries.session]) {
                data_fields.extend(&dictionary.data_fields());
            }
        }
        Reader::new().data_fields(data_fields)
    }

    /// True if accepting a Logon verifies the identity of the peer.
    pub(crate) const fn authenticates(&self) -> bool {
        self.authenticate || self.required_password.is_some()
    }

    /// True if a message sent while not logged on would be lost in a reset.
    pub(crate) const fn resets(&self) -> bool {
        self.reset_on_logon || self.reset_on_logout || self.reset_on_disconnect
    }
}

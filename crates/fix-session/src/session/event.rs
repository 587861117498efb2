//! Events of a session.

use tickwire_fix::{BusinessRejectReason, FixMessage, SessionRejectReason, Tag, Writer};

use super::admission::Refusal;
use super::core::Core;
use crate::config::Config;
use crate::error::SendError;
use crate::now::Now;
use crate::store::Store;

/// An event of a session.
#[derive(Debug)]
pub enum Event<'s, S> {
    /// A message for the application. Messages arrive in order and once; for the exception see
    /// [`MessageDelivery::poss_dup`].
    Application(MessageDelivery<'s, S>),
    /// A Logon that the application must decide on, if [`crate::Config::authenticate`] is set.
    Logon(LogonRequest<'s, S>),
    /// A notice for the application.
    Session(SessionEvent),
}

/// A notice for the application; it requires no action.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// Close the connection, unless it is already closed, once [`super::Session::poll_transmit`]
    /// returns nothing more.
    Disconnect(DisconnectReason),
    /// A message was ignored because the peer sent it before it received our reset.
    BeforeReset {
        /// Its MsgSeqNum in the sequence before the reset.
        seq_num: u64,
    },
    /// Bytes that are not a message were skipped.
    Garbage {
        /// Their number, in bytes.
        len: usize,
    },
    /// A garbled message was ignored; its number is still expected.
    Garbled,
    /// Messages are missing and were requested. They are requested again after a minute if none
    /// arrives.
    Gap {
        /// First missing number.
        begin: u64,
        /// Last missing number.
        end: u64,
    },
    /// An administrative message was handled and needs no answer.
    Handled,
    /// A message is invalid but was handled, because the configuration allows it, or because it is
    /// a Reject, which must not be answered with a Reject.
    Invalid {
        /// Its number.
        seq_num: u64,
        /// Why.
        reason: SessionRejectReason,
        /// The field, if there is one.
        tag: Option<Tag>,
    },
    /// Both sides are logged on.
    LoggedOn,
    /// A message with a number that was already received was ignored.
    PossDupIgnored {
        /// The number.
        seq_num: u64,
    },
    /// The peer rejected a sent message with a Reject or Business Message Reject.
    RejectReceived {
        /// Number of the rejected message.
        seq_num: u64,
        /// The peer's text.
        text: String,
    },
    /// A message was refused.
    Rejected {
        /// Its number.
        seq_num: u64,
        /// Why.
        reason: SessionRejectReason,
        /// The field, if there is one.
        tag: Option<Tag>,
    },
    /// Both sequence numbers were reset to 1. Neither side resends a message with an earlier number.
    Reset {
        /// Who reset them, and when.
        origin: ResetOrigin,
        /// MsgSeqNum of the last message that this side sent before; 0 if there was none.
        last_sent: u64,
        /// MsgSeqNum of the last message that this side received before; 0 if there was none.
        last_received: u64,
    },
    /// MsgSeqNum of a message is lower than expected, and the message is a Logon or not a possible
    /// duplicate; the session ends.
    SeqNumTooLow {
        /// The expected number.
        expected: u64,
        /// The number of the message.
        received: u64,
    },
    /// The store failed while the session was not connected: its last changes are not stored.
    StoreFailed {
        /// How.
        text: String,
    },
    /// A message longer than the limit was skipped: its number will be missing.
    TooLong {
        /// Its length by BodyLength, in bytes.
        len: usize,
    },
    /// The peer requested a resend.
    ResendRequested {
        /// First requested number.
        begin: u64,
        /// Last requested number.
        end: u64,
    },
}

/// Who reset the sequence numbers, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResetOrigin {
    /// This side: the application, the schedule, or a setting such as `ResetOnLogon`.
    ThisSide,
    /// The peer, with the first Logon of a connection (ResetSeqNumFlag, 141=Y).
    PeerAtLogon,
    /// The peer, with a Logon while both sides were logged on (ResetSeqNumFlag, 141=Y). Messages that
    /// were in flight may be lost: ask for the status of open orders.
    PeerWhileLoggedOn,
}

impl ResetOrigin {
    /// Returns the name used in logs and by other languages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ThisSide => "this side",
            Self::PeerAtLogon => "peer at logon",
            Self::PeerWhileLoggedOn => "peer while logged on",
        }
    }
}

/// Reason of a disconnection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DisconnectReason {
    /// The Logon was not answered in time, or none arrived.
    LogonTimeout,
    /// The Logon was refused; nothing was stored.
    LogonRefused(Refusal),
    /// Both sides sent Logout.
    LoggedOut {
        /// The peer's text.
        text: String,
    },
    /// The Logout was not answered in time.
    LogoutTimeout,
    /// The first message is not a Logon, a Logon arrived at the wrong time, or it cannot be parsed.
    NotLoggedOn,
    /// The sequence numbers were reset while a Logon with the old ones was unanswered.
    Reset,
    /// Outside the schedule.
    Schedule,
    /// MsgSeqNum is lower than expected or missing.
    SeqNum,
    /// This side is being shut down.
    Shutdown,
    /// The peer was silent for too long and did not answer a Test Request.
    Silence,
    /// The peer does not read fast enough.
    SlowReader,
    /// The peer resent a message that is longer than the limit.
    TooLong {
        /// Its length by BodyLength, in bytes.
        len: usize,
        /// The limit.
        len_max: usize,
    },
    /// The store failed; the text is its error.
    Store(String),
    /// A session message or a resend cannot be assembled; the text is the reason.
    Unsendable(String),
    /// A hook refused a message of the peer; the text is its reason.
    Hook(String),
}

/// Header fields of a message to send, in addition to those that the session fills in.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutgoingHeader<'a> {
    /// MsgType.
    pub msg_type: &'a str,
    /// More header fields with their values, ascending by tag.
    pub fields: &'a [(Tag, &'a [u8])],
}

impl<'a> OutgoingHeader<'a> {
    /// Creates the header of a message type.
    pub const fn new(msg_type: &'a str) -> Self {
        Self { msg_type, fields: &[] }
    }
}

/// Counters since the session was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounters {
    /// Messages received that were not garbled.
    pub received: u64,
    /// Messages passed to the application.
    pub delivered: u64,
    /// Messages sent, without resends.
    pub sent: u64,
    /// Messages sent again.
    pub resent: u64,
    /// Messages refused.
    pub rejected: u64,
    /// Messages sent that the peer refused.
    pub refused: u64,
    /// Garbled messages and runs of garbage.
    pub garbled: u64,
    /// Resend requests sent.
    pub gaps: u64,
    /// Messages with a sequence number that was already received, ignored.
    pub duplicates: u64,
    /// Logons that were completed.
    pub logons: u64,
    /// Nanoseconds spent decoding and validating, if the configuration has a clock for it.
    pub decode_ns: u64,
    /// Nanoseconds spent encoding new messages, if the configuration has a clock for it.
    pub encode_ns: u64,
}

/// A message for the application, and access to the session for answers.
#[derive(Debug)]
pub struct MessageDelivery<'s, S> {
    /// The message.
    pub message: FixMessage<'s, 's>,
    /// Its MsgSeqNum.
    pub seq_num: u64,
    /// True if the sender may have sent the message before under this number (PossDupFlag). This
    /// session has not delivered it before, unless the process ended before the store was
    /// committed.
    pub poss_dup: bool,
    /// True if the sender may have sent the content before under another number (PossResend).
    pub poss_resend: bool,
    pub(super) core: &'s mut Core<S>,
    pub(super) now: Now,
}

impl<S: Store> MessageDelivery<'_, S> {
    /// Returns the configuration of the session, with its dictionaries.
    pub const fn config(&self) -> &Config {
        &self.core.config
    }

    /// Sends a message and returns its MsgSeqNum. `write` writes the body; if the buffer is too
    /// small, it is called again with a larger one.
    ///
    /// # Errors
    /// As [`super::Session::send`].
    pub fn send(
        &mut self,
        head: &OutgoingHeader<'_>,
        mut write: impl FnMut(&mut Writer<'_>),
    ) -> Result<u64, SendError> {
        self.send_fields(head, |mut writer| {
            write(&mut writer);
            writer
        })
    }

    /// Sends a message of a generated type and returns its MsgSeqNum. `write` writes the body and
    /// returns the writer, as in `|writer| report.encode_fields(writer)`; if the buffer is too
    /// small, it is called again with a larger one.
    ///
    /// # Errors
    /// As [`super::Session::send`].
    pub fn send_fields(
        &mut self,
        head: &OutgoingHeader<'_>,
        write: impl for<'w> FnMut(Writer<'w>) -> Writer<'w>,
    ) -> Result<u64, SendError> {
        self.core.send(self.now, head, write)
    }

    /// Rejects the message with a Business Message Reject, before FIX 4.2 with a Reject.
    ///
    /// `ref_id` identifies the message for the application (BusinessRejectRefID), for example its
    /// ClOrdID. `text` replaces the standard text of the reason.
    ///
    /// # Errors
    /// As [`super::Session::send`].
    pub fn reject_business(
        &mut self,
        reason: BusinessRejectReason,
        ref_id: Option<&[u8]>,
        text: Option<&str>,
    ) -> Result<(), SendError> {
        self.core.reject_business(self.now, &self.message, self.seq_num, reason, (ref_id, text))
    }

    /// Rejects the message because of a field, with a Reject.
    ///
    /// # Errors
    /// As [`super::Session::send`].
    pub fn reject(
        &mut self,
        reason: SessionRejectReason,
        tag: Option<Tag>,
    ) -> Result<(), SendError> {
        let text = tag.map(|tag| tag.to_string());
        self.core.send_reject(
            self.now,
            &self.message,
            self.seq_num,
            reason,
            text.as_deref().map(str::as_bytes),
        )
    }
}

/// A Logon to decide on. Dropping it without a decision refuses it.
#[derive(Debug)]
#[must_use]
pub struct LogonRequest<'s, S> {
    /// The Logon.
    pub message: FixMessage<'s, 's>,
    pub(super) core: &'s mut Core<S>,
    pub(super) now: Now,
}

impl<S: Store> LogonRequest<'_, S> {
    /// Accepts the Logon.
    pub fn accept(self) {
        self.core.accept_logon(self.now);
    }

    /// Refuses the Logon with a Logout that uses no sequence number. With an empty text it only
    /// disconnects, which is right for QuickFIX peers, because they count the Logout.
    pub fn refuse(self, text: &str) {
        self.core.refuse_logon(self.now, text);
    }
}

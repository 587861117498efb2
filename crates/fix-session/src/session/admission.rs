//! Admission: the checks of a first Logon before anything is stored because of it.
//!
//! A session applies these rules to its own first Logon. A listener that has not opened the
//! session's store yet, because the peer is unauthenticated, applies them to the configuration
//! alone.

use std::fmt;

use tickwire_fix::{FixError, FixMessage, Validator};

use super::event::OutgoingHeader;
use super::head::SessionHeader;
use super::send::{HeaderStamp, encode_new};
use crate::config::Config;
use crate::id::{ApplVersion, BeginString};
use crate::now::{Now, SECOND_NS};
use crate::secret::Secret;
use crate::tags;

/// The reason why a first Logon is refused, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The TLS handshake failed, or only one of the two sides uses TLS.
    Tls,
    /// The first message is not a Logon, or is garbled.
    NotLogon,
    /// No session has these CompIDs.
    CompId,
    /// BeginString is not the session's.
    BeginString,
    /// MsgSeqNum is missing, not a number, or lower than expected.
    MsgSeqNum,
    /// SendingTime is missing or too far from the time of arrival.
    SendingTime,
    /// The Logon violates the dictionary.
    Invalid,
    /// HeartBtInt is missing or not a number.
    HeartBtInt,
    /// Outside the schedule.
    Schedule,
    /// The peer's address is not allowed.
    Address,
    /// The peer's certificate is not allowed.
    Certificate,
    /// The session already has a connection.
    Connected,
    /// The application refused the Logon, or Username or Password is wrong.
    Credentials,
    /// The application did not decide in time, or too many decisions are pending.
    Undecided,
    /// A limit on connections, Logons or sessions is reached.
    Limit,
    /// The store cannot be opened.
    Store,
    /// The session is disabled.
    Disabled,
    /// The engine is being shut down.
    Shutdown,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Tls,
        Self::NotLogon,
        Self::CompId,
        Self::BeginString,
        Self::MsgSeqNum,
        Self::SendingTime,
        Self::Invalid,
        Self::HeartBtInt,
        Self::Schedule,
        Self::Address,
        Self::Certificate,
        Self::Connected,
        Self::Credentials,
        Self::Undecided,
        Self::Limit,
        Self::Store,
        Self::Disabled,
        Self::Shutdown,
    ];

    /// Returns the name used in logs and metric labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tls => "tls",
            Self::NotLogon => "not_logon",
            Self::CompId => "comp_id",
            Self::BeginString => "begin_string",
            Self::MsgSeqNum => "msg_seq_num",
            Self::SendingTime => "sending_time",
            Self::Invalid => "invalid",
            Self::HeartBtInt => "heart_bt_int",
            Self::Schedule => "schedule",
            Self::Address => "address",
            Self::Certificate => "certificate",
            Self::Connected => "connected",
            Self::Credentials => "credentials",
            Self::Undecided => "undecided",
            Self::Limit => "limit",
            Self::Store => "store",
            Self::Disabled => "disabled",
            Self::Shutdown => "shutdown",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// Checks a first Logon against the configuration of its session. Needs no store and changes
/// nothing; it checks neither the credentials nor whether MsgSeqNum is too low.
///
/// # Errors
/// [`Refusal`]: disconnect without a message, because a Reject or Logout would use a sequence
/// number.
///
/// Spec: FIX session layer, test cases 1S (Logon received by the acceptor).
pub fn admit(config: &Config, now: Now, message: &FixMessage<'_, '_>) -> Result<(), Refusal> {
    let check = |is_fulfilled: bool, refusal| is_fulfilled.then_some(()).ok_or(refusal);
    check(message.msg_type() == b"A", Refusal::NotLogon)?;
    let head = SessionHeader::of(message).map_err(|_| Refusal::MsgSeqNum)?;
    check(!config.check_comp_id || knows(config, &head), Refusal::CompId)?;
    let version = config.id.begin_string.as_str().as_bytes();
    check(message.begin_string() == version, Refusal::BeginString)?;
    check(is_in_time(config, now, &head), Refusal::SendingTime)?;
    check(!config.reject_invalid || validated(config, message).is_ok(), Refusal::Invalid)?;
    check(speaks(config, message), Refusal::Invalid)?;
    check(heartbeat_s(message).is_some(), Refusal::HeartBtInt)?;
    check(config.logon_from(now.wall_ns) == Some(now.wall_ns), Refusal::Schedule)
}

/// Checks Username and Password of a first Logon if the configuration requires them. Call it after
/// all other checks and before the application decides.
///
/// # Errors
/// [`Refusal::Credentials`].
pub fn check_credentials(config: &Config, message: &FixMessage<'_, '_>) -> Result<(), Refusal> {
    let value = |tag| message.field(tag).map_or(&[][..], |field| field.value);
    let name = config.required_username.as_deref();
    let password = config.required_password.as_ref().map(Secret::expose);
    let is_name = name.is_none_or(|name| is_same(name.as_bytes(), value(tags::USERNAME)));
    let is_password =
        password.is_none_or(|password| is_same(password.as_bytes(), value(tags::PASSWORD)));
    // Both are compared, so that the time taken does not reveal which one is wrong.
    if is_name & is_password { Ok(()) } else { Err(Refusal::Credentials) }
}

/// Compares in constant time: it does not depend on the position of the first difference.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |bits, (one, other)| bits | (one ^ other));
    one.len() == other.len() && std::hint::black_box(differing) == 0
}

/// True if the CompIDs are those of the session.
///
/// Spec: FIX session layer, test cases 1c and 2k.
pub(super) fn knows(config: &Config, head: &SessionHeader<'_>) -> bool {
    head.sender == config.id.target_comp_id.as_bytes()
        && head.target == config.id.sender_comp_id.as_bytes()
}

/// True if SendingTime is within the allowed latency of the time of arrival.
///
/// Spec: FIX session layer, test cases 1d and 2o.
pub(super) fn is_in_time(config: &Config, now: Now, head: &SessionHeader<'_>) -> bool {
    let Some(latency_max_s) = config.latency_max_s else { return true };
    let Some(sent) = head.sending_time else { return false };
    let distance = (sent.unix_nanos() - i128::from(now.wall_ns)).unsigned_abs();
    distance <= u128::from(latency_max_s) * u128::from(SECOND_NS)
}

/// Returns HeartBtInt in seconds.
pub(super) fn heartbeat_s(message: &FixMessage<'_, '_>) -> Option<u32> {
    let seconds = message.field(tags::HEART_BT_INT)?.uint().ok()?;
    u32::try_from(seconds).ok()
}

/// Returns the validator for Logons. It also allows Username and Password in versions before FIX
/// 4.3, which introduced them, and the further fields that this side's own Logon has.
pub(super) fn logon_validator(config: &Config) -> Validator {
    let agreed = config.logon_fields.iter().map(|(tag, _)| *tag);
    Validator::new(config.checks).allow([tags::USERNAME, tags::PASSWORD].into_iter().chain(agreed))
}

fn validated(config: &Config, message: &FixMessage<'_, '_>) -> Result<(), FixError> {
    match &config.dictionaries {
        None => message.fault().map_or(Ok(()), Err),
        Some(dictionaries) => logon_validator(config).validate(message, &dictionaries.session),
    }
}

/// Returns a description of the dictionary violation in a Logon, for logs; empty if there is none.
pub fn invalidity(config: &Config, message: &FixMessage<'_, '_>) -> String {
    let Err(error) = validated(config, message) else {
        let is_heard = speaks(config, message);
        return if is_heard { "" } else { "DefaultApplVerID is missing or has no dictionary" }
            .to_owned();
    };
    let reason = config.checks.reason(&error).map_or("", |reason| reason.text());
    error.tag.map_or(reason.to_owned(), |tag| format!("{reason}, tag {tag}"))
}

/// True if a FIXT Logon has a DefaultApplVerID with a known dictionary.
///
/// Spec: FIXT 1.1, DefaultApplVerID: required.
fn speaks(config: &Config, message: &FixMessage<'_, '_>) -> bool {
    if config.id.begin_string != BeginString::Fixt11 {
        return true;
    }
    let Some(said) = message.field(tags::DEFAULT_APPL_VER_ID) else { return false };
    let Some(dictionaries) = &config.dictionaries else { return true };
    let version = ApplVersion::parse(said.value);
    dictionaries.application.iter().any(|(known, _)| Some(*known) == version)
}

/// Encodes a Logout for a peer that is not admitted. It is not stored and uses no sequence number:
/// `seq_num` is that of the next message. Empty if it cannot be encoded.
///
/// Do not send it to QuickFIX peers: QuickFIX counts the Logout as received, whatever its number,
/// and then finds the number of the next Logon too low.
pub fn refusal_logout(config: &Config, now: Now, seq_num: u64, text: &str) -> Vec<u8> {
    let stamp = HeaderStamp { now, seq_num, orig: None, last_processed: None };
    let mut scratch = Vec::new();
    let text = one_field(text);
    let encoded =
        encode_new(&mut scratch, config, &stamp, &OutgoingHeader::new("5"), |mut writer| {
            writer.text(tags::TEXT, &text);
            writer
        });
    encoded.map(<[u8]>::to_vec).unwrap_or_default()
}

/// Returns the text with delimiters replaced by spaces, so that it is one field.
pub(super) fn one_field(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if byte == tickwire_fix::reader::SOH { b' ' } else { byte }).collect()
}

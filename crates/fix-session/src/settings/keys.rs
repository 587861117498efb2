//! Converts the keys of a section to the settings of a session.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use tickwire_fix::{Precision, Tag};

use super::nearest::nearest;
use super::section::{Section, SettingValue};
use super::{
    AcceptorLimits, ConnectionSettings, DictionarySettings, LogRotation, SessionSettings,
    SettingsFinding, schedule, tls,
};
use crate::config::{Config, SessionRole};
use crate::id::{ApplVersion, BeginString, SessionId};
use crate::secret::Secret;
use crate::session::is_header;
use crate::tags;

/// Minimum of MaxMessageSize in bytes: a Logon must fit.
const MESSAGE_LEN_MIN: usize = 256;

/// Most files of a message log. A rotation renames all of them while sessions wait.
const LOG_FILES_MAX: u32 = 1000;

/// Largest multiplier of the heartbeat interval.
const MULTIPLIER_MAX: f64 = 1000.0;

/// Known keys without effect. RefreshOnLogon is one of them because a store is locked: no other
/// process can have changed it.
const WITHOUT_EFFECT: [&str; 24] = [
    "Description",
    "FileIncludeMilliseconds",
    "FileIncludeTimeStampForMessages",
    "FileLogBackupPath",
    "FileStoreMaxCachedMsgs",
    "LogMessageWhenSessionNotFound",
    "PersistentStore",
    "PreserveMessageFieldsOrder",
    "RefreshOnLogon",
    "ScreenLogShowEvents",
    "ScreenLogShowHeartBeats",
    "ScreenLogShowIncoming",
    "ScreenLogShowOutgoing",
    "SocketAcceptProtocol",
    "SocketConnectProtocol",
    "SocketKeepAlive",
    "SocketNoDelay",
    "SocketOobInline",
    "SocketReceiveBufferSize",
    "SocketReuseAddress",
    "SocketSendBufferSize",
    "SocketSynchronousWrites",
    "SocketTcpNoDelay",
    "ThreadModel",
];

/// Keys of other engines that are not supported, in lower case, with a hint.
const UNSUPPORTED: [(&str, &str); 9] = [
    ("allowposdup", ""),
    ("disconnectonerror", ""),
    ("enableresetseqtime", RESETS),
    ("forceresync", ""),
    ("httpacceptport", ": sessions are administered with --admin PORT of tickwire fix server"),
    ("rejectgarbledmessage", ": a garbled message is always ignored"),
    ("resetonerror", ""),
    ("resetseqtime", RESETS),
    ("socketconnecttimeout", ": an attempt to connect ends after 10 seconds"),
];

const RESETS: &str = ": the numbers are reset at StartTime";

/// Starts of the keys of databases.
const DATABASES: [&str; 6] = ["jdbc", "mongo", "mysql", "odbc", "postgresql", "sleepycat"];

/// Limits on connections that must not be 0, because 0 would admit nobody.
const NEEDED: [&str; 4] = [
    "MaxConnections",
    "MaxPendingConnections",
    "MaxPendingConnectionsPerAddress",
    "FirstMessageTimeout",
];

/// Keys that restrict access. One without a value, for example from an unset variable, is an error,
/// because it would admit everybody.
const GUARDS: [&str; 5] = [
    "allowedclientcertificates",
    "allowedremoteaddresses",
    "requiredpassword",
    "requiredusername",
    "socketacceptaddress",
];

/// Further keys that protect a session: a misspelt one would admit everyone, or send plain text.
const SWITCHES: [&str; 2] = ["SocketUseSSL", "SSLEnable"];

/// Start of what was probably meant as a comment after a value.
const COMMENT: &str = " #";
const COMMENT_HINT: &str = "; a comment needs a line of its own";

/// The keys of one session during parsing.
pub(super) struct Keys {
    line: u32,
    /// The keys that a session may have.
    known: BTreeSet<String>,
    pub values: BTreeMap<String, (String, SettingValue)>,
    errors: Vec<SettingsFinding>,
}

impl Keys {
    /// Returns the line of a key, or that of the section if the key is absent.
    pub fn line_of(&self, key: &str) -> u32 {
        let found = self.values.get(&key.to_ascii_lowercase());
        found.map_or(self.line, |(_, value)| value.line)
    }

    pub fn take(&mut self, key: &str) -> Option<SettingValue> {
        self.known.insert(key.to_owned());
        let name = key.to_ascii_lowercase();
        let (_, value) = self.values.remove(&name)?;
        if value.text.is_empty() && GUARDS.contains(&name.as_str()) {
            let text = format!(
                "{key} has no value and would admit everyone; give it a value or remove it"
            );
            self.fail(value.line, text);
        }
        if value.text.is_empty() && name == "filestorepath" {
            let text = "FileStorePath has no value, so messages would be kept in memory only; \
                        give it a folder or remove it";
            self.fail(value.line, text.to_owned());
        }
        (!value.text.is_empty()).then_some(value)
    }

    pub fn text(&mut self, key: &str) -> Option<String> {
        self.take(key).map(|value| value.text)
    }

    /// Returns a value that is sent as a field. A control character in it is an error, whose text
    /// omits the value.
    fn field(&mut self, key: &str) -> Option<String> {
        let SettingValue { text, line } = self.take(key)?;
        if text.contains(char::is_control) {
            self.fail(line, format!("{key} has a control character"));
        }
        Some(text)
    }

    fn path(&mut self, keys: &[&str]) -> Option<PathBuf> {
        let found: Vec<PathBuf> =
            keys.iter().filter_map(|key| self.text(key)).map(PathBuf::from).collect();
        found.into_iter().next()
    }

    /// True if the key is present, with or without a valid value.
    pub fn has(&self, key: &str) -> bool {
        self.values.contains_key(&key.to_ascii_lowercase())
    }

    pub fn fail(&mut self, line: u32, text: String) {
        // The text quotes the value.
        let hint = if text.contains(COMMENT) { COMMENT_HINT } else { "" };
        self.errors.push(SettingsFinding { line, text: text + hint });
    }

    fn required(&mut self, key: &str) -> String {
        let text = self.field(key);
        if text.is_none() {
            self.fail(self.line, format!("the session has no {key}; add {key}=..."));
        }
        text.unwrap_or_default()
    }

    pub fn flag(&mut self, key: &str) -> Option<bool> {
        let value = self.take(key)?;
        match value.text.as_str() {
            "Y" | "y" | "yes" | "true" | "1" => Some(true),
            "N" | "n" | "no" | "false" | "0" => Some(false),
            other => {
                self.fail(value.line, format!("{key}: '{other}' is not Y or N"));
                None
            }
        }
    }

    fn number<T: FromStr>(&mut self, key: &str, what: &str) -> Option<T> {
        let value = self.take(key)?;
        let number = value.text.parse().ok();
        if number.is_none() {
            self.fail(value.line, format!("{key}: '{}' is not {what}", value.text));
        }
        number
    }

    fn set_flag(&mut self, key: &str, target: &mut bool) {
        if let Some(flag) = self.flag(key) {
            *target = flag;
        }
    }
}

/// Reads one session.
pub(super) fn read(
    default: &Section,
    section: &Section,
    warnings: &mut Vec<SettingsFinding>,
) -> Result<SessionSettings, Vec<SettingsFinding>> {
    let mut values = default.values.clone();
    values.extend(section.values.clone());
    let known = SWITCHES.map(str::to_owned).into();
    let commented = values.values().filter(|(_, value)| value.text.contains(COMMENT));
    warnings.extend(commented.map(|(key, value)| SettingsFinding {
        line: value.line,
        text: format!("'{COMMENT}' is part of the value of {key}{COMMENT_HINT}"),
    }));
    let mut keys = Keys { line: section.line, known, values, errors: Vec::new() };
    let id = read_id(&mut keys);
    let role = read_role(&mut keys);
    let mut config = Config::new(role, id);
    read_session(&mut keys, &mut config);
    schedule::read(&mut keys, &mut config);
    let dictionaries = read_dictionaries(&mut keys, &mut config);
    let connection = read_connection(&mut keys, role);
    let tls = tls::read(&mut keys, role);
    if config.next_expected_seq_num && !config.check_seq_nums {
        let line = keys.line;
        let text = "EnableNextExpectedMsgSeqNum has no effect without ValidateSequenceNumbers=Y";
        warnings.push(SettingsFinding { line, text: text.to_owned() });
    }
    let store_syncs = keys.flag("FileStoreSync").unwrap_or(false);
    let store_archives = keys.number("FileStoreArchives", "a number").unwrap_or(0);
    let store_folder = keys.path(&["FileStorePath"]);
    let log_folder = keys.path(&["FileLogPath"]);
    let log_rotation = read_log_rotation(&mut keys);
    for key in WITHOUT_EFFECT {
        keys.take(key);
    }
    for (name, (key, value)) in &keys.values {
        let line = value.line;
        if let Some(hint) = unsupported(name) {
            let text = format!("'{key}' is not supported and has no effect{hint}");
            warnings.push(SettingsFinding { line, text });
            continue;
        }
        let meant = nearest(name, &keys.known);
        let guard = meant.filter(|meant| is_guard(meant));
        // Such a key restricts access in another engine, or is a misspelt guard.
        let begins_as_guard = name.starts_with("required") || name.starts_with("allowed");
        if role == SessionRole::Acceptor && (guard.is_some() || begins_as_guard) {
            let text = match guard {
                Some(guard) => format!(
                    "'{key}' is not known; did you mean {guard}? It is an error, because without \
                     {guard} everyone would be let in"
                ),
                None => format!(
                    "'{key}' is not known. It is an error, because a session that ignores it may let \
                     everyone in; remove it, or use one of the keys that restrict access: {}",
                    "RequiredUsername, RequiredPassword, AllowedRemoteAddresses, AllowedClientCertificates"
                ),
            };
            keys.errors.push(SettingsFinding { line, text });
            continue;
        }
        let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
        let text = format!("'{key}' is not known and has no effect{meant}");
        warnings.push(SettingsFinding { line, text });
    }
    if !keys.errors.is_empty() {
        return Err(keys.errors);
    }
    let line = section.line;
    Ok(SessionSettings {
        line,
        config,
        connection,
        store_folder,
        store_syncs,
        store_archives,
        log_folder,
        log_rotation,
        dictionaries,
        tls,
    })
}

/// Returns the hint on a key of another engine that is not supported; `None` for other keys.
fn unsupported(name: &str) -> Option<&'static str> {
    if DATABASES.iter().any(|start| name.starts_with(start)) {
        return Some(
            ": stores and logs are files; name their folders with FileStorePath and FileLogPath",
        );
    }
    if name.starts_with("proxy") {
        return Some(": connections through a proxy");
    }
    UNSUPPORTED.iter().find(|(key, _)| *key == name).map(|(_, hint)| *hint)
}

/// True if a session without this key may be open to everyone.
fn is_guard(key: &str) -> bool {
    GUARDS.contains(&&*key.to_ascii_lowercase()) || SWITCHES.contains(&key)
}

/// Reads the rotation of a message log; `None` without a size.
fn read_log_rotation(keys: &mut Keys) -> Option<LogRotation> {
    let line = keys.line_of("FileLogMaxFiles");
    let kept = keys.number("FileLogMaxFiles", "a number of files").unwrap_or(5);
    if kept > LOG_FILES_MAX {
        keys.fail(line, format!("FileLogMaxFiles: {kept} is more than {LOG_FILES_MAX}"));
    }
    let bytes_max = keys.number("FileLogMaxBytes", "a number of bytes").filter(|max| *max > 0)?;
    Some(LogRotation { bytes_max, kept })
}

fn read_id(keys: &mut Keys) -> SessionId {
    let line = keys.line_of("BeginString");
    let begin_string = keys.required("BeginString");
    let version = BeginString::parse(begin_string.as_bytes());
    if version.is_none() && !begin_string.is_empty() {
        let text = match begin_string.starts_with("FIX.5.0") {
            true => format!("set BeginString=FIXT.1.1 and DefaultApplVerID={begin_string}"),
            false => "expected FIX.4.0 to FIX.4.4 or FIXT.1.1".to_owned(),
        };
        let text = format!("'{begin_string}' is not a version of the session protocol; {text}");
        keys.fail(line, format!("BeginString: {text}"));
    }
    let mut id = SessionId::new(
        version.unwrap_or(BeginString::Fix42),
        keys.required("SenderCompID"),
        keys.required("TargetCompID"),
    );
    id.qualifier = keys.text("SessionQualifier").unwrap_or_default();
    id
}

fn read_role(keys: &mut Keys) -> SessionRole {
    let Some(value) = keys.take("ConnectionType") else {
        let accepts = keys.has("SocketAcceptPort");
        let connects = keys.has("SocketConnectHost") || keys.has("SocketConnectPort");
        // QuickFIX/Go has no ConnectionType: the other keys determine it.
        return match (accepts, connects) {
            (true, false) => SessionRole::Acceptor,
            (false, true) => SessionRole::Initiator,
            _ => {
                let text = "the session has no ConnectionType; add acceptor or initiator";
                keys.fail(keys.line, text.to_owned());
                SessionRole::Acceptor
            }
        };
    };
    match value.text.to_ascii_lowercase().as_str() {
        "acceptor" => SessionRole::Acceptor,
        "initiator" => SessionRole::Initiator,
        other => {
            keys.fail(
                value.line,
                format!("ConnectionType: '{other}' is not acceptor or initiator"),
            );
            SessionRole::Acceptor
        }
    }
}

fn read_session(keys: &mut Keys, config: &mut Config) {
    let seconds = "a number of seconds";
    config.sender_sub_id = keys.field("SenderSubID");
    config.target_sub_id = keys.field("TargetSubID");
    config.sender_location_id = keys.field("SenderLocationID");
    config.target_location_id = keys.field("TargetLocationID");
    config.username = keys.field("Username");
    config.password = keys.field("Password").map(Secret::from);
    config.required_username = keys.text("RequiredUsername");
    config.required_password = keys.text("RequiredPassword").map(Secret::from);
    config.heartbeat_s = keys.number("HeartBtInt", seconds).unwrap_or(config.heartbeat_s);
    config.logon_timeout_s = keys.number("LogonTimeout", seconds).unwrap_or(10);
    config.logout_timeout_s = keys.number("LogoutTimeout", seconds).unwrap_or(2);
    keys.set_flag("ResetOnLogon", &mut config.reset_on_logon);
    keys.set_flag("ResetOnLogout", &mut config.reset_on_logout);
    keys.set_flag("ResetOnDisconnect", &mut config.reset_on_disconnect);
    keys.set_flag("CheckCompID", &mut config.check_comp_id);
    keys.set_flag("PersistMessages", &mut config.persist_messages);
    keys.set_flag("RejectInvalidMessage", &mut config.reject_invalid);
    keys.set_flag("RequiresOrigSendingTime", &mut config.requires_orig_sending_time);
    keys.set_flag("ClosedResendInterval", &mut config.closed_resend_interval);
    keys.set_flag("SendRedundantResendRequests", &mut config.redundant_resend_requests);
    keys.set_flag("ValidateSequenceNumbers", &mut config.check_seq_nums);
    keys.set_flag("EnableLastMsgSeqNumProcessed", &mut config.last_seq_num_processed);
    keys.set_flag("EnableNextExpectedMsgSeqNum", &mut config.next_expected_seq_num);
    keys.set_flag("SendNextExpectedMsgSeqNum", &mut config.next_expected_seq_num);
    for key in ["ResendRequestChunkSize", "MaxMessagesInResendRequest"] {
        let chunk = keys.number(key, "a number of messages");
        config.resend_request_max = chunk.unwrap_or(config.resend_request_max);
    }
    let latency_s = keys.number("MaxLatency", seconds).unwrap_or(120);
    let checks_latency = keys.flag("CheckLatency").unwrap_or(true);
    config.latency_max_s = checks_latency.then_some(latency_s);
    read_silence(keys, config);
    read_logon_fields(keys, config);
    read_message_len(keys, config);
    read_precision(keys, config);
    read_default_version(keys, config);
}

/// Reads the permitted silence of the peer: one heartbeat interval plus the multiplier.
fn read_silence(keys: &mut Keys, config: &mut Config) {
    if let Some(permille) = read_multiplier(keys, "TestRequestDelayMultiplier") {
        config.test_request_permille = permille;
    }
    let silence_permille = read_multiplier(keys, "HeartBeatTimeoutMultiplier");
    config.silence_permille = silence_permille.or(config.silence_permille);
    if keys.flag("DisableHeartBeatCheck") == Some(true) {
        config.silence_permille = None;
    }
}

/// Returns one plus a multiplier, in thousandths.
fn read_multiplier(keys: &mut Keys, key: &str) -> Option<u32> {
    let value = keys.take(key)?;
    let range = 0.0..=MULTIPLIER_MAX;
    match value.text.parse::<f64>().ok().filter(|multiplier| range.contains(multiplier)) {
        // The range check ensures that the result fits.
        Some(multiplier) => Some(1000 + (multiplier * 1000.0).round() as u32),
        None => {
            let text = format!("is not a number from 0 to {MULTIPLIER_MAX}, such as 1.4");
            keys.fail(value.line, format!("{key}: '{}' {text}", value.text));
            None
        }
    }
}

/// Reads `LogonTag`, `LogonTag1` and so on, each a field of the Logon.
fn read_logon_fields(keys: &mut Keys, config: &mut Config) {
    for number in 0..=99 {
        let suffix = if number == 0 { String::new() } else { number.to_string() };
        let key = format!("LogonTag{suffix}");
        let Some(value) = keys.take(&key) else { continue };
        let field = value.text.split_once('=').and_then(|(tag, text)| {
            let tag = tag.trim().parse().ok().filter(|tag| *tag > 0)?;
            (!text.is_empty() && !text.contains('\u{1}')).then(|| (Tag(tag), Secret::from(text)))
        });
        match field {
            Some((tag, _)) if is_written(tag, config) => {
                let text = format!("{key}: the Logon already has {tag}");
                keys.fail(value.line, text);
            }
            Some(field) => config.logon_fields.push(field),
            None => {
                keys.fail(value.line, format!("{key}: not tag=value, such as 553=name"));
            }
        }
    }
}

/// True if the session writes this Logon field itself, or an earlier `LogonTag` has set it.
fn is_written(tag: Tag, config: &Config) -> bool {
    match tag {
        Tag::CHECK_SUM
        | tags::ENCRYPT_METHOD
        | tags::HEART_BT_INT
        | tags::RESET_SEQ_NUM_FLAG
        | tags::NEXT_EXPECTED_MSG_SEQ_NUM
        | tags::DEFAULT_APPL_VER_ID => true,
        tags::USERNAME if config.username.is_some() => true,
        tags::PASSWORD if config.password.is_some() => true,
        tag => is_header(tag.0) || config.logon_fields.iter().any(|(named, _)| *named == tag),
    }
}

fn read_message_len(keys: &mut Keys, config: &mut Config) {
    let Some(value) = keys.take("MaxMessageSize") else { return };
    match value.text.parse().ok().filter(|len| *len >= MESSAGE_LEN_MIN) {
        Some(len) => config.limits.message_len_max = len,
        None => {
            let text = format!("is not a number of bytes, at least {MESSAGE_LEN_MIN}");
            keys.fail(value.line, format!("MaxMessageSize: '{}' {text}", value.text));
        }
    }
}

fn read_precision(keys: &mut Keys, config: &mut Config) {
    let has_fractions = config.id.begin_string >= BeginString::Fix42;
    if keys.flag("MillisecondsInTimeStamp") == Some(false) {
        config.precision = Precision::Seconds;
    }
    for key in ["TimestampPrecision", "TimeStampPrecision"] {
        let Some(value) = keys.take(key) else { continue };
        let precision = match value.text.to_ascii_lowercase().as_str() {
            "0" | "seconds" => Precision::Seconds,
            "3" | "millis" | "milliseconds" => Precision::Millis,
            "6" | "micros" | "microseconds" => Precision::Micros,
            "9" | "nanos" | "nanoseconds" => Precision::Nanos,
            other => {
                let text = format!("{key}: '{other}' is not 0, 3, 6 or 9 digits");
                keys.fail(value.line, text);
                continue;
            }
        };
        if has_fractions {
            config.precision = precision;
        }
    }
}

fn read_default_version(keys: &mut Keys, config: &mut Config) {
    let is_fixt = config.id.begin_string == BeginString::Fixt11;
    match keys.take("DefaultApplVerID") {
        Some(value) => match ApplVersion::parse(value.text.as_bytes()) {
            // FIX Latest is 10 on the wire; its messages are those of FIX 5.0 SP2 with its
            // extensions.
            Some(_) if value.text == "10" => config.default_appl_ver_id = Some(value.text),
            Some(version) => config.default_appl_ver_id = Some(version.code().to_owned()),
            None => {
                let text = "is not a version; expected 2 to 9 or FIX.4.0 to FIX.5.0SP2";
                keys.fail(value.line, format!("DefaultApplVerID: '{}' {text}", value.text));
            }
        },
        None if is_fixt => {
            keys.fail(
                keys.line,
                "a FIXT.1.1 session needs DefaultApplVerID, such as FIX.5.0SP2".into(),
            );
        }
        None => {}
    }
}

fn read_dictionaries(keys: &mut Keys, config: &mut Config) -> DictionarySettings {
    let checks = &mut config.checks;
    keys.set_flag("ValidateFieldsOutOfOrder", &mut checks.fields_in_order);
    keys.set_flag("ValidateFieldsHaveValues", &mut checks.fields_have_values);
    keys.set_flag("ValidateUnorderedGroupFields", &mut checks.group_fields_in_order);
    checks.user_defined_fields = keys.flag("ValidateUserDefinedFields").unwrap_or(true);
    if keys.flag("AllowUnknownMsgFields") == Some(true) {
        checks.message_fields = false;
    }
    let switches = [keys.flag("UseDataDictionary"), keys.flag("ValidateIncomingMessage")];
    let is_used = !switches.contains(&Some(false));
    let mut application = Vec::new();
    if let Some(path) = keys.path(&["AppDataDictionary"]) {
        application.push((None, path));
    }
    let prefix = "appdatadictionary.";
    let names: Vec<String> =
        keys.values.keys().filter(|key| key.starts_with(prefix)).cloned().collect();
    for name in names {
        let Some(value) = keys.take(&name) else { continue };
        let text = name.get(prefix.len()..).unwrap_or_default().to_ascii_uppercase();
        match ApplVersion::parse(text.as_bytes()) {
            Some(version) => application.push((Some(version), PathBuf::from(value.text))),
            None => keys.fail(value.line, format!("AppDataDictionary.{text}: no such version")),
        }
    }
    let session = keys.path(&["TransportDataDictionary", "DataDictionary"]);
    DictionarySettings { is_used, session, application }
}

fn read_connection(keys: &mut Keys, role: SessionRole) -> ConnectionSettings {
    let range = "an address or range such as 192.0.2.0/24";
    let allowed = read_list(keys, "AllowedRemoteAddresses", range, is_range);
    let fingerprint = "the SHA-256 of a certificate (64 hexadecimal digits)";
    let certificates = read_list(keys, "AllowedClientCertificates", fingerprint, is_fingerprint);
    let is_template = [keys.flag("AcceptorTemplate"), keys.flag("DynamicSession")];
    let is_template = is_template.contains(&Some(true));
    let accept_address = keys.text("SocketAcceptAddress");
    let has_port = keys.has("SocketAcceptPort");
    let accept_port = keys.number("SocketAcceptPort", "a port from 0 to 65535");
    let reconnect_s = keys.number("ReconnectInterval", "a number of seconds").unwrap_or(30);
    let mut limits = AcceptorLimits::default();
    for (key, place) in limits.values_mut() {
        let line = keys.line_of(key);
        *place = keys.number(key, "a number");
        if *place == Some(0) && NEEDED.contains(&key) {
            keys.fail(line, format!("{key}: 0 would refuse every Logon"));
        }
    }
    let has_host = keys.values.keys().any(|key| key.starts_with("socketconnecthost"));
    let hosts = read_hosts(keys);
    match role {
        SessionRole::Acceptor => {
            if !has_port {
                keys.fail(keys.line, "an acceptor needs SocketAcceptPort".to_owned());
            }
            let port = accept_port.unwrap_or(0);
            ConnectionSettings::Acceptor {
                address: accept_address,
                port,
                allowed,
                certificates,
                limits,
                is_template,
            }
        }
        SessionRole::Initiator => {
            if !has_host {
                let text = "an initiator needs SocketConnectHost and SocketConnectPort";
                keys.fail(keys.line, text.to_owned());
            }
            ConnectionSettings::Initiator { hosts, reconnect_s }
        }
    }
}

/// Reads a comma-separated list, whose parts must be valid.
fn read_list(
    keys: &mut Keys,
    key: &str,
    what: &str,
    is_valid: impl Fn(&str) -> bool,
) -> Vec<String> {
    let Some(SettingValue { text, line }) = keys.take(key) else { return Vec::new() };
    let parts: Vec<String> = text.split(',').map(|part| part.trim().to_owned()).collect();
    for part in parts.iter().filter(|part| !is_valid(part)) {
        keys.fail(line, format!("{key}: '{part}' is not {what}"));
    }
    parts
}

/// True for an address, or a range with the number of its leading bits.
fn is_range(text: &str) -> bool {
    let (address, bits) = text.split_once('/').map_or((text, None), |(at, bits)| (at, Some(bits)));
    let Ok(address) = address.trim().parse::<IpAddr>() else { return false };
    let bits_max = if address.is_ipv4() { 32 } else { 128 };
    bits.is_none_or(|bits| bits.parse::<u8>().is_ok_and(|bits| bits <= bits_max))
}

/// True for 64 hexadecimal digits, with or without colons.
fn is_fingerprint(text: &str) -> bool {
    let digits = || text.bytes().filter(|byte| *byte != b':');
    digits().count() == 64 && digits().all(|digit| digit.is_ascii_hexdigit())
}

/// Reads `SocketConnectHost`, `SocketConnectHost1` and so on, each with its port.
fn read_hosts(keys: &mut Keys) -> Vec<(String, u16)> {
    let mut hosts = Vec::new();
    for number in 0..=99 {
        let suffix = if number == 0 { String::new() } else { number.to_string() };
        let host = keys.text(&format!("SocketConnectHost{suffix}"));
        let port_key = format!("SocketConnectPort{suffix}");
        let has_port = keys.has(&port_key);
        let port = keys.number(&port_key, "a port from 0 to 65535");
        match (host, port) {
            (Some(host), Some(port)) => hosts.push((host, port)),
            (None, None) => {}
            // The invalid port is already reported.
            (Some(_), None) if has_port => {}
            _ => {
                let text = format!("SocketConnectHost{suffix} and {port_key} belong together");
                keys.fail(keys.line, text);
            }
        }
    }
    hosts
}

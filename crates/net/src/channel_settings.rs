//! Converts a channel of a feed file to settings of handlers and sockets.

mod handling;

pub use handling::{KeyError, define, handler_options, heartbeat_of, key_tags, sequencing};

use std::error::Error;
use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use tickwire_feed::arbiter::{ArbiterOptions, Line, UnexpectedPolicy};
use tickwire_feed::framing::{Framing, FramingResetPolicy, Preset};
use tickwire_feed::handler::FeedLine;
use tickwire_feed::recovery::{BookKinds, Continuity, RecoveryOptions};
use tickwire_feed::replay::ReplayOptions;
use tickwire_feed_config::{
    Address, BookKind, BooksConfig, Continuity as ConfigContinuity, FeedConfig, HandlerConfig,
    InstrumentConfig, LinesConfig, ReplayConfig, SeqNumSource,
};

use crate::multicast::{Endpoint, UnknownInterface, interface_address};

/// Settings of one channel in a feed file. Absent values take the program's defaults; the flags of
/// a command override them.
#[derive(Clone, Debug)]
pub struct ChannelSettings {
    /// Name of the channel.
    pub name: String,
    /// Template files that form one set, at least one, relative to the working directory.
    pub templates: Vec<PathBuf>,
    /// Framing of the packets.
    pub framing: Option<Framing>,
    /// The preset that describes the framing, if any.
    pub preset: Option<Preset>,
    /// When dictionaries are reset, if it differs from the framing.
    pub reset: Option<FramingResetPolicy>,
    /// Position of sequence numbers; derived from framing and templates if absent.
    pub seq_num: Option<SeqNumSource>,
    /// Lines A and B of the incremental feed, then of snapshots, then of instrument definitions.
    pub inputs: Vec<(FeedLine, Endpoint)>,
    /// Lines that are capture files.
    pub captures: Vec<(FeedLine, PathBuf)>,
    /// The TCP replay service.
    pub replay: Option<ReplayConfig>,
    /// Instruments known beforehand.
    pub instruments: Vec<InstrumentConfig>,
    /// Kind, depth and keys of books.
    pub books: BooksConfig,
    /// Longest silence of a line that still counts as alive.
    pub heartbeat: Option<Duration>,
    /// Longest wait for a missing packet that only one line can deliver.
    pub single_line_hold: Option<Duration>,
    /// Silence after which books are stale.
    pub silence: Option<Duration>,
    settings: HandlerConfig,
}

/// Reason why a channel of a feed file cannot be used.
#[derive(Debug)]
pub enum ChannelError {
    /// The file has no channel of this name.
    Unknown {
        /// The requested name.
        name: String,
        /// Names of the file's channels.
        known: Vec<String>,
    },
    /// A line's interface does not exist on this host.
    Interface {
        /// Name of the channel.
        channel: String,
        /// The operating system's error.
        error: UnknownInterface,
    },
    /// The environment variable of the replay service's password is not set.
    NoPassword {
        /// Name of the channel.
        channel: String,
        /// Name of the variable.
        variable: String,
    },
    /// The channel names no template file.
    NoTemplates {
        /// Name of the channel.
        channel: String,
    },
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, known } => {
                write!(f, "no channel `{name}`; the file has {}", known.join(", "))
            }
            Self::Interface { channel, error } => write!(f, "channel {channel}: {error}"),
            Self::NoPassword { channel, variable } => {
                write!(f, "channel {channel}: no environment variable {variable} with a password")
            }
            Self::NoTemplates { channel } => write!(f, "channel {channel} names no template file"),
        }
    }
}

impl Error for ChannelError {}

/// Returns the settings of the channel `name` in `config`. Lines without an interface use loopback.
///
/// # Errors
/// [`ChannelError`] if there is no such channel, or an interface does not exist on this host.
pub fn channel_settings(config: &FeedConfig, name: &str) -> Result<ChannelSettings, ChannelError> {
    let channel = config.channel(name).ok_or_else(|| ChannelError::Unknown {
        name: name.to_owned(),
        known: config.channels.iter().map(|channel| channel.name.clone()).collect(),
    })?;
    let settings = config.settings(channel);
    let unknown_interface = |error| ChannelError::Interface { channel: name.to_owned(), error };
    let endpoint = |address: &Address| match address {
        Address::Capture(_) => Ok(None),
        Address::Group { group, port, source, interface } => {
            let interface = interface.as_deref().or(settings.interface.as_deref());
            let interface = interface.map_or(Ok(Ipv4Addr::LOCALHOST), interface_address);
            let interface = interface.map_err(unknown_interface)?;
            Ok(Some(Endpoint { group: *group, port: *port, interface, source: *source }))
        }
    };
    let mut inputs = Vec::new();
    let mut captures = Vec::new();
    for (source, address) in sources(&channel.lines, FeedLine::Incremental)
        .chain(sources(&channel.snapshots, FeedLine::Snapshot))
        .chain(sources(&channel.definitions, FeedLine::Definitions))
    {
        match address {
            Address::Capture(path) => captures.push((source, config.dir.join(path))),
            address => inputs.extend(endpoint(address)?.map(|endpoint| (source, endpoint))),
        }
    }
    let templates = config.templates(channel);
    if templates.is_empty() {
        return Err(ChannelError::NoTemplates { channel: name.to_owned() });
    }
    Ok(ChannelSettings {
        name: name.to_owned(),
        templates,
        framing: settings.framing.as_ref().map(|framing| *framing.framing()),
        preset: settings.framing.as_ref().and_then(|framing| Preset::named_in(framing.text())),
        reset: settings.reset,
        seq_num: settings.seq_num.clone(),
        inputs,
        captures,
        replay: channel.replay.clone(),
        instruments: channel.instruments.clone(),
        books: settings.books.clone(),
        heartbeat: settings.arbitration.heartbeat,
        single_line_hold: settings.arbitration.single_line_hold,
        silence: settings.recovery.silence,
        settings,
    })
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn sources(
    lines: &LinesConfig,
    source: impl Fn(Line) -> FeedLine,
) -> impl Iterator<Item = (FeedLine, &Address)> {
    [(source(Line::A), &lines.a), (source(Line::B), &lines.b)]
        .into_iter()
        .filter_map(|(source, address)| Some((source, address.as_ref()?)))
}

impl ChannelSettings {
    /// Returns login, limits and servers of the TCP replay service; `None` if the channel has none.
    ///
    /// # Errors
    /// [`ChannelError::NoPassword`] if the password is in an environment variable that is not set.
    pub fn replay_service(&self) -> Result<Option<(ReplayOptions, Vec<String>)>, ChannelError> {
        let Some(replay) = &self.replay else { return Ok(None) };
        let login = &replay.login;
        let password = match (&login.password, &login.password_env) {
            (Some(password), _) => password.clone(),
            (None, Some(variable)) => std::env::var(variable).map_err(|_| {
                ChannelError::NoPassword { channel: self.name.clone(), variable: variable.clone() }
            })?,
            (None, None) => String::new(),
        };
        let defaults = ReplayOptions::default();
        let options = ReplayOptions {
            username: login.user.clone().unwrap_or_default(),
            password,
            requests_max: replay.requests_max.unwrap_or(defaults.requests_max),
            messages_max: replay.messages_max.map_or(defaults.messages_max, u64::from),
            timeout_ns: replay.timeout.map_or(defaults.timeout_ns, nanoseconds),
            ..defaults
        };
        Ok(Some((options, replay.addresses.clone())))
    }

    /// Sets the file's values in `options`.
    pub fn apply_to_arbiter(&self, options: &mut ArbiterOptions) {
        let arbitration = &self.settings.arbitration;
        options.hold_ns = arbitration.hold.map_or(options.hold_ns, nanoseconds);
        options.packets_held_max =
            arbitration.held.map_or(options.packets_held_max, |held| held as usize);
        options.skew_ns = arbitration.skew.map_or(options.skew_ns, nanoseconds);
        options.silent_after_ns =
            arbitration.heartbeat.map_or(options.silent_after_ns, nanoseconds);
        options.reorder_ns = arbitration.single_line_hold.map_or(options.reorder_ns, nanoseconds);
        if arbitration.explicit_restarts == Some(true) {
            options.unexpected = UnexpectedPolicy::Drop;
        }
    }

    /// Sets the file's values in `options`.
    pub fn apply_to_recovery(&self, options: &mut RecoveryOptions) {
        let recovery = &self.settings.recovery;
        let count = |key: Option<u32>, default| key.map_or(default, |count| count as usize);
        options.updates_held_max = count(recovery.updates_held_max, options.updates_held_max);
        options.updates_held_total_max =
            count(recovery.updates_held_total_max, options.updates_held_total_max);
        options.instruments_max = count(self.books.instruments_max, options.instruments_max);
        options.checks = self.books.checks.unwrap_or(options.checks);
        if let Some(starts_empty) = self.books.starts_empty {
            options.starts_empty = starts_empty;
            options.carries_over = !starts_empty;
        }
        options.continuity = recovery.continuity.map_or(options.continuity, |by| match by {
            ConfigContinuity::MsgSeqNum => Continuity::SeqNum,
            ConfigContinuity::RptSeq => Continuity::RptSeq,
        });
        options.natural_refresh = recovery.natural_refresh.unwrap_or(options.natural_refresh);
        options.depth = self.books.depth.or(options.depth);
        let kinds = self.books.kinds.as_deref().unwrap_or_default();
        // Consolidated books need both kinds.
        if kinds.iter().any(|kind| *kind != BookKind::Outright) {
            options.kinds = BookKinds::OutrightAndImplied;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEED: &str = r#"
        templates = "t.xml"
        framing = "moex-spectra"
        interface = "lo"
        arbitration = { hold = "3ms", held = 7, skew = "5s", heartbeat = "45s" }
        recovery = { continuity = "msgseqnum" }
        books = { depth = 5 }
        [channels.x]
        arbitration = { hold = "4ms" }
        [channels.x.lines]
        a = { group = "233.252.0.1", port = 9001 }
        b = { group = "233.252.0.2", port = 9002, interface = "127.0.0.2" }
        [channels.x.snapshots]
        b = { capture = "b.dat" }
        a = { group = "233.252.0.3", port = 9003 }
        [channels.x.definitions]
        a = { group = "233.252.0.4", port = 9004 }
        [channels.y.lines]
        a = { group = "233.252.0.5", port = 9005, interface = "nothing0" }
    "#;

    #[test]
    fn a_channel_becomes_endpoints_and_options() {
        let mut config = FeedConfig::parse(FEED).unwrap();
        config.dir = "dir".into();
        let channel = channel_settings(&config, "x").unwrap();
        let inputs: Vec<String> = channel
            .inputs
            .iter()
            .map(|(source, endpoint)| format!("{source}: {endpoint}"))
            .collect();
        assert_eq!(
            inputs,
            [
                "line A: 233.252.0.1:9001 on 127.0.0.1",
                "line B: 233.252.0.2:9002 on 127.0.0.2",
                "snapshots A: 233.252.0.3:9003 on 127.0.0.1",
                "definitions A: 233.252.0.4:9004 on 127.0.0.1",
            ]
        );
        assert_eq!(channel.captures, [(FeedLine::Snapshot(Line::B), "dir/b.dat".into())]);
        assert_eq!(channel.templates, [PathBuf::from("dir/t.xml")]);
        let mut arbiter = ArbiterOptions::default();
        channel.apply_to_arbiter(&mut arbiter);
        assert_eq!((arbiter.hold_ns, arbiter.packets_held_max), (4_000_000, 7));
        assert_eq!((arbiter.skew_ns, arbiter.silent_after_ns), (5_000_000_000, 45_000_000_000));
        let mut recovery = RecoveryOptions::default();
        channel.apply_to_recovery(&mut recovery);
        assert_eq!((recovery.continuity, recovery.depth), (Continuity::SeqNum, Some(5)));
    }

    #[test]
    fn a_replay_service_has_login_limits_and_servers() {
        let service = |password: &str| {
            let text = format!(
                "{FEED}\n[channels.x.replay]\naddresses = [\"192.0.2.1:1\"]\nuser = \"u\"\n\
                 requests_max = 7\ntimeout = \"3s\"\n{password}"
            );
            let config = FeedConfig::parse(&text).unwrap();
            channel_settings(&config, "x").unwrap().replay_service()
        };
        let (options, servers) = service("password = \"p\"").unwrap().unwrap();
        assert_eq!((options.username.as_str(), options.password.as_str()), ("u", "p"));
        assert_eq!((options.requests_max, options.timeout_ns), (7, 3_000_000_000));
        assert_eq!(servers, ["192.0.2.1:1"]);
        let error = service("password_env = \"TICKWIRE_TEST_IS_NOT_SET\"").unwrap_err().to_string();
        assert!(error.contains("TICKWIRE_TEST_IS_NOT_SET"), "{error}");
    }

    #[test]
    fn unknown_channels_and_interfaces_are_errors() {
        let config = FeedConfig::parse(FEED).unwrap();
        let error = channel_settings(&config, "z").unwrap_err().to_string();
        assert_eq!(error, "no channel `z`; the file has x, y");
        let error = channel_settings(&config, "y").unwrap_err().to_string();
        assert!(error.starts_with("channel y: ") && error.contains("nothing0"), "{error}");
    }
}

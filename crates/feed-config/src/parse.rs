//! Parses TOML into the model.

use std::error::Error;
use std::fmt;
use std::io;
use std::io::Read as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use tickwire_feed::framing::{FramingResetPolicy, ParseFramingErrorKind, Preset};
use toml::de::DeTable;

use crate::check;
use crate::config::{
    Address, ArbitrationConfig, BookKind, BooksBy, BooksConfig, ChannelConfig, Continuity,
    FeedConfig, FramingText, HandlerConfig, InstrumentConfig, KeyField, LinesConfig, Login,
    RecoveryConfig, ReplayConfig, SeqNumSource,
};
use crate::error::ConfigErrors;
use crate::read::{ConfigFindings, ConfigTable, ConfigValue};
use crate::suggest::did_you_mean;

/// Longest feed file in bytes.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// Most channels of a file.
pub const CHANNELS_MAX: usize = 4096;
/// Most instruments that a file may define for a channel.
const INSTRUMENTS_MAX: usize = 65_536;
/// Most servers of a replay service.
const SERVERS_MAX: usize = 16;
/// Most template files of a channel.
const TEMPLATE_FILES_MAX: usize = 64;
/// Most fields of an instrument key.
pub const KEY_FIELDS_MAX: usize = 8;

/// Longest wait for a missing packet.
pub const HOLD_MAX: Duration = Duration::from_secs(10);
/// Furthest that one line may be behind the other.
pub const SKEW_MAX: Duration = Duration::from_secs(30);
/// Longest heartbeat interval and silence.
pub const SILENCE_MAX: Duration = Duration::from_secs(24 * 3600);
/// Most updates that can be held for stale books, for one book or for all together.
pub const UPDATES_HELD_LIMIT: u32 = 1 << 24;
/// Largest limit of a channel's instruments.
pub const INSTRUMENTS_LIMIT: u32 = 1 << 24;
const TIMEOUT_MAX: Duration = Duration::from_secs(600);
const HELD_MAX: u32 = 1 << 20;
const DEPTH_MAX: u32 = 10_000;

/// Keys of settings, allowed at the top of the file and in channels.
const SETTINGS: [&str; 8] =
    ["templates", "framing", "reset", "seq_num", "interface", "arbitration", "recovery", "books"];

/// Reason why a feed file cannot be used.
#[derive(Debug)]
pub enum LoadError {
    /// The file cannot be read.
    Read(io::Error),
    /// The file is longer than [`TEXT_BYTES_MAX`].
    TooLong,
    /// The file is not UTF-8.
    NotText,
    /// The file has errors.
    Config(ConfigErrors),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "cannot be read: {error}"),
            Self::TooLong => write!(f, "is longer than {TEXT_BYTES_MAX} bytes"),
            Self::NotText => f.write_str("is not UTF-8 text"),
            Self::Config(errors) => errors.fmt(f),
        }
    }
}

impl Error for LoadError {}

impl FeedConfig {
    /// Parses a feed file. Does not check that the files it names exist; [`load`](Self::load) does.
    ///
    /// # Errors
    /// All errors in the text, in the order of their positions.
    pub fn parse(text: &str) -> Result<Self, ConfigErrors> {
        Self::parse_where(text, |_| true)
    }

    /// Reads and parses a feed file, and checks that the files it names exist.
    ///
    /// # Errors
    /// [`LoadError`] if the file cannot be read, or all errors in it.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(LoadError::Read)?;
        let read = file.take(TEXT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
        read.map_err(LoadError::Read)?;
        if bytes.len() > TEXT_BYTES_MAX {
            return Err(LoadError::TooLong);
        }
        let text = String::from_utf8(bytes).map_err(|_| LoadError::NotText)?;
        let dir = path.parent().unwrap_or_else(|| Path::new(""));
        let exists = |named: &Path| dir.join(named).is_file();
        let config = Self::parse_where(&text, exists).map_err(LoadError::Config)?;
        Ok(Self { dir: dir.to_owned(), ..config })
    }

    fn parse_where(text: &str, exists: impl Fn(&Path) -> bool) -> Result<Self, ConfigErrors> {
        let mut findings = ConfigFindings::new(text);
        let (document, syntax_errors) = DeTable::parse_recoverable(text);
        for error in &syntax_errors {
            let offset = error.span().map_or(0, |span| span.start);
            findings.error(offset, error.message().trim_end().replace('\n', ", "));
        }
        let config = feed(&ConfigTable::root(document.get_ref()), &mut findings);
        // The recovered parts of a document with syntax errors would cause misleading errors.
        if syntax_errors.is_empty() {
            let mentions = |path: &str| findings.mentions(path);
            for (path, message) in check::problems(&config, exists, mentions) {
                findings.error_at(&path, message);
            }
        }
        match findings.into_errors() {
            errors if errors.is_empty() => Ok(config),
            errors => Err(ConfigErrors::new(errors)),
        }
    }
}

fn feed(root: &ConfigTable<'_, '_>, findings: &mut ConfigFindings<'_>) -> FeedConfig {
    let known: Vec<&str> = SETTINGS.into_iter().chain(["description", "channels"]).collect();
    root.refuse_unknown(&known, findings);
    let description = root.get("description", findings).and_then(|item| item.line(findings));
    let defaults = settings(root, findings);
    let channels = root.get("channels", findings).and_then(|item| item.table(findings));
    let channels = channels.map_or_else(Vec::new, |table| channels_of(&table, findings));
    FeedConfig { description, defaults, channels, dir: PathBuf::new() }
}

fn channels_of(
    table: &ConfigTable<'_, '_>,
    findings: &mut ConfigFindings<'_>,
) -> Vec<ChannelConfig> {
    let items = table.items(findings);
    if items.is_empty() {
        findings.error_at(&table.path, "the table has no channel".to_owned());
    }
    if let Some((_, offset, _)) = items.get(CHANNELS_MAX) {
        findings.error(*offset, format!("more than {CHANNELS_MAX} channels"));
    }
    let channel = |(name, offset, item): (String, usize, ConfigValue<'_, '_>)| {
        if !check::is_name(&name) {
            let message = format!(
                "channel name `{name}`: use only letters, digits, `-` and `_`, such as `fut-book-20`"
            );
            findings.error(offset, message);
        }
        Some(channel(name, &item.table(findings)?, findings))
    };
    items.into_iter().take(CHANNELS_MAX).filter_map(channel).collect()
}

fn channel(
    name: String,
    table: &ConfigTable<'_, '_>,
    findings: &mut ConfigFindings<'_>,
) -> ChannelConfig {
    let own = ["description", "lines", "snapshots", "definitions", "replay", "instruments"];
    let known: Vec<&str> = SETTINGS.into_iter().chain(own).collect();
    table.refuse_unknown(&known, findings);
    ChannelConfig {
        name,
        description: table.get("description", findings).and_then(|item| item.line(findings)),
        lines: lines(table, "lines", findings),
        snapshots: lines(table, "snapshots", findings),
        definitions: lines(table, "definitions", findings),
        replay: sub_table(table, "replay", findings).map(|table| replay(&table, findings)),
        instruments: instruments(table, findings),
        settings: settings(table, findings),
    }
}

fn sub_table<'d, 'i>(
    table: &ConfigTable<'d, 'i>,
    key: &str,
    findings: &mut ConfigFindings<'_>,
) -> Option<ConfigTable<'d, 'i>> {
    table.get(key, findings)?.table(findings)
}

fn lines(table: &ConfigTable<'_, '_>, key: &str, findings: &mut ConfigFindings<'_>) -> LinesConfig {
    let Some(table) = sub_table(table, key, findings) else { return LinesConfig::default() };
    table.refuse_unknown(&["a", "b"], findings);
    if !table.has("a") && !table.has("b") {
        findings.error_at(&table.path, format!("`{key}` has neither a line `a` nor `b`"));
    }
    let mut line = |key| address(&sub_table(&table, key, findings)?, findings);
    LinesConfig { a: line("a"), b: line("b") }
}

fn address(table: &ConfigTable<'_, '_>, findings: &mut ConfigFindings<'_>) -> Option<Address> {
    table.refuse_unknown(&["group", "port", "source", "interface", "capture"], findings);
    let capture = table.get("capture", findings);
    let ip = |key, findings: &mut ConfigFindings<'_>| -> Option<Ipv4Addr> {
        table.get(key, findings)?.parsed("an IPv4 address", findings)
    };
    let source = ip("source", findings);
    let interface = table.get("interface", findings).and_then(|item| item.line(findings));
    if let Some(item) = capture {
        if ["group", "port", "source", "interface"].iter().any(|key| table.has(key)) {
            findings.error(item.offset, "a line is a capture or a group, not both".to_owned());
        }
        return Some(Address::Capture(item.line(findings)?.into()));
    }
    for key in ["group", "port"].into_iter().filter(|key| !table.has(key)) {
        findings.error_at(&table.path, format!("the line has no `{key}`"));
    }
    let group = ip("group", findings);
    let port = table.get("port", findings).and_then(|item| item.number(1..=u16::MAX, findings));
    Some(Address::Group { group: group?, port: port?, source, interface })
}

fn replay(table: &ConfigTable<'_, '_>, findings: &mut ConfigFindings<'_>) -> ReplayConfig {
    let known = [
        "addresses",
        "user",
        "password",
        "password_env",
        "requests_max",
        "messages_max",
        "timeout",
    ];
    table.refuse_unknown(&known, findings);
    let addresses = table.get("addresses", findings);
    if addresses.is_none() {
        let message = "the replay service has no `addresses`".to_owned();
        findings.error_at(&table.path, message);
    }
    let addresses = addresses.and_then(|item| item.elements(SERVERS_MAX, findings));
    if addresses.as_ref().is_some_and(Vec::is_empty) {
        findings.error_at(&format!("{}.addresses", table.path), "no address is named".to_owned());
    }
    let server = |item: ConfigValue<'_, '_>| {
        let address = item.line(findings)?;
        if check::is_server(&address) {
            return Some(address);
        }
        findings.error(item.offset, format!("`{address}` is not HOST:PORT"));
        None
    };
    let addresses = addresses.into_iter().flatten().filter_map(server).collect();
    let mut line = |key| table.get(key, findings).and_then(|item| item.line(findings));
    let login = Login {
        user: line("user"),
        password: line("password"),
        password_env: line("password_env"),
    };
    let mut count =
        |key, max| table.get(key, findings).and_then(|item| item.number(1..=max, findings));
    let (requests_max, messages_max) =
        (count("requests_max", u32::MAX), count("messages_max", u32::MAX));
    let timeout = duration(table, "timeout", Duration::from_millis(1), TIMEOUT_MAX, findings);
    ReplayConfig { addresses, login, requests_max, messages_max, timeout }
}

fn instruments(
    table: &ConfigTable<'_, '_>,
    findings: &mut ConfigFindings<'_>,
) -> Vec<InstrumentConfig> {
    let items = table.get("instruments", findings);
    let items = items.and_then(|item| item.elements(INSTRUMENTS_MAX, findings));
    let instrument = |item: ConfigValue<'_, '_>| {
        let table = item.table(findings)?;
        table.refuse_unknown(&["id", "symbol", "tick"], findings);
        let id = table.get("id", findings);
        if id.is_none() {
            findings.error(item.offset, "the instrument has no `id`".to_owned());
        }
        let mut line = |key| table.get(key, findings).and_then(|item| item.line(findings));
        let (symbol, tick) = (line("symbol"), line("tick"));
        if let Some(tick) = tick.as_ref().filter(|tick| !check::is_decimal(tick)) {
            let place = format!("{}.tick", table.path);
            findings.error_at(&place, format!("`{tick}` is not a plain decimal such as 0.25"));
        }
        let id = id?;
        let id = match id.is_number() {
            true => id.number(0..=u64::MAX, findings)?.to_string(),
            false => id.line(findings)?,
        };
        Some(InstrumentConfig { id, symbol, tick })
    };
    items.into_iter().flatten().filter_map(instrument).collect()
}

fn settings(table: &ConfigTable<'_, '_>, findings: &mut ConfigFindings<'_>) -> HandlerConfig {
    let templates = table.get("templates", findings);
    let reset = table.get("reset", findings);
    let seq_num = table.get("seq_num", findings);
    HandlerConfig {
        templates: templates.map_or_else(Vec::new, |item| template_files(&item, findings)),
        framing: table.get("framing", findings).and_then(|item| framing(&item, findings)),
        reset: reset.and_then(|item| {
            item.word(&FramingResetPolicy::ALL, FramingResetPolicy::name, findings)
        }),
        seq_num: seq_num.and_then(|item| seq_num_source(&item, findings)),
        interface: table.get("interface", findings).and_then(|item| item.line(findings)),
        arbitration: sub_table(table, "arbitration", findings)
            .map_or_else(ArbitrationConfig::default, |table| arbitration(&table, findings)),
        recovery: sub_table(table, "recovery", findings)
            .map_or_else(RecoveryConfig::default, |table| recovery(&table, findings)),
        books: sub_table(table, "books", findings)
            .map_or_else(BooksConfig::default, |table| books(&table, findings)),
    }
}

/// Reads one file, or an array of files that form one set.
fn template_files(item: &ConfigValue<'_, '_>, findings: &mut ConfigFindings<'_>) -> Vec<PathBuf> {
    let items = match item.is_array() {
        true => item.elements(TEMPLATE_FILES_MAX, findings).unwrap_or_default(),
        false => return item.line(findings).map(PathBuf::from).into_iter().collect(),
    };
    if items.is_empty() {
        findings.error(item.offset, "the array of template files is empty".to_owned());
    }
    items.iter().filter_map(|item| item.line(findings)).map(PathBuf::from).collect()
}

fn framing(item: &ConfigValue<'_, '_>, findings: &mut ConfigFindings<'_>) -> Option<FramingText> {
    let text = item.text(findings)?;
    FramingText::from_str(text)
        .map_err(|error| {
            let presets = Preset::ALL.iter().flat_map(|preset| {
                std::iter::once(preset.name()).chain(preset.aliases().iter().copied())
            });
            let hint = match error.kind {
                ParseFramingErrorKind::Preset => did_you_mean(&error.item, presets),
                _ => String::new(),
            };
            findings.error(item.offset, format!("{error}{hint}"));
        })
        .ok()
}

fn seq_num_source(
    item: &ConfigValue<'_, '_>,
    findings: &mut ConfigFindings<'_>,
) -> Option<SeqNumSource> {
    if item.is_number() {
        let tag = item.number(1..=u32::MAX, findings)?;
        return Some(SeqNumSource::Field(tag.to_string()));
    }
    Some(match item.line(findings)?.as_str() {
        "none" => SeqNumSource::None,
        "preamble" => SeqNumSource::Preamble,
        name => SeqNumSource::Field(name.to_owned()),
    })
}

fn duration(
    table: &ConfigTable<'_, '_>,
    key: &str,
    min: Duration,
    max: Duration,
    findings: &mut ConfigFindings<'_>,
) -> Option<Duration> {
    table.get(key, findings)?.duration(min..=max, findings)
}

fn arbitration(
    table: &ConfigTable<'_, '_>,
    findings: &mut ConfigFindings<'_>,
) -> ArbitrationConfig {
    let known = ["hold", "skew", "heartbeat", "held", "single_line_hold", "explicit_restarts"];
    table.refuse_unknown(&known, findings);
    let held = table.get("held", findings);
    let explicit_restarts = table.get("explicit_restarts", findings);
    ArbitrationConfig {
        hold: duration(table, "hold", Duration::ZERO, HOLD_MAX, findings),
        skew: duration(table, "skew", Duration::ZERO, SKEW_MAX, findings),
        heartbeat: duration(table, "heartbeat", Duration::from_millis(1), SILENCE_MAX, findings),
        held: held.and_then(|item| item.number(0..=HELD_MAX, findings)),
        single_line_hold: duration(table, "single_line_hold", Duration::ZERO, HOLD_MAX, findings),
        explicit_restarts: explicit_restarts.and_then(|item| item.boolean(findings)),
    }
}

fn recovery(table: &ConfigTable<'_, '_>, findings: &mut ConfigFindings<'_>) -> RecoveryConfig {
    let known =
        ["continuity", "natural_refresh", "silence", "updates_held_max", "updates_held_total_max"];
    table.refuse_unknown(&known, findings);
    let mut held = |key| {
        table.get(key, findings).and_then(|item| item.number(1..=UPDATES_HELD_LIMIT, findings))
    };
    let (updates_held_max, updates_held_total_max) =
        (held("updates_held_max"), held("updates_held_total_max"));
    let continuity = table.get("continuity", findings);
    let natural_refresh = table.get("natural_refresh", findings);
    RecoveryConfig {
        continuity: continuity
            .and_then(|item| item.word(Continuity::ALL, Continuity::name, findings)),
        natural_refresh: natural_refresh.and_then(|item| item.boolean(findings)),
        silence: duration(table, "silence", Duration::from_millis(1), SILENCE_MAX, findings),
        updates_held_max,
        updates_held_total_max,
    }
}

fn books(table: &ConfigTable<'_, '_>, findings: &mut ConfigFindings<'_>) -> BooksConfig {
    let known = ["by", "depth", "kinds", "key", "checks", "starts_empty", "instruments_max"];
    table.refuse_unknown(&known, findings);
    let instruments_max = table.get("instruments_max", findings);
    let mut boolean = |key| table.get(key, findings).and_then(|item| item.boolean(findings));
    let (checks, starts_empty) = (boolean("checks"), boolean("starts_empty"));
    let by = table.get("by", findings);
    let depth = table.get("depth", findings);
    let kinds = table.get("kinds", findings);
    let kinds = kinds.and_then(|item| item.elements(BookKind::ALL.len(), findings));
    let key = table.get("key", findings);
    let key = key.and_then(|item| item.elements(KEY_FIELDS_MAX, findings));
    BooksConfig {
        by: by.and_then(|item| item.word(BooksBy::ALL, BooksBy::name, findings)),
        depth: depth.and_then(|item| item.number(1..=DEPTH_MAX, findings)),
        kinds: kinds.map(|items| {
            let kind =
                |item: &ConfigValue<'_, '_>| item.word(BookKind::ALL, BookKind::name, findings);
            items.iter().filter_map(kind).collect()
        }),
        key: key.map(|items| items.iter().filter_map(|item| key_field(item, findings)).collect()),
        checks,
        starts_empty,
        instruments_max: instruments_max
            .and_then(|item| item.number(1..=INSTRUMENTS_LIMIT, findings)),
    }
}

fn key_field(item: &ConfigValue<'_, '_>, findings: &mut ConfigFindings<'_>) -> Option<KeyField> {
    match item.is_number() {
        true => item.number(1..=u32::MAX, findings).map(KeyField::Tag),
        false => item.line(findings).map(KeyField::Name),
    }
}

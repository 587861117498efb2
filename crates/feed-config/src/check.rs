//! Checks that involve several values of a feed.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::path::Path;

use crate::config::{
    Address, BookKind, BooksBy, ChannelConfig, FeedConfig, HandlerConfig, KeyField, SeqNumSource,
};

/// A problem: the path of the value to report, and a message.
type ConfigProblem = (String, String);

/// Returns true if a word is a valid channel name.
pub(crate) fn is_name(word: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !word.is_empty() && word.len() <= 64 && word.chars().all(is_allowed)
}

/// Returns true if a text is `HOST:PORT`.
pub(crate) fn is_server(text: &str) -> bool {
    let parts = text.rsplit_once(':');
    parts.is_some_and(|(host, port)| {
        !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

/// Returns true if a text is a plain decimal above 0.
pub(crate) fn is_decimal(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    is_digits(whole) && is_digits(fraction) && text.bytes().any(|b| (b'1'..=b'9').contains(&b))
}

/// Returns all contradictions. `exists` tells whether a file exists. `mentions` tells whether the
/// text has a value at a path; if the model lacks that value, it was already reported as an error.
pub(crate) fn problems(
    config: &FeedConfig,
    exists: impl Fn(&Path) -> bool,
    mentions: impl Fn(&str) -> bool,
) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    if config.channels.is_empty() && !mentions("channels") {
        problems.push((
            "channels".to_owned(),
            "the file has no channel: add a table such as [channels.futures.lines]".to_owned(),
        ));
    }
    let missing =
        |path: &str, file: &Path| (path.to_owned(), format!("there is no file {}", file.display()));
    let missing_templates = |path: &str, settings: &HandlerConfig| -> Vec<ConfigProblem> {
        let files = settings.templates.iter().filter(|file| !exists(file));
        files.map(|file| missing(path, file)).collect()
    };
    problems.extend(missing_templates("templates", &config.defaults));
    for channel in &config.channels {
        let path = format!("channels.{}", channel.name);
        let settings = config.settings(channel);
        let names_templates = mentions("templates") || mentions(&format!("{path}.templates"));
        if settings.templates.is_empty() && !names_templates {
            let message = "neither the channel nor the feed has `templates`".to_owned();
            problems.push((path.clone(), message));
        }
        problems.extend(missing_templates(&format!("{path}.templates"), &channel.settings));
        for (place, address) in addresses(channel) {
            if let Address::Capture(file) = address
                && !exists(file)
            {
                problems.push(missing(&format!("{path}.{place}.capture"), file));
            }
        }
        line_problems(&path, channel, &mentions, &mut problems);
        settings_problems(&path, channel, &settings, &mut problems);
        replay_problems(&path, channel, &mut problems);
    }
    shared_addresses(config, &mut problems);
    problems
}

/// Returns the lines of a channel, with their paths relative to the channel's.
fn addresses(channel: &ChannelConfig) -> impl Iterator<Item = (&'static str, &Address)> {
    [
        ("lines.a", &channel.lines.a),
        ("lines.b", &channel.lines.b),
        ("snapshots.a", &channel.snapshots.a),
        ("snapshots.b", &channel.snapshots.b),
        ("definitions.a", &channel.definitions.a),
        ("definitions.b", &channel.definitions.b),
    ]
    .into_iter()
    .filter_map(|(place, address)| Some((place, address.as_ref()?)))
}

fn line_problems(
    path: &str,
    channel: &ChannelConfig,
    mentions: impl Fn(&str) -> bool,
    problems: &mut Vec<ConfigProblem>,
) {
    let has_none = channel.lines.a.is_none() && channel.lines.b.is_none();
    if has_none && !["", ".a", ".b"].iter().any(|line| mentions(&format!("{path}.lines{line}"))) {
        let message = "the channel has no lines: add a table such as [channels.NAME.lines]";
        problems.push((path.to_owned(), message.to_owned()));
    }
    for (name, lines) in [
        ("lines", &channel.lines),
        ("snapshots", &channel.snapshots),
        ("definitions", &channel.definitions),
    ] {
        if lines.a.is_none() && lines.b.is_some() && !mentions(&format!("{path}.{name}.a")) {
            problems.push((format!("{path}.{name}.b"), "line B without a line A".to_owned()));
        }
    }
    for (place, address) in addresses(channel) {
        let Address::Group { group, source, .. } = address else { continue };
        let is_usable = |ip: Ipv4Addr| !ip.is_unspecified() && !ip.is_broadcast();
        if !is_usable(*group) {
            let message = format!("{group} is neither a multicast group nor a host");
            problems.push((format!("{path}.{place}.group"), message));
        }
        let Some(source) = source else { continue };
        let source_path = format!("{path}.{place}.source");
        if !is_usable(*source) || source.is_multicast() {
            problems.push((source_path, format!("{source} is not the address of a sender")));
        } else if !group.is_multicast() {
            let message = format!("{group} is not a multicast group, so it cannot have a source");
            problems.push((source_path, message));
        }
    }
}

fn settings_problems(
    path: &str,
    channel: &ChannelConfig,
    settings: &HandlerConfig,
    problems: &mut Vec<ConfigProblem>,
) {
    let mut problem = |key: &str, message: &str| {
        problems.push((format!("{path}.{key}"), message.to_owned()));
    };
    let has_preamble_number = settings
        .framing
        .as_ref()
        .is_some_and(|framing| framing.framing().seq_num_field().is_some());
    match settings.seq_num {
        Some(SeqNumSource::Preamble) if !has_preamble_number => problem(
            "seq_num",
            "the framing has no sequence number in its preamble: choose another framing, or name \
             the field",
        ),
        Some(SeqNumSource::None) if channel.lines.b.is_some() => {
            problem("seq_num", "lines A and B cannot be arbitrated without sequence numbers")
        }
        _ => {}
    }
    let arbitration = &settings.arbitration;
    if let (Some(hold), Some(skew)) = (arbitration.hold, arbitration.skew)
        && skew < hold
    {
        problem("arbitration.skew", "`skew` is below `hold`");
    }
    if let (Some(heartbeat), Some(silence)) = (arbitration.heartbeat, settings.recovery.silence)
        && silence < heartbeat
    {
        problem("recovery.silence", "`silence` is below `heartbeat`: books would always be stale");
    }
    let books = &settings.books;
    if books.by == Some(BooksBy::None) && channel.settings.books.depth.is_some() {
        problem("books.depth", "the channel has no books");
    }
    let mut kinds: Vec<BookKind> = Vec::new();
    for kind in books.kinds.iter().flatten() {
        match kinds.contains(kind) {
            true => problem("books.kinds", &format!("`{}` occurs twice", kind.name())),
            false => kinds.push(*kind),
        }
    }
    if books.kinds.as_ref().is_some_and(Vec::is_empty) {
        problem("books.kinds", "no kind is named: use by = \"none\" for no books");
    }
    let key = books.key.as_deref();
    if key.is_some_and(<[KeyField]>::is_empty) {
        problem("books.key", "an instrument key has at least one field, such as 48");
    }
    let key = key.unwrap_or_default();
    if key.iter().enumerate().any(|(index, field)| key[..index].contains(field)) {
        problem("books.key", "a field occurs twice");
    }
    let mut ids: HashMap<&str, ()> = HashMap::new();
    for instrument in &channel.instruments {
        if ids.insert(&instrument.id, ()).is_some() {
            problem("instruments", &format!("instrument {} occurs twice", instrument.id));
        }
    }
}

fn replay_problems(path: &str, channel: &ChannelConfig, problems: &mut Vec<ConfigProblem>) {
    let Some(replay) = &channel.replay else { return };
    let login = &replay.login;
    if login.password.is_some() && login.password_env.is_some() {
        let message = "`password` and `password_env`: give one of them".to_owned();
        problems.push((format!("{path}.replay.password_env"), message));
    }
    let has_password = login.password.is_some() || login.password_env.is_some();
    if has_password && login.user.is_none() {
        problems.push((format!("{path}.replay"), "a password without a `user`".to_owned()));
    }
}

/// Reports lines that would receive each other's packets. Channels may share a definition feed.
fn shared_addresses(config: &FeedConfig, problems: &mut Vec<ConfigProblem>) {
    let mut seen: HashMap<(Ipv4Addr, u16), (String, bool)> = HashMap::new();
    for channel in &config.channels {
        for (place, address) in addresses(channel) {
            let Address::Group { group, port, .. } = address else { continue };
            let is_definitions = place.starts_with("definitions");
            let name = format!("{}.{place}", channel.name);
            match seen.get(&(*group, *port)) {
                Some((other, other_is_definitions)) => {
                    let is_other_channel = !other.starts_with(&format!("{}.", channel.name));
                    if !(is_definitions && *other_is_definitions && is_other_channel) {
                        let message = format!("{group}:{port} is already the address of {other}");
                        problems.push((format!("channels.{name}"), message));
                    }
                }
                None => {
                    seen.insert((*group, *port), (name, is_definitions));
                }
            }
        }
    }
}

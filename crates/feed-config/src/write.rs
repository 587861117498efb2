//! Writes the model as readable TOML.

use std::fmt::Display;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use toml::Value;

use crate::config::{
    Address, ChannelConfig, FeedConfig, HandlerConfig, InstrumentConfig, KeyField, LinesConfig,
    ReplayConfig, SeqNumSource,
};

impl FeedConfig {
    /// Writes the feed as TOML that [`parse`](Self::parse) reads back.
    pub fn to_toml(&self) -> String {
        let mut document = Document::default();
        document.text("description", self.description.as_deref());
        document.settings("", &self.defaults);
        for channel in &self.channels {
            document.channel(channel);
        }
        document.text
    }
}

/// Returns a string in quotes.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

fn path_text(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

#[derive(Default)]
struct Document {
    text: String,
}

impl Document {
    fn heading(&mut self, path: &str) {
        let separator = if self.text.is_empty() { "" } else { "\n" };
        let _ = writeln!(self.text, "{separator}[{path}]");
    }

    fn raw(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            let _ = writeln!(self.text, "{key} = {value}");
        }
    }

    fn text(&mut self, key: &str, value: Option<&str>) {
        self.raw(key, value.map(quoted));
    }

    fn duration(&mut self, key: &str, value: Option<Duration>) {
        let text = value.map(|value| humantime::format_duration(value).to_string());
        self.text(key, text.as_deref());
    }

    /// Writes a table whose keys `fill` writes; omits the heading if there are none.
    fn table(&mut self, path: &str, fill: impl FnOnce(&mut Self)) {
        let mut body = Self::default();
        fill(&mut body);
        if !body.text.is_empty() {
            self.heading(path);
            self.text.push_str(&body.text);
        }
    }

    fn settings_keys(&mut self, settings: &HandlerConfig) {
        self.raw(
            "templates",
            match &settings.templates[..] {
                [] => None,
                [path] => Some(path_text(path)),
                paths => Some(array(paths, |path| path_text(path))),
            },
        );
        self.text("framing", settings.framing.as_ref().map(|framing| framing.text()));
        self.text("reset", settings.reset.map(|reset| reset.name()));
        match &settings.seq_num {
            Some(SeqNumSource::Field(field)) => match field.parse::<u32>() {
                Ok(tag) => self.raw("seq_num", Some(tag)),
                Err(_) => self.text("seq_num", Some(field)),
            },
            Some(SeqNumSource::None) => self.text("seq_num", Some("none")),
            Some(SeqNumSource::Preamble) => self.text("seq_num", Some("preamble")),
            None => {}
        }
        self.text("interface", settings.interface.as_deref());
    }

    /// Writes settings with their tables; `prefix` is empty or ends with a dot.
    fn settings(&mut self, prefix: &str, settings: &HandlerConfig) {
        self.settings_keys(settings);
        let arbitration = &settings.arbitration;
        self.table(&format!("{prefix}arbitration"), |table| {
            table.duration("hold", arbitration.hold);
            table.duration("skew", arbitration.skew);
            table.duration("heartbeat", arbitration.heartbeat);
            table.raw("held", arbitration.held);
            table.duration("single_line_hold", arbitration.single_line_hold);
            table.raw("explicit_restarts", arbitration.explicit_restarts);
        });
        let recovery = &settings.recovery;
        self.table(&format!("{prefix}recovery"), |table| {
            table.text("continuity", recovery.continuity.map(|continuity| continuity.name()));
            table.raw("natural_refresh", recovery.natural_refresh);
            table.duration("silence", recovery.silence);
            table.raw("updates_held_max", recovery.updates_held_max);
            table.raw("updates_held_total_max", recovery.updates_held_total_max);
        });
        let books = &settings.books;
        self.table(&format!("{prefix}books"), |table| {
            table.text("by", books.by.map(|by| by.name()));
            table.raw("depth", books.depth);
            let kinds = books.kinds.as_deref();
            table.raw("kinds", kinds.map(|kinds| array(kinds, |kind| quoted(kind.name()))));
            table.raw("key", books.key.as_deref().map(|key| array(key, key_field)));
            table.raw("checks", books.checks);
            table.raw("starts_empty", books.starts_empty);
            table.raw("instruments_max", books.instruments_max);
        });
    }

    fn channel(&mut self, channel: &ChannelConfig) {
        let path = format!("channels.{}", channel.name);
        self.heading(&path);
        self.text("description", channel.description.as_deref());
        self.settings(&format!("{path}."), &channel.settings);
        self.lines(&format!("{path}.lines"), &channel.lines);
        self.lines(&format!("{path}.snapshots"), &channel.snapshots);
        self.lines(&format!("{path}.definitions"), &channel.definitions);
        if let Some(replay) = &channel.replay {
            self.replay(&format!("{path}.replay"), replay);
        }
        for instrument in &channel.instruments {
            self.instrument(&format!("{path}.instruments"), instrument);
        }
    }

    fn lines(&mut self, path: &str, lines: &LinesConfig) {
        self.table(path, |table| {
            table.raw("a", lines.a.as_ref().map(address));
            table.raw("b", lines.b.as_ref().map(address));
        });
    }

    fn replay(&mut self, path: &str, replay: &ReplayConfig) {
        self.heading(path);
        self.raw("addresses", Some(array(&replay.addresses, |address| quoted(address))));
        self.text("user", replay.login.user.as_deref());
        self.text("password", replay.login.password.as_deref());
        self.text("password_env", replay.login.password_env.as_deref());
        self.raw("requests_max", replay.requests_max);
        self.raw("messages_max", replay.messages_max);
        self.duration("timeout", replay.timeout);
    }

    fn instrument(&mut self, path: &str, instrument: &InstrumentConfig) {
        let _ = writeln!(self.text, "\n[[{path}]]");
        self.text("id", Some(&instrument.id));
        self.text("symbol", instrument.symbol.as_deref());
        self.text("tick", instrument.tick.as_deref());
    }
}

fn array<T>(elements: &[T], element: impl Fn(&T) -> String) -> String {
    let elements: Vec<String> = elements.iter().map(element).collect();
    format!("[{}]", elements.join(", "))
}

fn key_field(field: &KeyField) -> String {
    match field {
        KeyField::Name(name) => quoted(name),
        KeyField::Tag(tag) => tag.to_string(),
    }
}

fn address(address: &Address) -> String {
    match address {
        Address::Capture(path) => format!("{{ capture = {} }}", path_text(path)),
        Address::Group { group, port, source, interface } => {
            let mut text = format!("{{ group = \"{group}\", port = {port}");
            if let Some(source) = source {
                let _ = write!(text, ", source = \"{source}\"");
            }
            if let Some(interface) = interface {
                let _ = write!(text, ", interface = {}", quoted(interface));
            }
            text + " }"
        }
    }
}

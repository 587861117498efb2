//! A feed file as tables.

use crate::files;
use crate::table::{Align, TextTable};
use std::io::{self, Write};
use std::time::Duration;
use tickwire_feed_config::{Address, ChannelConfig, FeedConfig, KeyField, SeqNumSource};

pub(super) fn write(config: &FeedConfig, out: &mut impl Write) -> io::Result<()> {
    if let Some(description) = &config.description {
        writeln!(out, "{description}\n")?;
    }
    write!(out, "{}", addresses(config))?;
    writeln!(out)?;
    write!(out, "{}", settings(config))
}

fn addresses(config: &FeedConfig) -> TextTable {
    let left = Align::Left;
    let mut table = TextTable::new(&[
        ("channel", left),
        ("feed", left),
        ("line", left),
        ("address", left),
        ("source", left),
        ("interface", left),
    ]);
    for channel in &config.channels {
        let mut name = channel.name.clone();
        let mut row = |feed: &str, line: &str, address: String, source: String, on: String| {
            let cells =
                [std::mem::take(&mut name), feed.to_owned(), line.to_owned(), address, source, on];
            table.row(cells.to_vec());
        };
        let default = config.settings(channel).interface;
        for (feed, line, address) in lines(channel) {
            match address {
                Address::Capture(path) => {
                    row(feed, line, path.display().to_string(), String::new(), String::new());
                }
                Address::Group { group, port, source, interface } => {
                    let source = source.map_or_else(String::new, |source| source.to_string());
                    let on = interface.clone().or_else(|| default.clone());
                    let on = on.unwrap_or_else(|| "127.0.0.1".to_owned());
                    row(feed, line, format!("{group}:{port}"), source, on);
                }
            }
        }
        for server in channel.replay.iter().flat_map(|replay| &replay.addresses) {
            row("replay", "TCP", server.clone(), String::new(), String::new());
        }
    }
    table
}

fn lines(channel: &ChannelConfig) -> impl Iterator<Item = (&'static str, &'static str, &Address)> {
    [
        ("incremental", "A", &channel.lines.a),
        ("incremental", "B", &channel.lines.b),
        ("snapshots", "A", &channel.snapshots.a),
        ("snapshots", "B", &channel.snapshots.b),
        ("definitions", "A", &channel.definitions.a),
        ("definitions", "B", &channel.definitions.b),
    ]
    .into_iter()
    .filter_map(|(feed, line, address)| Some((feed, line, address.as_ref()?)))
}

fn settings(config: &FeedConfig) -> TextTable {
    let (left, right) = (Align::Left, Align::Right);
    let mut table = TextTable::new(&[
        ("channel", left),
        ("templates", left),
        ("framing", left),
        ("numbers", left),
        ("hold", right),
        ("books", left),
        ("depth", right),
        ("key", left),
        ("description", left),
    ]);
    for channel in &config.channels {
        let settings = config.settings(channel);
        let duration = |duration: Duration| format!("{duration:?}");
        let framing =
            settings.framing.map_or_else(String::new, |framing| framing.text().to_owned());
        let reset = settings.reset.map_or_else(String::new, |reset| format!(",reset={reset}"));
        let key = settings.books.key.unwrap_or_default();
        let key: Vec<String> = key.into_iter().map(key_field).collect();
        table.row(vec![
            channel.name.clone(),
            files::names_of(&settings.templates),
            framing + &reset,
            settings.seq_num.map_or_else(String::new, seq_num),
            settings.arbitration.hold.map_or_else(String::new, duration),
            settings.books.by.map_or("", |by| by.name()).to_owned(),
            settings.books.depth.map_or_else(String::new, |depth| depth.to_string()),
            key.join(" "),
            channel.description.clone().unwrap_or_default(),
        ]);
    }
    table
}

fn seq_num(source: SeqNumSource) -> String {
    match source {
        SeqNumSource::Field(field) => field,
        SeqNumSource::None => "none".to_owned(),
        SeqNumSource::Preamble => "preamble".to_owned(),
    }
}

fn key_field(field: KeyField) -> String {
    match field {
        KeyField::Name(name) => name,
        KeyField::Tag(tag) => tag.to_string(),
    }
}

//! Creates feed files from the configuration XML of exchanges.
//!
//! [`import`] recognises the format by the root element and its children:
//!
//! | root | children | format | channels |
//! |---|---|---|---|
//! | `configuration` | `MarketDataGroup` | [`ImportFormat::MoexSpectra`] | one for each group |
//! | `configuration` | `channel` with one-letter feed types | [`ImportFormat::Cme`] | one for each channel |
//! | `configuration` | `channel` with feed types such as `OLR` | [`ImportFormat::MoexAsts`] | one for each pair of incremental and snapshot feeds |
//! | `config` | `feeds` | [`ImportFormat::Libtrading`] | one, of captures or groups |
//!
//! None of these files names templates: the caller passes their path.

mod cme;
mod connection;
mod libtrading;
mod moex_asts;
mod moex_spectra;
mod xml;

use std::fmt;
use std::path::Path;

use crate::check;
use crate::config::{ChannelConfig, FeedConfig, FramingText, HandlerConfig};
use crate::error::{ConfigError, ConfigErrors};
use xml::Xml;

/// Longest XML file in bytes.
pub const XML_BYTES_MAX: usize = 16 << 20;

/// Source of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// CME's `config.xml`.
    Cme,
    /// The configuration of libtrading's FAST reader.
    Libtrading,
    /// Moscow Exchange, ASTS: equities and currencies.
    MoexAsts,
    /// Moscow Exchange, SPECTRA (FORTS): derivatives.
    MoexSpectra,
}

impl fmt::Display for ImportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cme => "CME configuration",
            Self::Libtrading => "configuration of libtrading's FAST reader",
            Self::MoexAsts => "MOEX ASTS configuration",
            Self::MoexSpectra => "MOEX SPECTRA (FORTS) configuration",
        })
    }
}

/// A feed, with remarks about its import.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The feed.
    pub config: FeedConfig,
    /// Source of the file.
    pub format: ImportFormat,
    /// Parts of the file that were left out, or that must be added; one sentence each.
    pub notes: Vec<String>,
}

/// Channels and remarks that the reader of a format creates.
#[derive(Debug, Default)]
struct ImportDraft {
    channels: Vec<ChannelConfig>,
    notes: Vec<String>,
}

/// Creates a feed from an exchange's configuration XML. `templates` is the path that the feed file
/// will name.
///
/// # Errors
/// All errors of the file, with their positions: malformed XML, an unknown format, invalid
/// addresses and ports, contradictions.
pub fn import(text: &str, templates: &Path) -> Result<Imported, ConfigErrors> {
    if text.len() > XML_BYTES_MAX {
        let message = format!("the file is longer than {XML_BYTES_MAX} bytes");
        return Err(ConfigError { line: 0, column: 0, message }.into());
    }
    let document = roxmltree::Document::parse(text).map_err(|error| {
        let (line, column) = (error.pos().row, error.pos().col);
        let message = error.to_string();
        let message = message.strip_suffix(&format!(" at {line}:{column}")).unwrap_or(&message);
        ConfigErrors::from(ConfigError { line, column, message: format!("not XML: {message}") })
    })?;
    let mut xml = Xml::new(&document);
    let format = format_of(&mut xml)?;
    let mut draft = ImportDraft::default();
    match format {
        ImportFormat::Cme => cme::read(&mut xml, &mut draft),
        ImportFormat::Libtrading => libtrading::read(&mut xml, &mut draft),
        ImportFormat::MoexAsts => moex_asts::read(&mut xml, &mut draft),
        ImportFormat::MoexSpectra => moex_spectra::read(&mut xml, &mut draft),
    }
    if draft.channels.is_empty() && xml.errors().is_empty() {
        xml.error(document.root_element(), "the file describes no channel".to_owned());
    }
    let config = FeedConfig {
        description: Some(description(&document, format)),
        defaults: HandlerConfig { templates: vec![templates.to_owned()], ..defaults(format) },
        channels: draft.channels,
        ..FeedConfig::default()
    };
    if xml.errors().is_empty() {
        for (path, message) in check::problems(&config, |_| true, |_| false) {
            xml.error(document.root_element(), format!("{path}: {message}"));
        }
    }
    match xml.into_errors() {
        errors if errors.is_empty() => Ok(Imported { config, format, notes: draft.notes }),
        errors => Err(ConfigErrors::new(errors)),
    }
}

fn format_of(xml: &mut Xml<'_, '_>) -> Result<ImportFormat, ConfigErrors> {
    let root = xml.root();
    let has = |name: &str| root.children().any(|child| child.has_tag_name(name));
    let is_code = |name: &str| name.len() == 1 || name.eq_ignore_ascii_case("SMBO");
    let feed_types = || root.descendants().filter_map(|node| node.attribute("feed-type"));
    match root.tag_name().name() {
        "configuration" if has("MarketDataGroup") => Ok(ImportFormat::MoexSpectra),
        "configuration" if has("channel") && feed_types().any(|name| !is_code(name)) => {
            Ok(ImportFormat::MoexAsts)
        }
        "configuration" if has("channel") => Ok(ImportFormat::Cme),
        "config" if has("feeds") => Ok(ImportFormat::Libtrading),
        name => {
            let hint = match name {
                "templates" | "template" => ": this is a template file",
                _ => "",
            };
            let message = format!(
                "<{name}> is no configuration that can be imported{hint}. Known are CME's config.xml, \
                 MOEX's configuration.xml (SPECTRA, ASTS) and libtrading's config.xml"
            );
            Err(xml.at(root, message).into())
        }
    }
}

fn description(document: &roxmltree::Document<'_>, format: ImportFormat) -> String {
    let root = document.root_element();
    let label = root.attribute("environment").or_else(|| root.attribute("type"));
    let label = label.map(one_line).filter(|label| !label.is_empty());
    label.map_or_else(|| format.to_string(), |label| format!("{format}, {label}"))
}

/// Returns the settings of all channels of a format.
fn defaults(format: ImportFormat) -> HandlerConfig {
    use crate::config::{BooksConfig, Continuity, KeyField, RecoveryConfig};
    let (framing, key) = match format {
        ImportFormat::Cme => ("cme", vec![KeyField::Tag(48)]),
        ImportFormat::Libtrading => return HandlerConfig::default(),
        ImportFormat::MoexAsts => ("moex-asts", vec![KeyField::Tag(55), KeyField::Tag(336)]),
        ImportFormat::MoexSpectra => ("moex-spectra", vec![KeyField::Tag(48)]),
    };
    let continuity = Some(Continuity::RptSeq);
    HandlerConfig {
        framing: framing.parse::<FramingText>().ok(),
        recovery: RecoveryConfig { continuity, ..RecoveryConfig::default() },
        books: BooksConfig { key: Some(key), ..BooksConfig::default() },
        ..HandlerConfig::default()
    }
}

/// Returns a text on one line, with single spaces.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns a channel name from a label: lower case, with `-` for characters that names cannot have.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().take(64) {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() || c == '_' => slug.push(c),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "channel".to_owned() } else { slug.to_owned() }
}

impl ImportDraft {
    /// Adds a channel under the first free name of `names`, or under the last one with a number
    /// appended.
    fn add(&mut self, names: &[String], channel: ChannelConfig) {
        let is_free = |name: &String| !self.channels.iter().any(|channel| channel.name == **name);
        let last = names.last().map_or("channel", String::as_str);
        let numbered = (2_u32..).map(|number| format!("{last}-{number}"));
        let name = names.iter().cloned().chain(numbered).find(is_free).unwrap_or_default();
        self.channels.push(ChannelConfig { name, ..channel });
    }
}

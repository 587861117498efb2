//! A channel of a feed file, with compiled templates.

use crate::errors;
use crate::templates::{self, compile};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tickwire_fast::{Decoder, DecoderOptions, Program, TemplateId};
use tickwire_feed::arbiter::Line;
use tickwire_feed::framing::{Framing, Preset};
use tickwire_feed::handler::{Dynamic, FeedLine, Handler, HandlerOptions, SeqNumField};
use tickwire_feed::market::{BookAdapter, BookChoice};
use tickwire_feed_config::{BooksBy, FeedConfig};
use tickwire_net::channel_settings::{
    ChannelSettings, channel_settings, define, handler_options, key_tags, sequencing,
};

/// A channel that is ready to receive.
pub struct ConfiguredChannel {
    /// Settings of the channel in the feed file.
    pub settings: ChannelSettings,
    /// Captures to read instead of sockets; packets are assigned to lines by group and port.
    pub captures: Vec<PathBuf>,
    /// Options of the handler.
    pub options: HandlerOptions,
    /// Location of sequence numbers, if they are in messages.
    pub seq_num: SeqNumField,
    /// The compiled templates.
    pub program: Arc<Program>,
    decoding: DecoderOptions,
    choice: BookChoice,
    key: Vec<u32>,
}

impl ConfiguredChannel {
    /// Reads a feed file and its templates.
    pub fn load(
        py: Python<'_>,
        path: &Path,
        name: Option<&str>,
        captures: Vec<PathBuf>,
    ) -> PyResult<Self> {
        let file = path.display();
        let usage = |text: String| errors::usage(py, &format!("{file}: {text}"));
        let config = FeedConfig::load(path).map_err(|error| usage(error.to_string()))?;
        let names: Vec<&str> =
            config.channels.iter().map(|channel| channel.name.as_str()).collect();
        let name = match (name, &names[..]) {
            (Some(name), _) => name,
            (None, [only]) => only,
            (None, _) => {
                let text = format!("{file}: name a channel of {}", names.join(", "));
                return Err(PyValueError::new_err(text));
            }
        };
        let settings = channel_settings(&config, name).map_err(|error| usage(error.to_string()))?;
        Self::prepare(py, settings, captures)
    }

    fn prepare(
        py: Python<'_>,
        settings: ChannelSettings,
        captures: Vec<PathBuf>,
    ) -> PyResult<Self> {
        let usage = |text: String| errors::usage(py, &format!("channel {}: {text}", settings.name));
        let framing = framing(&settings);
        let set = templates::read(py, &settings.templates)?;
        let set = match framing.reset_template_id() {
            Some(id) => set.with_reset_template(TemplateId(id)),
            None => set,
        };
        let sequencing = sequencing(&framing, &set, None, Some(&settings))
            .map_err(|error| usage(error.to_string()))?;
        let line_b = FeedLine::Incremental(Line::B);
        let has_b = settings.inputs.iter().any(|(source, _)| *source == line_b)
            || settings.captures.iter().any(|(source, _)| *source == line_b);
        if has_b && !sequencing.is_numbered() {
            return Err(usage(
                "lines A and B cannot be made one without sequence numbers: name a framing whose preamble has one, \
                 or their field (seq_num)"
                    .to_owned(),
            ));
        }
        let program = Arc::new(compile(py, set, None)?);
        let key = settings.books.key.clone().unwrap_or_default();
        let key = key_tags(&key, &program).map_err(|error| usage(error.to_string()))?;
        let choice = choice(&settings);
        let adapter = BookAdapter::new(&program, choice, &key);
        let heartbeat_ns = Preset::heartbeat_for(settings.preset, &framing);
        let options = handler_options(
            Some(&settings),
            (framing, heartbeat_ns),
            &sequencing,
            &adapter,
            [true, has_b],
        );
        let decoding = DecoderOptions::default().reset(framing.reset_policy().into());
        let seq_num = sequencing.field;
        Ok(Self { settings, captures, options, seq_num, program, decoding, choice, key })
    }

    /// True if captures are read: the given ones, otherwise those of the feed file.
    pub fn is_captured(&self) -> bool {
        !self.captures.is_empty() || !self.settings.captures.is_empty()
    }

    /// Returns the decoding engine for a handler.
    pub fn engine(&self) -> Dynamic {
        Dynamic::new(Decoder::with_options(self.program.clone(), self.decoding), &self.seq_num)
    }

    /// Creates a handler.
    pub fn handler(&self) -> Result<Handler<Dynamic, BookAdapter>, String> {
        let books = BookAdapter::new(&self.program, self.choice, &self.key);
        let made = Handler::new(self.options.clone(), || self.engine(), books);
        let mut handler = made.map_err(|error| error.to_string())?;
        define(&self.settings.instruments, handler.recovery_mut());
        Ok(handler)
    }
}

fn framing(settings: &ChannelSettings) -> Framing {
    let framing = settings.framing.unwrap_or_default();
    settings.reset.map_or(framing, |policy| framing.reset(policy))
}

fn choice(settings: &ChannelSettings) -> BookChoice {
    match settings.books.by {
        None => BookChoice::Auto,
        Some(BooksBy::None) => BookChoice::None,
        Some(BooksBy::Level) => BookChoice::Level,
        Some(BooksBy::Order) => BookChoice::Order,
        Some(BooksBy::Price) => BookChoice::Price,
    }
}

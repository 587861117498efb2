//! Feed files: TOML that describes the channels of a market-data feed.
//!
//! A [`FeedConfig`] has named channels. A channel has lines A and B, snapshot and definition lines, a
//! TCP replay service, and [`HandlerConfig`]: templates, framing, arbitration, recovery and books. Settings
//! at the top of the file are defaults of all channels. [`FeedConfig::parse`] reads a file and reports
//! every error of it at once, each with line and column; [`FeedConfig::to_toml`] writes it back.
//! [`import`] makes a `FeedConfig` from the configuration XML that exchanges publish.
//!
//! The crate opens no sockets; a program turns addresses into endpoints.
//!
//! # Examples
//!
//! ```
//! use tickwire_feed_config::FeedConfig;
//!
//! let text = r#"
//! templates = "templates.xml"
//! framing = "moex-spectra"
//!
//! [arbitration]
//! hold = "2ms"
//!
//! [channels.futures.lines]
//! a = { group = "239.192.0.1", port = 9001 }
//! b = { group = "239.192.0.2", port = 9001 }
//! "#;
//! let config = FeedConfig::parse(text)?;
//! let settings = config.settings(&config.channels[0]);
//! assert_eq!(settings.arbitration.hold, Some(std::time::Duration::from_millis(2)));
//!
//! let wrong = text.replace("hold", "hodl");
//! let errors = FeedConfig::parse(&wrong).unwrap_err();
//! assert_eq!(
//!     errors.to_string(),
//!     "line 6, column 1: unknown key `hodl`: did you mean `hold`?"
//! );
//! # Ok::<(), tickwire_feed_config::ConfigErrors>(())
//! ```

mod check;
mod config;
mod error;
pub mod import;
mod merge;
mod parse;
mod read;
mod suggest;
mod write;

pub use config::{
    Address, ArbitrationConfig, BookKind, BooksBy, BooksConfig, ChannelConfig, Continuity,
    FeedConfig, FramingText, HandlerConfig, InstrumentConfig, KeyField, LinesConfig, Login,
    RecoveryConfig, ReplayConfig, SeqNumSource,
};
pub use error::{ConfigError, ConfigErrors, ERRORS_MAX};
pub use parse::{
    CHANNELS_MAX, HOLD_MAX, INSTRUMENTS_LIMIT, KEY_FIELDS_MAX, LoadError, SILENCE_MAX, SKEW_MAX,
    TEXT_BYTES_MAX, UPDATES_HELD_LIMIT,
};

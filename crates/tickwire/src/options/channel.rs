//! Options that name one channel of a feed file.

use crate::failure::Failure;
use crate::feed;
use std::path::{Path, PathBuf};
use tickwire_feed_config::FeedConfig;
use tickwire_net::channel_settings::{ChannelSettings, channel_settings};

/// A channel of a feed file.
#[derive(Clone, Debug, clap::Args)]
pub struct ChannelArgs {
    /// Feed file (TOML) that describes the channel; other options override it.
    #[arg(long, value_name = "FILE", help_heading = "Feed file")]
    feed: Option<PathBuf>,
    /// Channel of the feed file; required if it has several.
    #[arg(long, value_name = "NAME", help_heading = "Feed file", requires = "feed")]
    channel: Option<String>,
}

impl ChannelArgs {
    /// The feed file, if one is named.
    pub fn feed(&self) -> Option<&Path> {
        self.feed.as_deref()
    }

    /// Settings of the channel in the feed file; `None` without a feed file.
    pub fn settings(&self) -> Result<Option<ChannelSettings>, Failure> {
        let Some(path) = &self.feed else { return Ok(None) };
        let config = feed::load(path)?;
        let name = match (&self.channel, config.channels.as_slice()) {
            (Some(name), _) => name,
            (None, [only]) => &only.name,
            (None, _) => {
                let names = names(&config);
                let message = format!("--feed {}: name a --channel: {names}", path.display());
                return Err(Failure::Usage(message));
            }
        };
        settings_of(path, &config, name).map(Some)
    }
}

/// Returns the settings of a channel in a feed file.
pub fn settings_of(
    path: &Path,
    config: &FeedConfig,
    name: &str,
) -> Result<ChannelSettings, Failure> {
    channel_settings(config, name)
        .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

fn names(config: &FeedConfig) -> String {
    let names: Vec<&str> = config.channels.iter().map(|channel| channel.name.as_str()).collect();
    names.join(", ")
}

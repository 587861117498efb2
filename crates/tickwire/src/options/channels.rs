//! Options that name several channels of a feed file.

use super::channel::settings_of;
use crate::failure::Failure;
use crate::feed;
use std::path::{Path, PathBuf};
use tickwire_net::channel_settings::ChannelSettings;

/// Channels of a feed file.
#[derive(Clone, Debug, clap::Args)]
pub struct ChannelsArgs {
    /// Feed file (TOML) that describes the channels; other options override it.
    #[arg(long, value_name = "FILE", help_heading = "Feed file")]
    feed: Option<PathBuf>,
    /// Channel of the feed file; may be repeated. Default: all channels.
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', requires = "feed")]
    #[arg(help_heading = "Feed file")]
    channel: Vec<String>,
}

impl ChannelsArgs {
    /// The feed file, if one is named.
    pub fn feed(&self) -> Option<&Path> {
        self.feed.as_deref()
    }

    /// Settings of each channel in the feed file, in the order in which they are named; `None`
    /// without a feed file.
    pub fn settings(&self) -> Result<Option<Vec<ChannelSettings>>, Failure> {
        let Some(path) = &self.feed else { return Ok(None) };
        let config = feed::load(path)?;
        let mut names = self.channel.clone();
        if names.is_empty() {
            names = config.channels.iter().map(|channel| channel.name.clone()).collect();
        }
        let mut settings: Vec<ChannelSettings> = Vec::new();
        for name in &names {
            if settings.iter().all(|known| known.name != *name) {
                settings.push(settings_of(path, &config, name)?);
            }
        }
        Ok(Some(settings))
    }
}

//! Merges the settings of a channel with those of the feed.

use crate::config::{
    ArbitrationConfig, BooksConfig, ChannelConfig, FeedConfig, HandlerConfig, RecoveryConfig,
};
use std::path::PathBuf;

/// Takes each named field of `$own`, or of `$other` if absent.
macro_rules! or {
    ($own:expr, $other:expr, $type:ident { $($field:ident),* }) => {
        $type { $($field: $own.$field.clone().or_else(|| $other.$field.clone())),* }
    };
}

impl HandlerConfig {
    fn templates_or<'s>(&'s self, defaults: &'s Self) -> &'s [PathBuf] {
        if self.templates.is_empty() { &defaults.templates } else { &self.templates }
    }

    /// Returns these settings, with absent ones taken from `defaults`.
    pub fn or(&self, defaults: &Self) -> Self {
        let (own, other) = (&self.arbitration, &defaults.arbitration);
        let arbitration = or!(
            own,
            other,
            ArbitrationConfig { hold, skew, heartbeat, held, single_line_hold, explicit_restarts }
        );
        let (own, other) = (&self.recovery, &defaults.recovery);
        let recovery = or!(
            own,
            other,
            RecoveryConfig {
                continuity,
                natural_refresh,
                silence,
                updates_held_max,
                updates_held_total_max
            }
        );
        let (own, other) = (&self.books, &defaults.books);
        let books = or!(
            own,
            other,
            BooksConfig { by, depth, kinds, key, checks, starts_empty, instruments_max }
        );
        Self {
            templates: self.templates_or(defaults).to_vec(),
            framing: self.framing.clone().or_else(|| defaults.framing.clone()),
            reset: self.reset.or(defaults.reset),
            seq_num: self.seq_num.clone().or_else(|| defaults.seq_num.clone()),
            interface: self.interface.clone().or_else(|| defaults.interface.clone()),
            arbitration,
            recovery,
            books,
        }
    }
}

impl FeedConfig {
    /// Returns the channel with this name.
    pub fn channel(&self, name: &str) -> Option<&ChannelConfig> {
        self.channels.iter().find(|channel| channel.name == name)
    }

    /// Returns all settings of a channel: its own, and the feed's for the others.
    pub fn settings(&self, channel: &ChannelConfig) -> HandlerConfig {
        channel.settings.or(&self.defaults)
    }

    /// Returns the template files of a channel, relative to the working directory.
    pub fn templates(&self, channel: &ChannelConfig) -> Vec<PathBuf> {
        let paths = channel.settings.templates_or(&self.defaults).iter();
        paths.map(|path| self.dir.join(path)).collect()
    }
}

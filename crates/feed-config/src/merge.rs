//! Settings of a channel over those of the feed.

use crate::config::{Arbitration, Books, Channel, FeedConfig, Recovery, Settings};
use std::path::PathBuf;

/// Takes each named field of `$own`, or of `$other` where it is absent.
macro_rules! or {
    ($own:expr, $other:expr, $type:ident { $($field:ident),* }) => {
        $type { $($field: $own.$field.clone().or_else(|| $other.$field.clone())),* }
    };
}

impl Settings {
    /// These settings, with absent ones taken from `defaults`.
    pub fn or(&self, defaults: &Self) -> Self {
        let (own, other) = (&self.arbitration, &defaults.arbitration);
        let arbitration = or!(own, other, Arbitration { hold, skew, heartbeat, held });
        let (own, other) = (&self.recovery, &defaults.recovery);
        let recovery = or!(own, other, Recovery { continuity, natural_refresh, silence });
        let (own, other) = (&self.books, &defaults.books);
        let books = or!(own, other, Books { by, depth, kinds, key });
        Self {
            templates: self.templates.clone().or_else(|| defaults.templates.clone()),
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
    /// The channel of this name.
    pub fn channel(&self, name: &str) -> Option<&Channel> {
        self.channels.iter().find(|channel| channel.name == name)
    }

    /// All settings of a channel: its own, and the feed's where it has none.
    pub fn settings(&self, channel: &Channel) -> Settings {
        channel.settings.or(&self.defaults)
    }

    /// The template file of a channel, relative to the working directory.
    pub fn templates(&self, channel: &Channel) -> Option<PathBuf> {
        let path = channel.settings.templates.as_ref().or(self.defaults.templates.as_ref())?;
        Some(self.dir.join(path))
    }
}

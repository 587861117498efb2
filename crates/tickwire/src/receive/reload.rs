//! Reloading of template files during reception.

use super::described::DescribedChannel;
use crate::failure::Failure;
use crate::files;
use crate::options::with_reset_template;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tickwire_fast::{CompileOptions, Program};
use tickwire_feed::handler::{HandlerConfigError, Replaced, Sequencing};
use tickwire_net::file_watch::{FileWatch, INTERVAL_DEFAULT, on_hangup};

/// Templates that were read, checked and compiled while the current ones stay in use.
pub type PreparedTemplates = (Arc<Program>, Sequencing);

/// Watches the template files for changes of time and content; SIGHUP triggers a check at once.
pub struct Reload {
    watch: FileWatch<PreparedTemplates, String>,
    hangup: Arc<AtomicBool>,
    names: String,
}

impl Reload {
    /// Starts the watch, if it is requested.
    pub fn start(feed: &DescribedChannel) -> Result<Option<Self>, Failure> {
        if !feed.args.watch_templates {
            return Ok(None);
        }
        let hangup =
            on_hangup().map_err(|error| Failure::Usage(format!("cannot catch SIGHUP: {error}")))?;
        Ok(Some(Self { watch: watch(feed)?, hangup, names: feed.args.templates.names() }))
    }

    /// Returns new templates, if there are any. If a file cannot be used, this is logged and the current
    /// templates stay.
    pub fn poll(&self) -> Option<PreparedTemplates> {
        if self.hangup.swap(false, Ordering::Relaxed) {
            self.watch.look_now();
        }
        self.watch
            .poll()?
            .inspect_err(|error| {
                tracing::error!("{}: the current templates stay in use: {error}", self.names);
            })
            .ok()
    }

    /// Logs the result of replacing templates.
    pub fn log(&self, replaced: Result<Replaced, HandlerConfigError>) {
        let name = &self.names;
        match replaced {
            Ok(Replaced::AtOnce) => tracing::info!("{name}: new templates are in effect"),
            Ok(Replaced::AtReset) => {
                tracing::info!("{name}: new templates take effect at the next reset");
            }
            Err(error) => tracing::error!("{name}: the current templates stay in use: {error}"),
        }
    }
}

/// Watches the files, which form one set.
fn watch(feed: &DescribedChannel) -> Result<FileWatch<PreparedTemplates, String>, Failure> {
    let paths = feed.args.templates.paths()?.to_vec();
    let read = |path: &PathBuf| Ok((path.clone(), files::read_template_bytes(path)?));
    let watched = paths.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let (args, framing) = (feed.args.clone(), feed.options.framing);
    let prepare = move |contents: &[&[u8]]| {
        let set = files::parse_all_templates(&paths, contents).map_err(text)?;
        let set = with_reset_template(set, &framing);
        let sequencing = args.sequencing(&framing, &set).map_err(text)?;
        let program = files::compile(set, &CompileOptions::default()).map_err(text)?;
        Ok((Arc::new(program), sequencing))
    };
    FileWatch::start(watched, files::TEMPLATE_BYTES_MAX, INTERVAL_DEFAULT, prepare)
        .map_err(|error| Failure::Usage(error.to_string()))
}

fn text(failure: Failure) -> String {
    match failure {
        Failure::Data(text) | Failure::Usage(text) => text,
        Failure::OutputClosed => String::new(),
    }
}

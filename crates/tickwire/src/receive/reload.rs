//! A template file that changes while a feed is received.

use super::described::Described;
use crate::failure::Failure;
use crate::files;
use crate::options::with_reset_template;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tickwire_fast::{CompileOptions, Program, TemplateSet};
use tickwire_feed::handler::{HandlerConfigError, Replaced, Sequencing};
use tickwire_net::file_watch::{FileWatch, INTERVAL_DEFAULT, on_hangup};

/// Templates that were read, checked and compiled beside the running ones.
pub type Prepared = (Arc<Program>, Sequencing);

/// Watches the template file: its time and content, and at once after SIGHUP.
pub struct Reload {
    watch: FileWatch<Prepared, String>,
    hangup: Arc<AtomicBool>,
    name: String,
}

impl Reload {
    /// Starts the watch, if it is asked for.
    pub fn start(feed: &Described) -> Result<Option<Self>, Failure> {
        if !feed.args.watch_templates {
            return Ok(None);
        }
        let path = feed.args.templates()?.to_owned();
        let name = files::name_of(&path);
        let hangup =
            on_hangup().map_err(|error| Failure::Usage(format!("cannot catch SIGHUP: {error}")))?;
        let current = files::read_template_bytes(&path)?;
        let (args, framing) = (feed.args.clone(), feed.options.framing);
        let prepare = move |bytes: &[u8]| {
            let set = TemplateSet::parse_bytes(bytes).map_err(|errors| errors.to_string())?;
            let set = with_reset_template(set, &framing);
            let sequencing = args.sequencing(&framing, &set).map_err(text)?;
            let program = files::compile(set, &CompileOptions::default()).map_err(text)?;
            Ok((Arc::new(program), sequencing))
        };
        let bytes_max = files::TEMPLATE_BYTES_MAX;
        let watch = FileWatch::start(path, current, bytes_max, INTERVAL_DEFAULT, prepare)
            .map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(Some(Self { watch, hangup, name }))
    }

    /// New templates, if there are any. A file that cannot be used is logged, and the running
    /// templates stay.
    pub fn poll(&self) -> Option<Prepared> {
        if self.hangup.swap(false, Ordering::Relaxed) {
            self.watch.look_now();
        }
        self.watch
            .poll()?
            .inspect_err(|error| {
                tracing::error!("{}: the running templates stay: {error}", self.name);
            })
            .ok()
    }

    /// Logs what became of new templates.
    pub fn log(&self, replaced: Result<Replaced, HandlerConfigError>) {
        let name = &self.name;
        match replaced {
            Ok(Replaced::AtOnce) => tracing::info!("{name}: new templates are in effect"),
            Ok(Replaced::AtReset) => {
                tracing::info!("{name}: new templates take effect at the next reset");
            }
            Err(error) => tracing::error!("{name}: the running templates stay: {error}"),
        }
    }
}

fn text(failure: Failure) -> String {
    match failure {
        Failure::Data(text) | Failure::Usage(text) => text,
        Failure::OutputClosed => String::new(),
    }
}

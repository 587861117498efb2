//! Template files that form one set.

use crate::failure::Failure;
use crate::files;
use std::path::PathBuf;
use tickwire_fast::TemplateSet;

/// The template files of a feed.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TemplateArgs {
    /// Template file of the feed (FAST 1.1 or 1.2 XML). Repeat it if the templates are in several
    /// files.
    #[arg(short, long, value_name = "FILE")]
    templates: Vec<PathBuf>,
}

impl TemplateArgs {
    /// Uses these files if no file is named.
    pub fn set_default(&mut self, paths: &[PathBuf]) {
        if self.templates.is_empty() {
            self.templates = paths.to_vec();
        }
    }

    /// True if a file is named.
    pub fn is_any(&self) -> bool {
        !self.templates.is_empty()
    }

    /// The files that are named.
    pub fn named(&self) -> &[PathBuf] {
        &self.templates
    }

    /// Returns the files, at least one.
    ///
    /// # Errors
    /// No file is named.
    pub fn paths(&self) -> Result<&[PathBuf], Failure> {
        match &self.templates[..] {
            [] => Err(Failure::Usage("name a template file with --templates".to_owned())),
            paths => Ok(paths),
        }
    }

    /// Names of the files, for messages.
    pub fn names(&self) -> String {
        files::names_of(&self.templates)
    }

    /// Reads and checks the files.
    ///
    /// # Errors
    /// All errors in the files, or no file is named.
    pub fn read(&self) -> Result<TemplateSet, Failure> {
        files::read_all_templates(self.paths()?)
    }
}

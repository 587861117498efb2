//! Configuration and stores of the trading sessions.

use super::super::{dictionaries, settings};
use super::dialect::MessageDialect;
use crate::failure::Failure;
use crate::options::{MetricsArgs, wait};
use crate::units::{TimeSpan, whole_seconds};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use tickwire_fix_engine::{Application, BoxStore, Configured, Engine, EngineOptions, open_store};
use tickwire_fix_session::{
    ApplVersion, BeginString, Config, FileStoreOptions, Fsync, MemoryStore, SessionId, SessionRole,
};
use tickwire_net::clock::monotonic_ns;

/// Options that server and client share.
#[derive(Clone, Debug, Args)]
pub struct SessionArgs {
    /// Keep messages in files of this folder, so that nothing is lost when the process ends.
    /// Without it messages are kept in memory, and each logon resets both sequence numbers
    #[arg(long, value_name = "FOLDER")]
    pub store: Option<PathBuf>,
    /// When to wait for the disk: at every commit, periodically, or never. The policy matters only
    /// for a loss of power; killing the process loses nothing
    #[arg(long, value_name = "POLICY", default_value = "batch")]
    pub fsync: FsyncArg,
    /// Check every message against the FIX 4.2 dictionary
    #[arg(long)]
    pub validate: bool,
    /// Busy-poll while no messages arrive: lower latency, one CPU fully used. With a time, such as
    /// 50us, busy-poll for this time after the last message, then sleep
    #[arg(long, value_name = "TIME")]
    pub spin: Option<Option<TimeSpan>>,
    /// CPU to run on, counted from 0
    #[arg(long, value_name = "N")]
    pub cpu: Option<usize>,
    #[command(flatten)]
    pub metrics: MetricsArgs,
    /// Heartbeat interval (HeartBtInt), in whole seconds
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = whole_seconds)]
    pub heartbeat: u32,
    /// True if the last messages are kept for the monitor.
    #[arg(skip)]
    pub is_watched: bool,
}

/// When a commit waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FsyncArg {
    /// At every commit.
    Always,
    /// Periodically.
    Batch,
    /// Never.
    None,
}

impl SessionArgs {
    /// Returns the options of the engine.
    pub fn engine_options(&self) -> EngineOptions {
        EngineOptions { wait: wait(self.spin), cpu: self.cpu, ..EngineOptions::default() }
    }

    /// Creates the configuration of a session.
    pub fn config(&self, role: SessionRole, id: SessionId) -> Result<Config, Failure> {
        let mut config = Config::new(role, id);
        config.heartbeat_s = self.heartbeat;
        config.reset_on_logon = self.store.is_none();
        config.codec_clock = Some(monotonic_ns);
        config.log_messages = self.is_watched;
        if self.validate {
            config.dictionaries = Some(dictionaries::shipped(BeginString::Fix42)?);
        }
        Ok(config)
    }

    fn fsync(&self) -> Fsync {
        match self.fsync {
            FsyncArg::Always => Fsync::Always,
            FsyncArg::Batch => Fsync::Batch,
            FsyncArg::None => Fsync::None,
        }
    }

    /// Adds the sessions of a settings file to an engine, and reports keys without effect. Returns the
    /// sessions and the dialect of the first one.
    pub fn configure<A: Application>(
        &self,
        engine: &mut Engine<A>,
        path: &Path,
        first: SessionRole,
    ) -> Result<(Configured, MessageDialect), Failure> {
        let mut settings = settings::read(path, first)?;
        for session in &mut settings.sessions {
            session.config.codec_clock = Some(monotonic_ns);
        }
        let dialect = settings.sessions.first().map_or(MessageDialect::Fix42, |session| {
            let version = session.config.default_appl_ver_id.as_deref().map(str::as_bytes);
            let version = version.and_then(ApplVersion::parse);
            MessageDialect::of(session.config.id.begin_string, version)
        });
        let configured = settings::configure(engine, path, &settings, self.fsync())?;
        Ok((configured, dialect))
    }

    /// Opens the store of a session.
    pub fn open_store(&self, id: &SessionId) -> Result<BoxStore, Failure> {
        let Some(folder) = &self.store else { return Ok(Box::new(MemoryStore::new())) };
        let options = FileStoreOptions {
            folder: folder.clone(),
            name: id.file_name(),
            fsync: self.fsync(),
            archives_max: 0,
        };
        Ok(Box::new(open_store(options).map_err(Failure::Usage)?))
    }
}

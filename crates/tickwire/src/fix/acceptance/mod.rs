//! `tickwire fix acceptance`: the acceptor for the FIX session acceptance suite.

mod echo;

use super::{dictionaries, settings};
use crate::failure::{Failure, Outcome};
use clap::{Args, ValueEnum};
use echo::EchoApplication;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use tickwire_fix_engine::{AcceptorOptions, Access, Engine, EngineOptions, Rate};
use tickwire_fix_session::settings::ConnectionSettings;
use tickwire_fix_session::{BeginString, Config, Fsync, MemoryStore, SessionId, SessionRole};
use tickwire_net::Stop;

/// Run an acceptor for the FIX session acceptance suite, all versions on one local port
///
/// SenderCompID is ISLD. TargetCompID is TW40 to TW44 for FIX 4.0 to 4.4; TW50, TW50SP1 and TW50SP2
/// over FIXT.1.1; and TW and NO_CHECK_FIELDS_HAVE_VALUES for FIX 4.4. Orders, security definitions
/// and e-mails are echoed; all other message types are unsupported.
#[derive(Debug, Args)]
pub struct AcceptanceArgs {
    /// Port to listen on; 0 chooses a free port
    #[arg(long, value_name = "N", required_unless_present = "config", conflicts_with = "config")]
    port: Option<u16>,
    /// Sessions of a settings file in QuickFIX's format, such as those beside the definitions of
    /// quickfixgo and QuickFIX/n; replaces --port
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Reject a tag without a value
    #[arg(long, value_name = "yes|no", default_value = "yes")]
    validate_fields_have_values: YesNo,
    /// Engine whose test definitions are run. Only those of quickfix expect DefaultApplVerID in a
    /// Business Message Reject; those of quickfixgo expect other texts before FIX 4.2
    #[arg(long, value_name = "ENGINE", default_value = "quickfix")]
    suite: Suite,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Suite {
    Quickfix,
    Quickfixgo,
    Quickfixj,
    Quickfixn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

/// SenderCompID of the acceptor.
const SENDER: &str = "ISLD";
/// Version and TargetCompID of every session.
const SESSIONS: [(BeginString, &str); 10] = [
    (BeginString::Fix40, "TW40"),
    (BeginString::Fix41, "TW41"),
    (BeginString::Fix42, "TW42"),
    (BeginString::Fix43, "TW43"),
    (BeginString::Fix44, "TW44"),
    (BeginString::Fixt11, "TW50"),
    (BeginString::Fixt11, "TW50SP1"),
    (BeginString::Fixt11, "TW50SP2"),
    (BeginString::Fix44, "TW"),
    (BeginString::Fix44, "NO_CHECK_FIELDS_HAVE_VALUES"),
];

impl AcceptanceArgs {
    fn apply(&self, config: &mut Config) {
        config.business_reject_version = self.suite == Suite::Quickfix;
        config.checks.fields_have_values &= self.validate_fields_have_values == YesNo::Yes;
    }
}

/// Runs `tickwire fix acceptance`.
pub fn run(args: &AcceptanceArgs) -> Result<Outcome, Failure> {
    let stop = Stop::on_signals()
        .map_err(|error| Failure::Usage(format!("cannot catch signals: {error}")))?;
    let failed = |error: tickwire_net::HostError| Failure::Usage(error.to_string());
    let options = EngineOptions::default();
    let mut application = EchoApplication::default();
    application.spells_reasons = args.suite == Suite::Quickfixgo;
    let mut engine = Engine::new(options, application).map_err(failed)?;
    let addresses = match &args.config {
        Some(path) => configure(&mut engine, path, args)?,
        None => vec![listen(&mut engine, args)?],
    };
    let mut out = std::io::stdout().lock();
    for address in addresses {
        writeln!(out, "listening on {address}")?;
    }
    out.flush()?;
    engine.run(&stop).map_err(failed)?;
    Ok(Outcome::Clean)
}

/// Adds the sessions of a settings file and returns the address on which the engine listens.
fn configure(
    engine: &mut Engine<EchoApplication>,
    path: &Path,
    args: &AcceptanceArgs,
) -> Result<Vec<SocketAddr>, Failure> {
    let mut settings = settings::read(path, SessionRole::Acceptor)?;
    for session in &mut settings.sessions {
        args.apply(&mut session.config);
        if let ConnectionSettings::Acceptor { limits, .. } = &mut session.connection {
            limits.connections_per_second = Some(0);
            limits.connections_per_second_per_address = Some(0);
            limits.logons_per_second = Some(0);
        }
    }
    Ok(settings::configure(engine, path, &settings, Fsync::None)?.addresses)
}

/// Adds the suite's own sessions on one port and returns the address on which the engine listens.
fn listen(
    engine: &mut Engine<EchoApplication>,
    args: &AcceptanceArgs,
) -> Result<SocketAddr, Failure> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port.unwrap_or(0)));
    let mut listening = AcceptorOptions::new(address);
    listening.connection_rate = Rate::UNLIMITED;
    listening.connection_rate_per_address = Rate::UNLIMITED;
    listening.logon_rate = Rate::UNLIMITED;
    let listener = engine.listen(listening).map_err(|error| Failure::Usage(error.to_string()))?;
    for (version, target) in SESSIONS {
        let id = SessionId::new(version, SENDER, target);
        let mut config = Config::new(SessionRole::Acceptor, id);
        config.reset_on_logon = true;
        args.apply(&mut config);
        config.checks.fields_have_values &= target != "NO_CHECK_FIELDS_HAVE_VALUES";
        config.dictionaries = Some(dictionaries::shipped(version)?);
        let store = Box::new(MemoryStore::new());
        let added = engine.add_acceptor(listener, config, store, Access::default());
        added.map_err(|error| Failure::Usage(error.to_string()))?;
    }
    Ok(engine.address(listener).unwrap_or(address))
}

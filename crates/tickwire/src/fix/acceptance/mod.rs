//! `tickwire fix acceptance`: the acceptor that the field's acceptance suite talks to.

mod echo;

use super::dictionaries;
use crate::failure::{Failure, Outcome};
use clap::{Args, ValueEnum};
use echo::EchoApplication;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use tickwire_fix::Checks;
use tickwire_fix_session::{BeginString, Config, MemoryStore, Role, SessionId};
use tickwire_net::Stop;
use tickwire_net::fix::{AcceptorOptions, Access, Engine, EngineOptions, Rate};

/// Be the acceptor of the FIX session acceptance suite: all versions on one port of this machine
///
/// SenderCompID is ISLD; TargetCompID TW40 to TW44 for FIX 4.0 to 4.4, TW50, TW50SP1 and TW50SP2 over
/// FIXT.1.1, and TW and NO_CHECK_FIELDS_HAVE_VALUES for FIX 4.4. Orders, security definitions and
/// e-mails are echoed, all else is an unsupported message type.
#[derive(Debug, Args)]
pub struct AcceptanceArgs {
    /// The port to listen on; 0 for any that is free
    #[arg(long, value_name = "N")]
    port: u16,
    /// Whether a tag without a value is refused
    #[arg(long, value_name = "yes|no", default_value = "yes")]
    validate_fields_have_values: YesNo,
    /// Whether a Business Message Reject over FIXT repeats DefaultApplVerID, as QuickFIX's suite has it; those of
    /// quickfixgo and QuickFIX/n do not
    #[arg(long, value_name = "yes|no", default_value = "yes")]
    business_reject_version: YesNo,
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

/// Runs `tickwire fix acceptance`.
pub fn run(args: &AcceptanceArgs) -> Result<Outcome, Failure> {
    let stop = Stop::on_signals()
        .map_err(|error| Failure::Usage(format!("cannot catch signals: {error}")))?;
    let failed = |error: tickwire_net::Error| Failure::Usage(error.to_string());
    let options = EngineOptions::default();
    let mut engine = Engine::new(options, EchoApplication::default()).map_err(failed)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let mut listening = AcceptorOptions::new(address);
    listening.connection_rate = Rate::UNLIMITED;
    listening.connection_rate_per_address = Rate::UNLIMITED;
    listening.logon_rate = Rate::UNLIMITED;
    let listener = engine.listen(listening).map_err(failed)?;
    let with_values = args.validate_fields_have_values == YesNo::Yes;
    for (version, target) in SESSIONS {
        let id = SessionId::new(version, SENDER, target);
        let mut config = Config::new(Role::Acceptor, id);
        config.reset_on_logon = true;
        config.business_reject_version = args.business_reject_version == YesNo::Yes;
        let fields_have_values = with_values && target != "NO_CHECK_FIELDS_HAVE_VALUES";
        config.checks = Checks { fields_have_values, ..Checks::default() };
        let dictionaries = dictionaries::shipped(version)?;
        config.dictionaries = Some(dictionaries.clone());
        let store = Box::new(MemoryStore::new());
        let added = engine.add_acceptor(listener, config, store, Access::default());
        let key = added.map_err(|error| Failure::Usage(error.to_string()))?;
        engine.application_mut().add(key, dictionaries);
    }
    let address = engine.address(listener).unwrap_or(address);
    let mut out = std::io::stdout().lock();
    writeln!(out, "listening on {address}")?;
    out.flush()?;
    engine.run(&stop).map_err(failed)?;
    Ok(Outcome::Clean)
}

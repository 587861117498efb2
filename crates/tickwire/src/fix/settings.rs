//! Settings files of FIX sessions, for the commands that take one.

use crate::console::tell;
use crate::failure::Failure;
use std::path::Path;
use tickwire_fix_engine::{Application, Configured, Engine};
use tickwire_fix_session::settings::Settings;
use tickwire_fix_session::{Fsync, SessionRole};

/// Reads a settings file whose first session must have a role, and reports keys that have no effect.
pub fn read(path: &Path, first: SessionRole) -> Result<Settings, Failure> {
    let bytes =
        std::fs::read(path).map_err(|error| Failure::file("read", path.display(), &error))?;
    let name = path.display();
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to());
        let line = 1 + valid.unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
        Failure::Usage(format!("{name}: line {line}: not UTF-8; save the file as UTF-8"))
    })?;
    let settings =
        Settings::parse(&text).map_err(|errors| Failure::Usage(format!("{name}:\n{errors}")))?;
    for warning in &settings.warnings {
        tell!("warning: {name}: {warning}");
    }
    if let Some(session) = settings.sessions.first()
        && session.config.role != first
    {
        let (wanted, keys) = match first {
            SessionRole::Acceptor => ("acceptor", "ConnectionType=acceptor and SocketAcceptPort"),
            SessionRole::Initiator => {
                ("initiator", "ConnectionType=initiator, SocketConnectHost and SocketConnectPort")
            }
        };
        let line = session.line;
        let text = format!("the first session must be an {wanted} here: {keys}");
        return Err(Failure::Usage(format!("{name}: session of line {line}: {text}")));
    }
    Ok(settings)
}

/// Adds the sessions of a settings file to an engine.
pub fn configure<A: Application>(
    engine: &mut Engine<A>,
    path: &Path,
    settings: &Settings,
    fsync: Fsync,
) -> Result<Configured, Failure> {
    let name = path.display();
    let configured = engine.configure(settings, fsync);
    configured.map_err(|error| Failure::Usage(format!("{name}: {error}")))
}

//! File descriptors: each session needs some, and the operating system gives a process so many.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tickwire_fix_session::settings::{ConnectionSettings, SessionSettings, Settings};

/// For what is not a session: standard streams, events, metrics, dictionaries while they are read.
const OTHERS: u64 = 32;
/// Pending connections for which there is to be room beside the sessions.
const PENDING: u64 = 32;

/// Returns how many descriptors a session needs: its connection, its store and its message log.
fn needs_of(session: &SessionSettings) -> u64 {
    1 + u64::from(session.store_folder.is_some()) + u64::from(session.log_folder.is_some())
}

/// Raises the process's limit of open files as far as the sessions need it.
///
/// # Errors
/// If the system does not allow as many: in words, with the number.
pub(super) fn make_room(settings: &Settings) -> Result<(), String> {
    let fixed = |session: &&SessionSettings| {
        !matches!(session.connection, ConnectionSettings::Acceptor { is_template: true, .. })
    };
    let sessions = settings.sessions.iter().filter(fixed);
    let needed = OTHERS + PENDING + sessions.clone().map(needs_of).sum::<u64>();
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)
        .map_err(|error| format!("cannot ask for the limit of open files: {error}"))?;
    if needed <= soft {
        return Ok(());
    }
    if needed > hard {
        return Err(format!(
            "the {} sessions of the file need {needed} open files, and the process may have {hard}; raise \
             the limit, as by `ulimit -n {needed}`, or divide the sessions among processes",
            sessions.count()
        ));
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard)
        .map_err(|error| format!("cannot raise the limit of open files to {needed}: {error}"))
}

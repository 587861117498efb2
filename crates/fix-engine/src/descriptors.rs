//! File descriptors: divides the process's limit among sessions and pending connections.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tickwire_fix_session::settings::{SessionSettings, Settings};

use super::acceptor::AcceptorOptions;
use super::planned::{ListenerSessions, is_template};

/// Descriptors for other purposes: standard streams, polling, metrics, reading dictionaries.
const OTHERS: u64 = 32;
/// Pending connections for which descriptors are reserved beside the sessions.
const PENDING: u64 = 32;

/// Returns the number of descriptors that a session needs for connection, store and message log.
fn needs_of(session: &SessionSettings) -> u64 {
    1 + u64::from(session.store_folder.is_some()) + u64::from(session.log_folder.is_some())
}

/// The descriptors that are left for listeners.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DescriptorBudget {
    /// Most pending connections and template sessions per listener, if fewer than configured.
    shortened: Option<(usize, usize)>,
}

impl DescriptorBudget {
    /// Reduces the limits of a listener to the available open files, so that unauthenticated peers
    /// cannot use up those of sessions.
    pub fn limit(self, options: &mut AcceptorOptions) {
        let Some((pending_max, template_sessions_max)) = self.shortened else { return };
        options.pending_max = options.pending_max.min(pending_max);
        options.template_sessions_max = options.template_sessions_max.min(template_sessions_max);
    }
}

/// Raises the process's limit of open files to what the sessions need: all sessions of the file,
/// and as many template sessions and pending connections as the configuration allows or as fit.
///
/// # Errors
/// If the system's limit is too low for the sessions of the file; the text names the number needed.
pub(super) fn make_room(
    settings: &Settings,
    listeners: &BTreeMap<SocketAddr, ListenerSessions<'_>>,
) -> Result<DescriptorBudget, String> {
    let sessions = settings.sessions.iter().filter(|session| !is_template(session));
    let needed = OTHERS + PENDING + sessions.clone().map(needs_of).sum::<u64>();
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)
        .map_err(|error| format!("cannot ask for the limit of open files: {error}"))?;
    if needed > hard {
        return Err(format!(
            "the {} sessions of the file need {needed} open files, but the limit of the process is {hard}; raise it with `ulimit -n {needed}`, or divide the sessions among processes",
            sessions.count()
        ));
    }
    let wanted = needed + listeners.values().map(unauthenticated_descriptors).sum::<u64>();
    let limit = wanted.min(hard);
    if limit > soft {
        setrlimit(Resource::RLIMIT_NOFILE, limit, hard)
            .map_err(|error| format!("cannot raise the limit of open files to {limit}: {error}"))?;
    }
    if wanted <= hard || listeners.is_empty() {
        return Ok(DescriptorBudget::default());
    }
    let count = listeners.len() as u64;
    let templates = settings.sessions.iter().filter(|session| is_template(session));
    let most = templates.clone().map(needs_of).max().unwrap_or(1);
    let sessions_max = (hard - needed) / most / count;
    if sessions_max == 0 && templates.count() > 0 {
        return Err(format!(
            "the process may have {hard} open files, which leaves none for template sessions; raise the limit with `ulimit -n {wanted}`"
        ));
    }
    tracing::warn!(
        target: "tickwire::fix",
        "the process may have {hard} open files: each listener takes at most {} pending connections and {sessions_max} \
         sessions of its template; `ulimit -n {wanted}` is enough for the configured limits",
        PENDING / count
    );
    Ok(DescriptorBudget {
        shortened: Some(((PENDING / count).max(1) as usize, sessions_max as usize)),
    })
}

/// Returns the most descriptors that pending connections and template sessions of a listener can use.
fn unauthenticated_descriptors(planned: &ListenerSessions<'_>) -> u64 {
    let own = AcceptorOptions::new(SocketAddr::from(([0, 0, 0, 0], 0)));
    let number = |given: Option<u32>, own: usize| given.map_or(own as u64, u64::from);
    let pending = number(planned.limits.pending_max, own.pending_max);
    let templates = planned.sessions.iter().filter(|session| is_template(session));
    let needs = templates.map(|session| needs_of(session)).max().unwrap_or(0);
    pending + needs * number(planned.limits.template_sessions_max, own.template_sessions_max)
}

//! Combines the listener settings of the sections of a settings file.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tickwire_fix_session::settings::{AcceptorLimits, ConnectionSettings, SessionSettings};

use super::configure::ConfigureError;

pub(super) fn is_template(session: &SessionSettings) -> bool {
    matches!(session.connection, ConnectionSettings::Acceptor { is_template: true, .. })
}

/// The sessions of one listener.
pub(super) struct ListenerSessions<'s> {
    /// The sections of the listener; never empty.
    pub sessions: Vec<&'s SessionSettings>,
    pub limits: AcceptorLimits,
}

impl<'s> ListenerSessions<'s> {
    pub fn new(session: &'s SessionSettings) -> Self {
        let mut planned = Self { sessions: vec![session], limits: AcceptorLimits::default() };
        planned.limits = limits(session);
        planned
    }

    pub fn first(&self) -> &'s SessionSettings {
        self.sessions[0]
    }

    /// Adds a session; fails if its listener settings contradict the others.
    pub fn join(&mut self, session: &'s SessionSettings) -> Result<(), ConfigureError> {
        let fail = |other: &SessionSettings, text: &str| ConfigureError {
            line: other.line,
            other: Some(session.line),
            text: text.to_owned(),
        };
        if let Some(other) = self.sessions.iter().find(|other| other.tls != session.tls) {
            let text = "they listen on one address with different TLS settings; give both the same TLS keys, or different ports";
            return Err(fail(other, text));
        }
        let named = |session: &SessionSettings| {
            let id = &session.config.id;
            (id.begin_string, id.sender_comp_id.clone(), id.target_comp_id.clone())
        };
        if let Some(other) = self.sessions.iter().find(|other| named(other) == named(session)) {
            let text = "a Logon cannot select one of them, because it has no SessionQualifier; give one of them another port";
            return Err(fail(other, text));
        }
        let merged = merge(&self.limits, &limits(session)).map_err(|key| {
            let text = format!("they listen on one address with different {key}");
            let says = |other: &&&SessionSettings| merge(&limits(other), &limits(session)).is_err();
            fail(self.sessions.iter().find(says).copied().unwrap_or(session), &text)
        })?;
        self.limits = merged;
        self.sessions.push(session);
        Ok(())
    }
}

fn limits(session: &SessionSettings) -> AcceptorLimits {
    match &session.connection {
        ConnectionSettings::Acceptor { limits, .. } => *limits,
        ConnectionSettings::Initiator { .. } => AcceptorLimits::default(),
    }
}

/// Merges the limits that sessions of one listener set. The error is the key with contradicting
/// values.
fn merge(one: &AcceptorLimits, other: &AcceptorLimits) -> Result<AcceptorLimits, &'static str> {
    let mut merged = *one;
    for ((key, place), (_, value)) in merged.values_mut().into_iter().zip(other.values()) {
        match (*place, value) {
            (Some(known), Some(value)) if known != value => return Err(key),
            (None, value) => *place = value,
            _ => {}
        }
    }
    Ok(merged)
}

/// Refuses a listener on all addresses beside one on a single address with the same port: which of
/// them gets a connection would depend on the machine.
pub(super) fn check_overlaps(
    listeners: &BTreeMap<SocketAddr, ListenerSessions<'_>>,
) -> Result<(), ConfigureError> {
    for (address, planned) in listeners {
        let overlapping = listeners.iter().find(|(other, _)| {
            let is_other = *other != address && other.port() == address.port();
            is_other && address.port() != 0 && address.ip().is_unspecified()
        });
        if let Some((_, other)) = overlapping {
            let lines = [planned.first().line, other.first().line];
            return Err(ConfigureError {
                line: lines[0].min(lines[1]),
                other: Some(lines[0].max(lines[1])),
                text: format!(
                    "one listens on all addresses of port {}; give the other another port",
                    address.port()
                ),
            });
        }
    }
    Ok(())
}

/// Refuses templates of two listeners that match the same counterparty but have different
/// protection: the counterparty could be impersonated through the weaker one.
pub(super) fn check_templates(
    listeners: &BTreeMap<SocketAddr, ListenerSessions<'_>>,
) -> Result<(), ConfigureError> {
    let templates: Vec<(&SocketAddr, &SessionSettings)> = listeners
        .iter()
        .flat_map(|(address, planned)| {
            planned.sessions.iter().map(move |session| (address, *session))
        })
        .filter(|(_, session)| is_template(session))
        .collect();
    for (at, (address, one)) in templates.iter().enumerate() {
        let conflicting = templates.iter().skip(at + 1).find(|(elsewhere, other)| {
            elsewhere != address && share_counterparties(one, other) && !guard_alike(one, other)
        });
        if let Some((_, other)) = conflicting {
            let text = "a counterparty of one could be impersonated through the other, because TLS, \
                        RequiredUsername, RequiredPassword, AllowedRemoteAddresses or AllowedClientCertificates \
                        differ; give both the same, or other CompIDs";
            return Err(ConfigureError {
                line: one.line.min(other.line),
                other: Some(one.line.max(other.line)),
                text: text.to_owned(),
            });
        }
    }
    Ok(())
}

/// True if both templates match the CompIDs of some counterparty.
fn share_counterparties(one: &SessionSettings, other: &SessionSettings) -> bool {
    let (one, other) = (&one.config.id, &other.config.id);
    let meet = |one: &str, other: &str| one == "*" || other == "*" || one == other;
    one.begin_string == other.begin_string
        && meet(&one.sender_comp_id, &other.sender_comp_id)
        && meet(&one.target_comp_id, &other.target_comp_id)
}

/// True if two sections have the same protection.
fn guard_alike(one: &SessionSettings, other: &SessionSettings) -> bool {
    let lists = |session: &SessionSettings| match &session.connection {
        ConnectionSettings::Acceptor { allowed, certificates, .. } => {
            (allowed.clone(), certificates.clone())
        }
        ConnectionSettings::Initiator { .. } => Default::default(),
    };
    one.tls == other.tls
        && lists(one) == lists(other)
        && one.config.required_username == other.config.required_username
        && one.config.required_password == other.config.required_password
}

//! The line that a captured packet belongs to.

use std::net::SocketAddr;

use super::merge::MergedPacket;
use crate::handler::FeedLine;

/// Assigns packets to lines A and B and the snapshots, by destination or by capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineMap {
    by_destination: Vec<(SocketAddr, FeedLine)>,
    by_input: Vec<(usize, FeedLine)>,
}

impl LineMap {
    /// Creates a map in which no packet belongs to a line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line by the address that its packets are sent to.
    pub fn destination(mut self, address: impl Into<SocketAddr>, source: FeedLine) -> Self {
        self.by_destination.push((address.into(), source));
        self
    }

    /// Adds a line by the index of its capture in a [`Merge`](super::Merge): every packet of the
    /// capture belongs to it, whatever its destination.
    pub fn input(mut self, index: usize, source: FeedLine) -> Self {
        self.by_input.push((index, source));
        self
    }

    /// Returns the line of a packet; `None` if it belongs to none.
    pub fn source(&self, merged: &MergedPacket<'_>) -> Option<FeedLine> {
        let by_input = self.by_input.iter().find(|(input, _)| *input == merged.input);
        if let Some((_, source)) = by_input {
            return Some(*source);
        }
        let destination = merged.packet.destination?;
        let found = self.by_destination.iter().find(|(address, _)| *address == destination);
        found.map(|(_, source)| *source)
    }

    /// Returns the lines, those by destination first.
    pub fn sources(&self) -> impl Iterator<Item = FeedLine> {
        let by_input = self.by_input.iter().map(|(_, source)| *source);
        let mut seen = Vec::new();
        let all = self.by_destination.iter().map(|(_, source)| *source).chain(by_input);
        all.filter(move |source| {
            !seen.contains(source) && {
                seen.push(*source);
                true
            }
        })
    }
}

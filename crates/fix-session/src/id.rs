//! Identity of a session: version and CompIDs.

use std::fmt;

use tickwire_fix::{FixMessage, Tag};

/// The version of the session protocol, BeginString (8). In the standard's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BeginString {
    /// `FIX.4.0`.
    Fix40,
    /// `FIX.4.1`.
    Fix41,
    /// `FIX.4.2`.
    Fix42,
    /// `FIX.4.3`.
    Fix43,
    /// `FIX.4.4`.
    Fix44,
    /// `FIXT.1.1`.
    Fixt11,
}

impl BeginString {
    /// All versions.
    pub const ALL: [Self; 6] =
        [Self::Fix40, Self::Fix41, Self::Fix42, Self::Fix43, Self::Fix44, Self::Fixt11];

    /// Returns the value of BeginString.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fix40 => "FIX.4.0",
            Self::Fix41 => "FIX.4.1",
            Self::Fix42 => "FIX.4.2",
            Self::Fix43 => "FIX.4.3",
            Self::Fix44 => "FIX.4.4",
            Self::Fixt11 => "FIXT.1.1",
        }
    }

    /// Returns the version for a value of BeginString.
    pub fn parse(text: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str().as_bytes() == text)
    }
}

impl fmt::Display for BeginString {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// The version of application messages, ApplVerID (1128, 1137). In the standard's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApplVersion {
    /// `2`.
    Fix40,
    /// `3`.
    Fix41,
    /// `4`.
    Fix42,
    /// `5`.
    Fix43,
    /// `6`.
    Fix44,
    /// `7`.
    Fix50,
    /// `8`.
    Fix50Sp1,
    /// `9`.
    Fix50Sp2,
}

impl ApplVersion {
    const NAMED: [(Self, &'static str, &'static str); 8] = [
        (Self::Fix40, "2", "FIX.4.0"),
        (Self::Fix41, "3", "FIX.4.1"),
        (Self::Fix42, "4", "FIX.4.2"),
        (Self::Fix43, "5", "FIX.4.3"),
        (Self::Fix44, "6", "FIX.4.4"),
        (Self::Fix50, "7", "FIX.5.0"),
        (Self::Fix50Sp1, "8", "FIX.5.0SP1"),
        (Self::Fix50Sp2, "9", "FIX.5.0SP2"),
    ];

    /// Returns the version for a wire value such as `9` or a name such as `FIX.5.0SP2`. FIX Latest
    /// (`10`) is read as FIX 5.0 SP2.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text == b"10" {
            return Some(Self::Fix50Sp2);
        }
        let named = Self::NAMED
            .iter()
            .find(|(_, code, name)| code.as_bytes() == text || name.as_bytes() == text);
        named.map(|(version, ..)| *version)
    }

    /// Returns the value on the wire.
    pub fn code(self) -> &'static str {
        Self::NAMED.iter().find(|(version, ..)| *version == self).map_or("", |(_, code, _)| code)
    }
}

/// The identity of a session, seen from this side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId {
    /// The version.
    pub begin_string: BeginString,
    /// This side: SenderCompID of sent messages.
    pub sender_comp_id: String,
    /// The counterparty: TargetCompID of sent messages.
    pub target_comp_id: String,
    /// Distinguishes sessions with the same version and CompIDs; usually empty.
    pub qualifier: String,
}

impl SessionId {
    /// Creates the id of a session without qualifier.
    pub fn new(
        begin_string: BeginString,
        sender_comp_id: impl Into<String>,
        target_comp_id: impl Into<String>,
    ) -> Self {
        Self {
            begin_string,
            sender_comp_id: sender_comp_id.into(),
            target_comp_id: target_comp_id.into(),
            qualifier: String::new(),
        }
    }

    /// Returns a name for files. Characters other than letters, digits, `.`, `-` and `_` become `%`
    /// and two hex digits, so different sessions have different names.
    pub fn file_name(&self) -> String {
        let mut name = String::new();
        let parts = [
            self.begin_string.as_str(),
            &self.sender_comp_id,
            &self.target_comp_id,
            &self.qualifier,
        ];
        let used = if self.qualifier.is_empty() { 3 } else { 4 };
        for (index, part) in parts.into_iter().take(used).enumerate() {
            if index > 0 {
                name.push('-');
            }
            for byte in part.bytes() {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' => {
                        name.push(char::from(byte));
                    }
                    _ => name.push_str(&format!("%{byte:02x}")),
                }
            }
        }
        name
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}->{}", self.begin_string, self.sender_comp_id, self.target_comp_id)?;
        if !self.qualifier.is_empty() {
            write!(out, ":{}", self.qualifier)?;
        }
        Ok(())
    }
}

/// Version and CompIDs of a first message, by which an acceptor finds the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerIdentity {
    /// The session, seen from this side.
    pub id: SessionId,
    /// True if the message is a Logon.
    pub is_logon: bool,
}

impl PeerIdentity {
    /// Returns the session that a message is for; `None` if the version is unknown, or a CompID is
    /// missing or not UTF-8.
    pub fn of(message: &FixMessage<'_, '_>) -> Option<Self> {
        let text = |tag: Tag| {
            let value = message.field(tag)?.value;
            (!value.is_empty()).then(|| String::from_utf8(value.to_vec()).ok()).flatten()
        };
        let id = SessionId::new(
            BeginString::parse(message.begin_string())?,
            text(Tag::TARGET_COMP_ID)?,
            text(Tag::SENDER_COMP_ID)?,
        );
        Some(Self { id, is_logon: message.msg_type() == b"A" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_they_appeared() {
        assert!(BeginString::ALL.is_sorted());
        for version in BeginString::ALL {
            assert_eq!(BeginString::parse(version.as_str().as_bytes()), Some(version));
        }
        assert_eq!(BeginString::parse(b"FIX.3.9"), None);
        assert_eq!(ApplVersion::parse(b"FIX.5.0SP2").map(ApplVersion::code), Some("9"));
        assert_eq!(ApplVersion::parse(b"0"), None);
    }

    #[test]
    fn a_first_message_names_the_session_seen_from_the_other_side() {
        let identity = |text: &str| {
            let body = text.replace('|', "\u{1}");
            let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len()).into_bytes();
            let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
            bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
            PeerIdentity::of(&tickwire_fix::Reader::new().decode(&bytes).expect("whole"))
        };
        let id = SessionId::new(BeginString::Fix44, "HERE", "THERE");
        let logon = identity("35=A|34=1|49=THERE|52=x|56=HERE|");
        assert_eq!(logon, Some(PeerIdentity { id: id.clone(), is_logon: true }));
        let heartbeat = identity("35=0|34=1|49=THERE|52=x|56=HERE|");
        assert_eq!(heartbeat, Some(PeerIdentity { id, is_logon: false }));
        assert_eq!(identity("35=A|34=1|49=THERE|52=x|"), None);
        assert_eq!(identity("35=A|34=1|49=THERE|56=|"), None);
    }

    #[test]
    fn a_name_shows_the_qualifier_only_where_there_is_one() {
        let mut id = SessionId::new(BeginString::Fix44, "HERE", "THERE");
        assert_eq!(id.to_string(), "FIX.4.4:HERE->THERE");
        id.qualifier = "2".to_owned();
        assert_eq!(id.to_string(), "FIX.4.4:HERE->THERE:2");
    }

    #[test]
    fn file_names_tell_sessions_apart() {
        let name = |sender: &str, target: &str| {
            SessionId::new(BeginString::Fix42, sender, target).file_name()
        };
        assert_eq!(name("TEX_DLD", "DLD"), "FIX.4.2-TEX_DLD-DLD");
        assert_ne!(name("A-B", "C"), name("A", "B-C"));
        assert!(!name("../../x", "y").contains('/'));
    }
}

//! Framings of known exchanges.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use super::description::{ChunkFields, Envelope, Framing, FramingResetPolicy, NumberField};
use super::message_header::MessageHeader;
use crate::endian::Endian;

/// The framing of an exchange's feed, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// B3 (Brazil), UMDF.
    B3Umdf,
    /// CME (Chicago), FAST feeds up to 2014.
    Cme,
    /// CQG Quotes Direct.
    Cqg,
    /// Eurex, Xetra and the exchanges on the T7 technology.
    EurexT7,
    /// Moscow Exchange, equities and currencies.
    MoexAsts,
    /// Moscow Exchange, derivatives up to about 2015.
    MoexForts,
    /// Moscow Exchange, derivatives since then.
    MoexSpectra,
    /// Bare FAST bytes.
    None,
    /// Shenzhen Stock Exchange, STEP.
    SzseStep,
}

/// Names, description and framing of a preset.
struct PresetEntry {
    preset: Preset,
    name: &'static str,
    aliases: &'static [&'static str],
    description: &'static str,
    framing: Framing,
}

const BARE: Framing = Framing {
    preamble_bytes: 0,
    seq_num: None,
    length: None,
    chunks: None,
    envelope: Envelope::Bare,
    message_header: MessageHeader::None,
    reset: FramingResetPolicy::Template,
    reset_template: None,
};

const fn field(offset: usize, width: usize, endian: Endian) -> NumberField {
    match NumberField::new(offset, width, endian) {
        Ok(field) => field,
        Err(_) => panic!("fields of presets are possible"),
    }
}

const ENTRIES: [PresetEntry; 9] = [
    PresetEntry {
        preset: Preset::Cme,
        name: "cme",
        aliases: &["cme-fast", "cme-mdp2"],
        description: "5-byte preamble: sequence number (u32 big-endian), subchannel (u8). One or \
                      more messages. All dictionaries are reset before every packet.",
        framing: Framing {
            preamble_bytes: 5,
            seq_num: Some(field(0, 4, Endian::Big)),
            reset: FramingResetPolicy::Packet,
            ..BARE
        },
    },
    PresetEntry {
        preset: Preset::MoexAsts,
        name: "moex-asts",
        aliases: &["asts", "moex"],
        description: "4-byte preamble: MsgSeqNum (u32 little-endian). One message. All \
                      dictionaries are reset before every packet.",
        framing: Framing {
            preamble_bytes: 4,
            seq_num: Some(field(0, 4, Endian::Little)),
            reset: FramingResetPolicy::Packet,
            ..BARE
        },
    },
    PresetEntry {
        preset: Preset::MoexSpectra,
        name: "moex-spectra",
        aliases: &["spectra"],
        description: "4-byte preamble: MsgSeqNum (u32 little-endian). One message. All \
                      dictionaries are reset before every packet (the templates keep no state).",
        framing: Framing {
            preamble_bytes: 4,
            seq_num: Some(field(0, 4, Endian::Little)),
            reset: FramingResetPolicy::Packet,
            ..BARE
        },
    },
    PresetEntry {
        preset: Preset::MoexForts,
        name: "moex-forts",
        aliases: &["forts"],
        description: "No preamble. Each packet starts with a Reset message (template 120); \
                      dictionaries are reset where templates say, by their reset attribute.",
        framing: BARE,
    },
    PresetEntry {
        preset: Preset::B3Umdf,
        name: "b3-umdf",
        aliases: &["b3", "umdf", "bvmf"],
        description: "10-byte preamble, big-endian: sequence number (u32), chunk count (u16), \
                      chunk number from 1 (u16), length (u16). A message may be split over \
                      chunks and is put together. All dictionaries are reset before every message.",
        framing: Framing {
            preamble_bytes: 10,
            seq_num: Some(field(0, 4, Endian::Big)),
            length: Some(field(8, 2, Endian::Big)),
            chunks: Some(ChunkFields {
                count: field(4, 2, Endian::Big),
                number: field(6, 2, Endian::Big),
            }),
            reset: FramingResetPolicy::Message,
            ..BARE
        },
    },
    PresetEntry {
        preset: Preset::EurexT7,
        name: "eurex-t7",
        aliases: &["eurex", "t7", "xetra-t7", "bse", "mcx"],
        description: "No preamble: the packet header is a FAST message (template 72) that holds \
                      the sequence number. A message of template 120 resets all dictionaries, \
                      whether the template file has it or not, and so do reset attributes. Every \
                      packet starts with both, so all dictionaries are reset before it too: a \
                      failure stays in its packet. Many messages; the template id is left out \
                      where it repeats.",
        framing: Framing { reset: FramingResetPolicy::Packet, reset_template: Some(120), ..BARE },
    },
    PresetEntry {
        preset: Preset::Cqg,
        name: "cqg",
        aliases: &["cqg-quotes-direct"],
        description: "No preamble. Dictionaries and the template id run on over messages and are \
                      never reset.",
        framing: Framing { reset: FramingResetPolicy::Never, ..BARE },
    },
    PresetEntry {
        preset: Preset::SzseStep,
        name: "szse-step",
        aliases: &["szse", "step"],
        description: "FIXT 1.1 messages with 1 to 3 FAST messages in RawData (96), as long as \
                      RawDataLength (95) says; a packet that does not start with 8=FIX is one \
                      such block. All dictionaries are reset before every block.",
        framing: Framing { envelope: Envelope::Step, reset: FramingResetPolicy::Packet, ..BARE },
    },
    PresetEntry {
        preset: Preset::None,
        name: "none",
        aliases: &["bare"],
        description: "No preamble. Dictionaries are reset where templates say, by their reset \
                      attribute.",
        framing: BARE,
    },
];

/// Heartbeat interval if no document gives one.
const HEARTBEAT_NS: u64 = 60_000_000_000;

impl Preset {
    /// All presets, in the order to list them.
    pub const ALL: [Self; 9] = {
        let mut all = [Self::None; 9];
        let mut index = 0;
        while index < all.len() {
            all[index] = ENTRIES[index].preset;
            index += 1;
        }
        all
    };

    /// Returns the name that [`FromStr`] takes.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns the other names that [`FromStr`] takes.
    pub fn aliases(self) -> &'static [&'static str] {
        self.entry().aliases
    }

    /// Returns a description of preamble, sequence number, chunks and reset, in words.
    pub fn description(self) -> &'static str {
        self.entry().description
    }

    /// Returns the longest time between two packets of a channel in a session, in nanoseconds: 30 s
    /// for CME, B3 and MOEX, 10 s for T7. These are our own defaults, not checked against the
    /// exchanges' documents. `None` if none is known.
    pub const fn heartbeat_ns(self) -> Option<u64> {
        match self {
            Self::B3Umdf | Self::Cme | Self::MoexAsts | Self::MoexForts | Self::MoexSpectra => {
                Some(30_000_000_000)
            }
            Self::EurexT7 => Some(10_000_000_000),
            Self::Cqg | Self::None | Self::SzseStep => None,
        }
    }

    /// Returns the preset that the text of a framing begins with: `cme`, or `cme,envelope=counted`.
    pub fn named_in(text: &str) -> Option<Self> {
        text.split(',').next()?.trim().parse().ok()
    }

    /// Returns the heartbeat interval of a feed in nanoseconds: that of the named preset, even if
    /// its framing was changed, else the result of [`heartbeat_of`](Self::heartbeat_of). 60 s if
    /// the preset has none.
    pub fn heartbeat_for(named: Option<Self>, framing: &Framing) -> u64 {
        match named {
            Some(preset) => preset.heartbeat_ns().unwrap_or(HEARTBEAT_NS),
            None => Self::heartbeat_of(framing),
        }
    }

    /// Returns the heartbeat interval of a feed of which only the framing is known, in nanoseconds:
    /// the longest of all presets with this framing. 60 s, a guess on the safe side, if one of them
    /// has none or no preset has this framing.
    pub fn heartbeat_of(framing: &Framing) -> u64 {
        let presets = Self::ALL.into_iter().filter(|preset| preset.framing() == *framing);
        let longest = presets.map(|preset| preset.heartbeat_ns().unwrap_or(HEARTBEAT_NS)).max();
        longest.unwrap_or(HEARTBEAT_NS)
    }

    /// Returns the framing.
    pub fn framing(self) -> Framing {
        self.entry().framing
    }

    fn entry(self) -> &'static PresetEntry {
        const { &ENTRIES }
            .iter()
            .find(|entry| entry.preset == self)
            .expect("every preset has an entry")
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no [`Preset`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPreset;

impl fmt::Display for UnknownPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown framing: give one of")?;
        Preset::ALL.iter().try_for_each(|preset| write!(f, " {preset}"))
    }
}

impl Error for UnknownPreset {}

impl FromStr for Preset {
    type Err = UnknownPreset;

    /// Parses a name or an alias. Case is ignored; `-` and `_` are the same.
    fn from_str(name: &str) -> Result<Self, UnknownPreset> {
        let wanted = name.to_ascii_lowercase().replace('_', "-");
        ENTRIES
            .iter()
            .find(|entry| entry.name == wanted || entry.aliases.contains(&wanted.as_str()))
            .map(|entry| entry.preset)
            .ok_or(UnknownPreset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_alias_parses_to_one_preset() {
        let mut names = Vec::new();
        for preset in Preset::ALL {
            names.push(preset.name());
            names.extend(preset.aliases());
            assert_eq!(preset.name().parse(), Ok(preset));
            assert!(preset.aliases().iter().all(|alias| alias.parse() == Ok(preset)));
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!("MOEX_ASTS".parse(), Ok(Preset::MoexAsts));
        assert_eq!("nyse".parse::<Preset>(), Err(UnknownPreset));
    }

    #[test]
    fn a_preset_that_is_named_has_its_own_heartbeat_however_its_framing_is_changed() {
        let seconds = [
            (Preset::B3Umdf, 30),
            (Preset::Cme, 30),
            (Preset::Cqg, 60),
            (Preset::EurexT7, 10),
            (Preset::MoexAsts, 30),
            (Preset::MoexForts, 30),
            (Preset::MoexSpectra, 30),
            (Preset::None, 60),
            (Preset::SzseStep, 60),
        ];
        assert_eq!(seconds.len(), Preset::ALL.len());
        for (preset, seconds) in seconds {
            let changed = preset.framing().reset(FramingResetPolicy::Never);
            for framing in [preset.framing(), changed] {
                let interval_ns = Preset::heartbeat_for(Some(preset), &framing);
                assert_eq!(interval_ns, seconds * 1_000_000_000, "{preset}");
            }
            assert_eq!(Preset::named_in(preset.name()), Some(preset));
        }
        assert_eq!(Preset::named_in("CME, envelope=counted"), Some(Preset::Cme));
        assert_eq!(Preset::named_in("preamble=5,seq=0:4:be"), None);
    }

    #[test]
    fn heartbeats_of_framings_are_the_longest_of_their_presets_or_a_minute() {
        for (preset, seconds) in [
            (Preset::Cme, 30),
            (Preset::B3Umdf, 30),
            (Preset::MoexAsts, 30),
            (Preset::EurexT7, 10),
            (Preset::None, 60),
            (Preset::Cqg, 60),
        ] {
            assert_eq!(
                Preset::heartbeat_of(&preset.framing()),
                seconds * 1_000_000_000,
                "{preset}"
            );
        }
    }

    #[test]
    fn every_preset_is_a_framing_that_can_be_built() {
        for preset in Preset::ALL {
            let framing = preset.framing();
            assert_eq!(framing.preamble(framing.preamble_bytes()), Ok(framing), "{preset}");
        }
    }
}

//! The candidate framings, without their reset policies.

use std::sync::Arc;

use tickwire_fast::{Program, TemplateId, TemplateSet};

use super::super::description::{Envelope, Framing};
use super::super::message_header::MessageHeader;
use super::super::preset::Preset;
use super::super::step::is_fixt;
use super::preamble;
use super::{Detected, PREAMBLE_BYTES_TRIED};
use crate::endian::Endian;

/// Template that resets dictionaries by convention, on Eurex and in Moscow.
const RESET_TEMPLATE: u32 = 120;

/// A candidate framing, and the templates that it needs.
#[derive(Clone, Debug)]
pub(super) struct FramingCandidate {
    /// The framing; its reset policy is ignored.
    pub(super) framing: Framing,
    pub(super) program: Arc<Program>,
    /// Order among shapes that decode the same packets: the one that demands more is tried first.
    pub(super) rank: Rank,
}

impl FramingCandidate {
    /// Returns a candidate framing with these templates; `None` if they do not compile.
    pub(super) fn new(framing: Framing, set: &TemplateSet) -> Option<Self> {
        let program = Arc::new(Program::compile(set.clone()).ok()?);
        Some(Self { framing, program, rank: Rank::Lengths })
    }
}

/// Strictness of a shape's conditions on packets. The strictest is first and is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Lengths must be correct.
    Lengths,
    /// Skips this many bytes; fewer are preferred, because skipped bytes may be messages.
    Preamble(usize),
    /// A reset template is added to the set.
    ResetTemplate,
}

/// Returns the shapes to try for these packets.
pub(super) fn shapes(packets: &[&[u8]], set: &TemplateSet) -> Vec<FramingCandidate> {
    let Ok(program) = Program::compile(set.clone()) else { return Vec::new() };
    let program = Arc::new(program);
    let shape = |framing, rank| FramingCandidate { framing, program: program.clone(), rank };
    let fixt = packets.iter().filter(|packet| is_fixt(packet)).count();
    if 2 * fixt > packets.len() {
        return vec![shape(Preset::SzseStep.framing(), Rank::Lengths)];
    }
    let mut shapes = vec![shape(Preset::B3Umdf.framing(), Rank::Lengths)];
    let headers =
        headers().into_iter().filter_map(|header| Framing::new().message_header(header).ok());
    shapes.extend(headers.map(|framing| shape(framing, Rank::Lengths)));
    for len in 0..=PREAMBLE_BYTES_TRIED {
        if let Some(framing) = preamble::framing(packets, len) {
            shapes.push(shape(framing, Rank::Preamble(len)));
        }
    }
    shapes.extend(with_reset_template(set));
    shapes
}

fn headers() -> Vec<MessageHeader> {
    let fixed = |length_bytes, endian| MessageHeader::Fixed {
        prefix_bytes: 0,
        length_bytes,
        endian,
        suffix_bytes: 0,
    };
    vec![
        fixed(1, Endian::Big),
        fixed(2, Endian::Big),
        fixed(2, Endian::Little),
        fixed(4, Endian::Big),
        fixed(4, Endian::Little),
        MessageHeader::Encoded { prefix_fields: 0, suffix_fields: 0 },
        MessageHeader::Encoded { prefix_fields: 1, suffix_fields: 0 },
    ]
}

/// Returns the shape without a preamble whose template 120 resets although the set does not say so.
fn with_reset_template(set: &TemplateSet) -> Option<FramingCandidate> {
    let id = TemplateId(RESET_TEMPLATE);
    let declared = set.by_id(id).and_then(|index| set.templates().get(index));
    if declared.is_some_and(|template| template.reset || !template.instructions.is_empty()) {
        return None;
    }
    let program = Program::compile(set.clone().with_reset_template(id)).ok()?;
    let framing = Framing::new().reset_template(RESET_TEMPLATE);
    Some(FramingCandidate { framing, program: Arc::new(program), rank: Rank::ResetTemplate })
}

/// Returns the preset with this framing, sequence number included.
pub(super) fn preset_of(framing: &Framing) -> Option<Preset> {
    Preset::ALL.into_iter().find(|preset| preset.framing() == *framing)
}

/// Returns the other presets without a preamble that give the same values as this result.
pub(super) fn presets_alike(found: &Detected, set: &TemplateSet) -> Vec<Preset> {
    let policy = found.framing.reset_policy();
    let resets_with = |id: u32| {
        let index = set.by_id(TemplateId(id));
        index.and_then(|index| set.templates().get(index)).is_some_and(|template| template.reset)
    };
    let is_alike = |preset: &Preset| {
        let framing = preset.framing();
        let same = Framing { reset_template: None, ..framing.reset(policy) };
        let gives_same =
            framing.reset_policy() == policy || found.equivalent.contains(&framing.reset_policy());
        found.preset == Some(Preset::None)
            && *preset != Preset::None
            && same == found.framing.reset(policy)
            && gives_same
            && framing.reset_template_id().is_none_or(resets_with)
    };
    Preset::ALL.into_iter().filter(is_alike).collect()
}

/// Returns the presets of this shape, whatever their reset policy.
pub(super) fn presets_like(framing: &Framing) -> impl Iterator<Item = Preset> {
    let bare = framing.packet_envelope() == Envelope::Bare;
    let policy = framing.reset_policy();
    let framing = *framing;
    Preset::ALL.into_iter().filter(move |preset| {
        let like = preset.framing().reset(policy);
        // Without a preamble exchanges cannot be distinguished: "none" stands for all of them.
        like == framing
            && (!bare
                || framing.preamble_bytes() > 0
                || *preset == Preset::None
                || framing.reset_template_id().is_some())
    })
}

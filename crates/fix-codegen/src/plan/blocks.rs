//! Components whose accessors are generated once rather than in every message.
//!
//! The compiler takes about 15 KB and 0.1 ms for each accessor, and a large dictionary repeats
//! those of Instrument in a hundred messages and groups. The components that repeat most become
//! traits with their accessors until few enough accessors are left.

use std::collections::{HashMap, HashSet};

use tickwire_fix::dictionary::ComponentDef;

use super::{DictionaryPlan, FieldRepresentation, MemberPlan};
use crate::names::{self, Scope};

/// Minimum number of accessors that a block must save.
const SAVED_MIN: usize = 100;

/// Optional members that several structs share, with the same names and types.
#[derive(Debug)]
pub(crate) struct BlockPlan {
    /// Name of the trait.
    pub(crate) ident: String,
    /// Name in the dictionary.
    pub(crate) name: String,
    pub(crate) members: Vec<MemberPlan>,
    /// Ranges of members that are consecutive in the dictionary.
    pub(crate) segments: Vec<std::ops::Range<usize>>,
}

impl BlockPlan {
    /// True if the block has the member.
    pub(crate) fn has(&self, tag: u32) -> bool {
        self.members.iter().any(|member| member.tag == tag)
    }
}

/// A component and the structs that contain it.
struct ComponentUse<'d> {
    component: &'d ComponentDef,
    users: Vec<usize>,
    /// Tags of the members that are equal in all of them.
    shared: Vec<u32>,
}

impl ComponentUse<'_> {
    fn saved(&self) -> usize {
        self.users.len().saturating_sub(1) * self.shared.len()
    }
}

/// Determines the shared blocks of a plan whose structs are complete.
pub(super) fn share(
    plan: &mut DictionaryPlan,
    components: &[ComponentDef],
    types: &mut Scope,
    accessors_max: usize,
) {
    let places: Vec<HashMap<u32, usize>> =
        plan.structs.iter().map(|found| places(&found.members)).collect();
    let mut left: usize = places.iter().map(HashMap::len).sum();
    let mut taken: HashSet<(usize, u32)> = HashSet::new();
    let users: Vec<Vec<usize>> =
        components.iter().map(|component| users(component, &places, plan)).collect();
    while left > accessors_max {
        let candidates = components.iter().zip(&users).map(|(component, users)| {
            let users = users.clone();
            let shared = shared(plan, component, &users, &places, &taken);
            ComponentUse { component, users, shared }
        });
        let Some(best) = candidates.max_by_key(ComponentUse::saved) else { return };
        if best.saved() < SAVED_MIN {
            return;
        }
        left -= best.saved();
        taken
            .extend(best.users.iter().flat_map(|user| best.shared.iter().map(|tag| (*user, *tag))));
        add(plan, &best, &places, types);
    }
}

/// Returns the indexes of the members that have accessors, by tag.
fn places(members: &[MemberPlan]) -> HashMap<u32, usize> {
    let members = members.iter().enumerate().filter(|(_, member)| member.has_accessors());
    members.map(|(place, member)| (member.tag, place)).collect()
}

/// Returns the structs that contain all fields of a component.
fn users(
    component: &ComponentDef,
    places: &[HashMap<u32, usize>],
    plan: &DictionaryPlan,
) -> Vec<usize> {
    let has = |user: usize, tag: u32| {
        places[user].contains_key(&tag)
            || plan.structs[user].members.iter().any(|member| member.tag == tag)
    };
    let has_all = |user: &usize| component.members().iter().all(|member| has(*user, member.tag.0));
    (0..places.len()).filter(has_all).collect()
}

/// Returns the tags of a component whose members are optional, equal in all structs, and not yet in
/// a block.
fn shared(
    plan: &DictionaryPlan,
    component: &ComponentDef,
    users: &[usize],
    places: &[HashMap<u32, usize>],
    taken: &HashSet<(usize, u32)>,
) -> Vec<u32> {
    let member = |user: usize, tag: u32| {
        places[user].get(&tag).and_then(|place| plan.structs[user].members.get(*place))
    };
    let is_shared = |tag: &u32| {
        let Some(first) = users.first().and_then(|user| member(*user, *tag)) else { return false };
        !first.required
            && users
                .iter()
                .all(|user| member(*user, *tag) == Some(first) && !taken.contains(&(*user, *tag)))
    };
    component.members().iter().map(|member| member.tag.0).filter(is_shared).collect()
}

fn add(
    plan: &mut DictionaryPlan,
    found: &ComponentUse<'_>,
    places: &[HashMap<u32, usize>],
    types: &mut Scope,
) {
    let Some(first) = found.users.first().copied() else { return };
    let all = &plan.structs[first].members;
    let members: Vec<MemberPlan> =
        found.shared.iter().map(|tag| all[places[first][tag]].clone()).collect();
    let name = found.component.name().to_owned();
    let ident = types.take(format!("{}Fields", names::camel(&name)), "");
    let segments = segments(found, all);
    for user in &found.users {
        plan.structs[*user].blocks.push(plan.blocks.len());
    }
    plan.blocks.push(BlockPlan { ident, name, members, segments });
}

/// Returns the ranges of members that are consecutive in the component.
fn segments(found: &ComponentUse<'_>, all: &[MemberPlan]) -> Vec<std::ops::Range<usize>> {
    let mut segments: Vec<std::ops::Range<usize>> = Vec::new();
    let mut is_open = false;
    let mut place = 0;
    for member in found.component.members() {
        let is_length = all
            .iter()
            .any(|known| known.tag == member.tag.0 && known.kind == FieldRepresentation::Length);
        if found.shared.get(place) != Some(&member.tag.0) {
            is_open &= is_length;
            continue;
        }
        match segments.last_mut().filter(|_| is_open) {
            Some(segment) => segment.end = place + 1,
            None => segments.push(place..place + 1),
        }
        is_open = true;
        place += 1;
    }
    segments
}

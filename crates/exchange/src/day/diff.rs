//! Computes the entries that turn one book into another in a feed of price levels.

use tickwire_feed::book::{Level, Side};

/// MDUpdateAction (279).
pub(super) const NEW: u64 = 0;
pub(super) const CHANGE: u64 = 1;
pub(super) const DELETE: u64 = 2;
pub(super) const DELETE_THRU: u64 = 3;
pub(super) const DELETE_FROM: u64 = 4;
pub(super) const OVERLAY: u64 = 5;

/// A change of one side of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BookStep {
    pub(super) action: u64,
    pub(super) side: Side,
    /// Position from 1.
    pub(super) level: u32,
    /// The level's new content; for a delete only its price matters.
    pub(super) content: Level,
}

/// Returns the steps by position. `before` is the published book, `after` the whole side, of which
/// `depth` levels are published. With `overlays`, changes of sizes are sent as overlays.
pub(super) fn by_level(
    side: Side,
    before: &[Level],
    after: &[Level],
    depth: usize,
    overlays: bool,
) -> Vec<BookStep> {
    let mut steps = Vec::new();
    let mut told = before.to_vec();
    let stays = |level: &Level| after.iter().any(|other| other.price == level.price);
    let better = told.iter().take_while(|level| !stays(level)).count();
    if better > 1 {
        let content = told[better - 1];
        steps.push(BookStep { action: DELETE_THRU, side, level: better as u32, content });
        told.drain(..better);
    }
    let kept = told.iter().rposition(stays).map_or(0, |last| last + 1);
    if told.len() - kept > 1 {
        let content = told[kept];
        steps.push(BookStep { action: DELETE_FROM, side, level: kept as u32 + 1, content });
        told.truncate(kept);
    }
    while let Some(at) = told.iter().position(|level| !stays(level)) {
        let content = told.remove(at);
        steps.push(BookStep { action: DELETE, side, level: at as u32 + 1, content });
    }
    for (at, level) in after.iter().take(depth).enumerate() {
        let action = match told.get(at) {
            Some(old) if old == level => continue,
            Some(old) if old.price == level.price => {
                told[at] = *level;
                if overlays { OVERLAY } else { CHANGE }
            }
            _ => {
                told.insert(at, *level);
                told.truncate(depth);
                NEW
            }
        };
        steps.push(BookStep { action, side, level: at as u32 + 1, content: *level });
    }
    debug_assert!(told.iter().eq(after.iter().take(depth)));
    steps
}

/// Returns the steps by price, deletes first. `after` contains the published levels.
pub(super) fn by_price(side: Side, before: &[Level], after: &[Level]) -> Vec<BookStep> {
    let gone = before.iter().filter(|old| after.iter().all(|new| new.price != old.price));
    let step = |action, content: &Level| BookStep { action, side, level: 0, content: *content };
    let mut steps: Vec<BookStep> = gone.map(|level| step(DELETE, level)).collect();
    for level in after {
        match before.iter().find(|old| old.price == level.price) {
            Some(old) if old == level => {}
            Some(_) => steps.push(step(CHANGE, level)),
            None => steps.push(step(NEW, level)),
        }
    }
    steps
}

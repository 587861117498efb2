//! The checked program: what every engine runs and the generator prints.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::ast::CountEncoding;
use crate::host::{ActionId, ItemAction, ItemActions};
use crate::pattern::{ByteSet, Pattern, Shape, Union};

/// One statement of a checked program.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) statement: u32,
    pub(crate) kind: NodeKind,
    /// What lies between the mark and the position before the statement; for a loop or a switch,
    /// before every round of it.
    pub(crate) before: Since,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeKind {
    Execute {
        action: ActionId,
        /// Whether the bytes are always exactly one stop-bit item.
        stop_bit: bool,
    },
    Loop {
        until: Option<End>,
        /// The bytes the body can start at.
        first: ByteSet,
        body: Vec<Node>,
    },
    Match(Arc<Pattern>),
    Push,
    Repeat {
        count: CountSource,
        body: Vec<Node>,
    },
    Send {
        code: u32,
        value: u64,
    },
    Switch {
        cases: Vec<CaseNode>,
        union: Arc<Union>,
    },
    WhileCount {
        count: CountSource,
        body: Vec<Node>,
        /// Whether a round of the body may consume nothing, so that the engine has to look.
        may_stall: bool,
    },
}

/// The pattern that ends a loop.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) pattern: Arc<Pattern>,
    /// Whether it must reach the end of the input.
    pub(crate) last: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum CountSource {
    Bytes { encoding: CountEncoding, pattern: Arc<Pattern> },
    Value,
}

#[derive(Clone, Debug)]
pub(crate) struct CaseNode {
    pub(crate) pattern: Arc<Pattern>,
    pub(crate) body: Vec<Node>,
}

/// What is known of the bytes between the mark and the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// There are none.
    Empty,
    /// None has the top bit; there may be none.
    Open,
    /// Exactly one stop-bit item.
    Item,
    /// Anything.
    Other,
}

impl Node {
    /// What happens to the stop-bit items that the statement hands out, one after the other to the end
    /// of the input; `None` if it is no switch on the top bit, each case of which gives its item to an
    /// action.
    pub(crate) fn item_actions(&self) -> Option<ItemActions> {
        let NodeKind::Switch { cases, .. } = &self.kind else { return None };
        let [first, second] = cases.as_slice() else { return None };
        if self.before != Since::Empty {
            return None;
        }
        let is = |case: &CaseNode, bytes: RangeInclusive<u8>| {
            case.pattern.shape == Shape::One(bytes.collect())
        };
        let (short, long) = match is(first, 0x80..=0xff) {
            true => (first, second),
            false => (second, first),
        };
        if !is(short, 0x80..=0xff) || !is(long, 0..=0x7f) {
            return None;
        }
        let (walk, rest) = long.body.split_first()?;
        match &walk.kind {
            NodeKind::Match(pattern) if pattern.shape == Shape::StopBit => {}
            _ => return None,
        }
        let (short, long) = (item_action(&short.body)?, item_action(rest)?);
        Some(ItemActions { short, long, walk_statement: walk.statement })
    }
}

/// An action with at most one event before it, if that is all that a case does with its item.
fn item_action(body: &[Node]) -> Option<ItemAction> {
    let (send, body) = match body {
        [Node { kind: NodeKind::Send { code, value }, .. }, rest @ ..] => {
            (Some((*code, *value)), rest)
        }
        _ => (None, body),
    };
    let (execute, rest) = body.split_first()?;
    let is_idle = |node: &Node| matches!(node.kind, NodeKind::Push) && node.before == Since::Empty;
    match execute.kind {
        NodeKind::Execute { action, stop_bit: true } if rest.iter().all(is_idle) => {
            Some(ItemAction { send, action, statement: execute.statement })
        }
        _ => None,
    }
}

/// Whether a round of `body` may consume nothing.
///
/// `in_count` says that it is a round of `WHILECNT`, which has bytes left: there, loops, switches and
/// counts inside are trusted to take some, and the engine reports the case in which they do not.
pub(crate) fn can_match_nothing(body: &[Node], in_count: bool) -> bool {
    body.iter().all(|node| match &node.kind {
        NodeKind::Execute { .. } | NodeKind::Push | NodeKind::Send { .. } => true,
        NodeKind::Match(pattern) => pattern.len_min == 0,
        NodeKind::Loop { until, .. } => until.is_none() && !in_count,
        NodeKind::Switch { .. } => !in_count,
        NodeKind::Repeat { count, .. } | NodeKind::WhileCount { count, .. } => {
            matches!(count, CountSource::Value) && !in_count
        }
    })
}

/// Shows every pattern of `body`, in the order of the text.
pub(crate) fn each_pattern(body: &[Node], show: &mut dyn FnMut(&Pattern)) {
    for node in body {
        match &node.kind {
            NodeKind::Match(pattern) => show(pattern),
            NodeKind::Loop { until, body, .. } => {
                until.iter().for_each(|end| show(&end.pattern));
                each_pattern(body, show);
            }
            NodeKind::Repeat { count, body } | NodeKind::WhileCount { count, body, .. } => {
                if let CountSource::Bytes { pattern, .. } = count {
                    show(pattern);
                }
                each_pattern(body, show);
            }
            NodeKind::Switch { cases, .. } => {
                for case in cases {
                    show(&case.pattern);
                    each_pattern(&case.body, show);
                }
            }
            NodeKind::Execute { .. } | NodeKind::Push | NodeKind::Send { .. } => {}
        }
    }
}

/// The bytes `body` can start at.
pub(crate) fn first(body: &[Node]) -> ByteSet {
    let mut set = ByteSet::EMPTY;
    for node in body {
        let (own, optional) = first_of(node);
        set = set.union(&own);
        if !optional {
            break;
        }
    }
    set
}

/// The bytes a statement can start at, and whether it may consume nothing.
fn first_of(node: &Node) -> (ByteSet, bool) {
    match &node.kind {
        NodeKind::Execute { .. } | NodeKind::Push | NodeKind::Send { .. } => (ByteSet::EMPTY, true),
        NodeKind::Match(pattern) => (pattern.dfa.first(), pattern.len_min == 0),
        NodeKind::Loop { until: Some(end), body, .. } => {
            (end.pattern.dfa.first().union(&first(body)), false)
        }
        NodeKind::Loop { first, .. } => (*first, true),
        NodeKind::Switch { cases, .. } => {
            let sets = cases.iter().map(|case| case.pattern.dfa.first());
            (sets.fold(ByteSet::EMPTY, |all, set| all.union(&set)), true)
        }
        NodeKind::Repeat { count, body } | NodeKind::WhileCount { count, body, .. } => {
            match count {
                CountSource::Bytes { pattern, .. } => (pattern.dfa.first(), false),
                CountSource::Value => (first(body), true),
            }
        }
    }
}

//! The checked program, which every engine runs and the generator prints.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::ast::{Comparison, CountEncoding, IntegerType};
use crate::host::{ActionId, ItemAction, ItemActions, NameId};
use crate::pattern::{ByteSet, Pattern, PatternShape, Union};

/// One statement of a checked program.
#[derive(Clone, Debug)]
pub(crate) struct StatementNode {
    pub(crate) statement: u32,
    pub(crate) kind: NodeKind,
    /// State of the bytes between the mark and the position before the statement; for a loop or a
    /// switch, before each of its rounds.
    pub(crate) before: Since,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeKind {
    /// A switch by the bytes at the position.
    Choose {
        cases: Vec<CaseNode>,
        union: Arc<Union>,
        default: Option<Vec<StatementNode>>,
    },
    /// A switch by a number.
    ChooseNumber {
        selector: OperandNode,
        cases: Vec<(Vec<i128>, Vec<StatementNode>)>,
        default: Option<Vec<StatementNode>>,
    },
    Execute {
        action: ActionId,
        /// True if the bytes are always exactly one stop-bit item.
        stop_bit: bool,
        /// True if the bytes begin at the second mark.
        from_mark: bool,
    },
    If {
        condition: Compare,
        body: Vec<StatementNode>,
        otherwise: Vec<StatementNode>,
    },
    Loop {
        until: Option<LoopEnd>,
        /// The bytes that can start the body.
        first: ByteSet,
        body: Vec<StatementNode>,
    },
    Mark,
    Match(Arc<Pattern>),
    Push,
    Read {
        name: NameId,
        source: ReadNode,
    },
    Repeat {
        count: CountNode,
        body: Vec<StatementNode>,
        /// True if a round may consume nothing, so that the engine must count such rounds.
        may_stall: bool,
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
        count: CountNode,
        body: Vec<StatementNode>,
        /// True if a round of the body may consume nothing, so that the engine must check.
        may_stall: bool,
    },
}

/// The pattern that ends a loop.
#[derive(Clone, Debug)]
pub(crate) struct LoopEnd {
    pub(crate) pattern: Arc<Pattern>,
    /// True if the match must reach the end of the input.
    pub(crate) last: bool,
}

/// A count with its adjustment.
#[derive(Clone, Debug)]
pub(crate) struct CountNode {
    pub(crate) source: CountSource,
    pub(crate) adjust: i128,
}

#[derive(Clone, Debug)]
pub(crate) enum CountSource {
    Bytes { encoding: CountEncoding, pattern: Arc<Pattern> },
    Name(NameNode),
    Number(u64),
    Value,
}

/// A name that a number is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NameNode {
    pub(crate) id: NameId,
    pub(crate) is_signed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum OperandNode {
    Name(NameNode),
    Number(i128),
    Value,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Compare {
    pub(crate) left: OperandNode,
    pub(crate) comparison: Comparison,
    pub(crate) right: OperandNode,
}

#[derive(Clone, Debug)]
pub(crate) enum ReadNode {
    Integer(IntegerType),
    Bytes { encoding: CountEncoding, pattern: Arc<Pattern> },
}

impl Comparison {
    /// Returns the operator's text, which is the same in grammars and, where it exists, in Rust.
    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::CommonBits => "&",
        }
    }

    /// True if `left` and `right` satisfy the comparison.
    pub(crate) const fn holds(self, left: i128, right: i128) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::CommonBits => left & right != 0,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct CaseNode {
    pub(crate) pattern: Arc<Pattern>,
    pub(crate) body: Vec<StatementNode>,
}

/// Static knowledge about the bytes between the mark and the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// No bytes.
    Empty,
    /// Zero or more bytes, none with the top bit.
    Open,
    /// Exactly one stop-bit item.
    Item,
    /// Any bytes.
    Other,
}

impl StatementNode {
    /// Returns the actions for the stop-bit items of this statement. `None` unless it is a switch
    /// on the top bit that hands each item up to the end of the input to an action.
    pub(crate) fn item_actions(&self) -> Option<ItemActions> {
        let NodeKind::Switch { cases, .. } = &self.kind else { return None };
        let [first, second] = cases.as_slice() else { return None };
        if self.before != Since::Empty {
            return None;
        }
        let is = |case: &CaseNode, bytes: RangeInclusive<u8>| {
            case.pattern.shape == PatternShape::One(bytes.collect())
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
            NodeKind::Match(pattern) if pattern.shape == PatternShape::StopBit => {}
            _ => return None,
        }
        let (short, long) = (item_action(&short.body)?, item_action(rest)?);
        Some(ItemActions { short, long, walk_statement: walk.statement })
    }
}

/// Returns the action, and the event before it if there is one, of a case that does nothing else
/// with its item.
fn item_action(body: &[StatementNode]) -> Option<ItemAction> {
    let (send, body) = match body {
        [StatementNode { kind: NodeKind::Send { code, value }, .. }, rest @ ..] => {
            (Some((*code, *value)), rest)
        }
        _ => (None, body),
    };
    let (execute, rest) = body.split_first()?;
    let is_idle =
        |node: &StatementNode| matches!(node.kind, NodeKind::Push) && node.before == Since::Empty;
    match execute.kind {
        NodeKind::Execute { action, stop_bit: true, .. } if rest.iter().all(is_idle) => {
            Some(ItemAction { send, action, statement: execute.statement })
        }
        _ => None,
    }
}

/// True if a round of `body` may consume nothing.
///
/// `in_count` is true for a round of `WHILECNT`, which has bytes left: loops, switches and counts
/// inside it are assumed to consume some of them, and the engine reports an error if they do not.
pub(crate) fn can_match_nothing(body: &[StatementNode], in_count: bool) -> bool {
    body.iter().all(|node| node_can_match_nothing(node, in_count))
}

fn node_can_match_nothing(node: &StatementNode, in_count: bool) -> bool {
    let nothing = |body: &[StatementNode]| can_match_nothing(body, in_count);
    match &node.kind {
        NodeKind::Execute { .. } | NodeKind::Mark | NodeKind::Push | NodeKind::Send { .. } => true,
        NodeKind::If { body, otherwise, .. } => nothing(body) || nothing(otherwise),
        // A case by pattern consumes bytes.
        NodeKind::Choose { default, .. } => default.as_ref().is_some_and(|body| nothing(body)),
        NodeKind::ChooseNumber { cases, default, .. } => {
            cases.iter().any(|(_, body)| nothing(body))
                || default.as_ref().is_some_and(|body| nothing(body))
        }
        NodeKind::Match(pattern) => pattern.len_min == 0,
        NodeKind::Read { source, .. } => match source {
            ReadNode::Integer(_) => false,
            ReadNode::Bytes { pattern, .. } => pattern.len_min == 0,
        },
        NodeKind::Loop { until, .. } => until.is_none() && !in_count,
        NodeKind::Switch { .. } => !in_count,
        NodeKind::Repeat { count, body, .. } => match count.source {
            CountSource::Bytes { .. } => false,
            CountSource::Number(rounds) if count.adjust == 0 => rounds == 0 || nothing(body),
            _ => !in_count,
        },
        NodeKind::WhileCount { count, .. } => {
            !matches!(count.source, CountSource::Bytes { .. }) && !in_count
        }
    }
}

/// Returns the blocks directly inside a statement.
pub(crate) fn bodies(node: &StatementNode) -> Vec<&[StatementNode]> {
    match &node.kind {
        NodeKind::Choose { cases, default, .. } => {
            let cases = cases.iter().map(|case| case.body.as_slice());
            cases.chain(default.iter().map(Vec::as_slice)).collect()
        }
        NodeKind::ChooseNumber { cases, default, .. } => {
            let cases = cases.iter().map(|(_, body)| body.as_slice());
            cases.chain(default.iter().map(Vec::as_slice)).collect()
        }
        NodeKind::If { body, otherwise, .. } => vec![body, otherwise],
        NodeKind::Loop { body, .. }
        | NodeKind::Repeat { body, .. }
        | NodeKind::WhileCount { body, .. } => vec![body],
        NodeKind::Switch { cases, .. } => cases.iter().map(|case| case.body.as_slice()).collect(),
        NodeKind::Execute { .. }
        | NodeKind::Mark
        | NodeKind::Match(_)
        | NodeKind::Push
        | NodeKind::Read { .. }
        | NodeKind::Send { .. } => Vec::new(),
    }
}

/// Returns the patterns of a statement itself, without those of its blocks.
pub(crate) fn patterns(node: &StatementNode) -> Vec<&Arc<Pattern>> {
    match &node.kind {
        NodeKind::Match(pattern) => vec![pattern],
        NodeKind::Loop { until, .. } => until.iter().map(|end| &end.pattern).collect(),
        NodeKind::Repeat { count, .. } | NodeKind::WhileCount { count, .. } => {
            match &count.source {
                CountSource::Bytes { pattern, .. } => vec![pattern],
                _ => Vec::new(),
            }
        }
        NodeKind::Read { source: ReadNode::Bytes { pattern, .. }, .. } => vec![pattern],
        NodeKind::Choose { cases, .. } | NodeKind::Switch { cases, .. } => {
            cases.iter().map(|case| &case.pattern).collect()
        }
        _ => Vec::new(),
    }
}

/// Calls `show` with every pattern of `body`, approximately in the order of the text.
pub(crate) fn each_pattern(body: &[StatementNode], show: &mut dyn FnMut(&Pattern)) {
    for node in body {
        patterns(node).into_iter().for_each(|pattern| show(pattern));
        bodies(node).into_iter().for_each(|body| each_pattern(body, show));
    }
}

/// Returns the bytes that can start `body`.
pub(crate) fn first(body: &[StatementNode]) -> ByteSet {
    let mut set = ByteSet::EMPTY;
    for node in body {
        set = set.union(&first_of(node));
        if !node_can_match_nothing(node, false) {
            break;
        }
    }
    set
}

/// Returns the bytes that can start a statement.
fn first_of(node: &StatementNode) -> ByteSet {
    let all = |sets: &mut dyn Iterator<Item = ByteSet>| {
        sets.fold(ByteSet::EMPTY, |all, set| all.union(&set))
    };
    match &node.kind {
        NodeKind::Execute { .. } | NodeKind::Mark | NodeKind::Push | NodeKind::Send { .. } => {
            ByteSet::EMPTY
        }
        NodeKind::Match(pattern) => pattern.dfa.first(),
        NodeKind::Read { source: ReadNode::Bytes { pattern, .. }, .. } => pattern.dfa.first(),
        NodeKind::Read { source: ReadNode::Integer(_), .. } => (0..=u8::MAX).collect(),
        NodeKind::Loop { until: Some(end), body, .. } => {
            end.pattern.dfa.first().union(&first(body))
        }
        NodeKind::Loop { first, .. } => *first,
        NodeKind::Switch { cases, .. } => {
            all(&mut cases.iter().map(|case| case.pattern.dfa.first()))
        }
        NodeKind::Choose { cases, default, .. } => {
            let cases = cases.iter().map(|case| case.pattern.dfa.first());
            all(&mut cases.chain(default.iter().map(|body| first(body))))
        }
        NodeKind::ChooseNumber { .. } | NodeKind::If { .. } => {
            all(&mut bodies(node).into_iter().map(first))
        }
        NodeKind::Repeat { count, body, .. } | NodeKind::WhileCount { count, body, .. } => {
            match &count.source {
                CountSource::Bytes { pattern, .. } => pattern.dfa.first(),
                _ => first(body),
            }
        }
    }
}

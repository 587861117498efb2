//! Data-flow analysis that finds the actions whose bytes are always exactly one stop-bit item. It
//! tracks the state of the bytes since the mark along every path of the program.

use crate::block::{CountNode, CountSource, NodeKind, ReadNode, Since, StatementNode, bodies};
use crate::pattern::{Pattern, TopBits};

/// Fills in the state before each statement.
pub(super) fn annotate(body: &mut [StatementNode]) {
    assign(body, Since::Empty);
}

/// The effect of a piece of program on each [`Since`], indexed by position in [`ALL`].
type Transfer = [Since; 4];

const ALL: Transfer = [Since::Empty, Since::Open, Since::Item, Since::Other];

fn apply(transfer: &Transfer, state: Since) -> Since {
    transfer[state as usize]
}

fn join(a: Since, b: Since) -> Since {
    match (a, b) {
        _ if a == b => a,
        (Since::Empty | Since::Open, Since::Empty | Since::Open) => Since::Open,
        _ => Since::Other,
    }
}

fn matched(pattern: &Pattern, state: Since) -> Since {
    match (pattern.top_bits, state) {
        _ if pattern.len_max == Some(0) => state,
        (TopBits::Never, Since::Empty | Since::Open) => Since::Open,
        (TopBits::LastOnly, Since::Empty | Since::Open) => Since::Item,
        _ => Since::Other,
    }
}

/// Returns the state before every round of a loop: the fixed point of `round` from `entry`.
fn head(entry: Since, round: &Transfer) -> Since {
    let mut state = entry;
    loop {
        let joined = join(state, apply(round, state));
        if joined == state {
            return state;
        }
        state = joined;
    }
}

fn block(body: &[StatementNode]) -> Transfer {
    body.iter().fold(ALL, |so_far, node| {
        let one = statement(node);
        so_far.map(|state| apply(&one, state))
    })
}

fn statement(node: &StatementNode) -> Transfer {
    match &node.kind {
        NodeKind::Execute { from_mark: true, .. } | NodeKind::Mark | NodeKind::Send { .. } => ALL,
        NodeKind::Execute { .. } | NodeKind::Push => [Since::Empty; 4],
        NodeKind::Match(pattern) => ALL.map(|state| matched(pattern, state)),
        NodeKind::Read { source: ReadNode::Integer(_), .. } => [Since::Other; 4],
        NodeKind::Read { source: ReadNode::Bytes { pattern, .. }, .. } => {
            ALL.map(|state| matched(pattern, state))
        }
        NodeKind::Loop { until, body, .. } => {
            let round = block(body);
            ALL.map(|state| {
                let state = head(state, &round);
                until.as_ref().map_or(state, |end| matched(&end.pattern, state))
            })
        }
        NodeKind::Repeat { count, body, .. } | NodeKind::WhileCount { count, body, .. } => {
            let round = block(body);
            ALL.map(|state| head(counted(count, state), &round))
        }
        NodeKind::Switch { .. } => {
            let round = switch_round(node);
            ALL.map(|state| head(state, &round))
        }
        NodeKind::Choose { cases, default, .. } => {
            let arms: Vec<(&Pattern, Transfer)> =
                cases.iter().map(|case| (&*case.pattern, block(&case.body))).collect();
            let default = default.as_ref().map(|body| block(body));
            ALL.map(|state| {
                let cases = arms.iter().map(|(pattern, arm)| apply(arm, matched(pattern, state)));
                let default = default.iter().map(|arm| apply(arm, state));
                cases.chain(default).reduce(join).unwrap_or(state)
            })
        }
        NodeKind::ChooseNumber { .. } | NodeKind::If { .. } => {
            let arms: Vec<Transfer> = bodies(node).into_iter().map(block).collect();
            ALL.map(|state| arms.iter().map(|arm| apply(arm, state)).reduce(join).unwrap_or(state))
        }
    }
}

fn counted(count: &CountNode, state: Since) -> Since {
    match &count.source {
        CountSource::Bytes { pattern, .. } => matched(pattern, state),
        CountSource::Name(_) | CountSource::Number(_) | CountSource::Value => state,
    }
}

fn switch_round(node: &StatementNode) -> Transfer {
    let NodeKind::Switch { cases, .. } = &node.kind else { return ALL };
    let arms: Vec<(&Pattern, Transfer)> =
        cases.iter().map(|case| (&*case.pattern, block(&case.body))).collect();
    ALL.map(|state| {
        arms.iter()
            .fold(state, |all, (pattern, arm)| join(all, apply(arm, matched(pattern, state))))
    })
}

/// Records the state before each statement, starting with `entry`.
fn assign(body: &mut [StatementNode], entry: Since) {
    let mut state = entry;
    for node in body {
        let after = apply(&statement(node), state);
        let round = switch_round(node);
        node.before = state;
        match &mut node.kind {
            NodeKind::Execute { stop_bit, from_mark, .. } => {
                *stop_bit = state == Since::Item && !*from_mark;
            }
            NodeKind::Loop { body, .. } => {
                node.before = head(state, &block(body));
                assign(body, node.before);
            }
            NodeKind::Repeat { count, body, .. } | NodeKind::WhileCount { count, body, .. } => {
                node.before = head(counted(count, state), &block(body));
                assign(body, node.before);
            }
            NodeKind::Switch { cases, .. } => {
                node.before = head(state, &round);
                for case in cases {
                    assign(&mut case.body, matched(&case.pattern, node.before));
                }
            }
            NodeKind::Choose { cases, default, .. } => {
                for case in cases {
                    assign(&mut case.body, matched(&case.pattern, state));
                }
                default.iter_mut().for_each(|body| assign(body, state));
            }
            NodeKind::ChooseNumber { cases, default, .. } => {
                cases.iter_mut().for_each(|(_, body)| assign(body, state));
                default.iter_mut().for_each(|body| assign(body, state));
            }
            NodeKind::If { body, otherwise, .. } => {
                assign(body, state);
                assign(otherwise, state);
            }
            NodeKind::Mark
            | NodeKind::Match(_)
            | NodeKind::Push
            | NodeKind::Read { .. }
            | NodeKind::Send { .. } => {}
        }
        state = after;
    }
}

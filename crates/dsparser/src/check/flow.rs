//! Which actions always get exactly one stop-bit item, found by following the bytes since the mark
//! through every path of the program.

use crate::block::{CountSource, Node, NodeKind, Since};
use crate::pattern::{Pattern, TopBits};

/// Fills in what is known before each statement.
pub(super) fn annotate(body: &mut [Node]) {
    assign(body, Since::Empty);
}

/// What a piece of program makes of each [`Since`], by its place in [`ALL`].
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

/// What holds before every round of something that may run any number of times.
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

fn block(body: &[Node]) -> Transfer {
    body.iter().fold(ALL, |so_far, node| {
        let one = statement(node);
        so_far.map(|state| apply(&one, state))
    })
}

fn statement(node: &Node) -> Transfer {
    match &node.kind {
        NodeKind::Execute { .. } | NodeKind::Push => [Since::Empty; 4],
        NodeKind::Send { .. } => ALL,
        NodeKind::Match(pattern) => ALL.map(|state| matched(pattern, state)),
        NodeKind::Loop { until, body, .. } => {
            let round = block(body);
            ALL.map(|state| {
                let state = head(state, &round);
                until.as_ref().map_or(state, |end| matched(&end.pattern, state))
            })
        }
        NodeKind::Repeat { count, body } | NodeKind::WhileCount { count, body, .. } => {
            let round = block(body);
            ALL.map(|state| head(counted(count, state), &round))
        }
        NodeKind::Switch { .. } => {
            let round = switch_round(node);
            ALL.map(|state| head(state, &round))
        }
    }
}

fn counted(count: &CountSource, state: Since) -> Since {
    match count {
        CountSource::Bytes { pattern, .. } => matched(pattern, state),
        CountSource::Value => state,
    }
}

fn switch_round(node: &Node) -> Transfer {
    let NodeKind::Switch { cases, .. } = &node.kind else { return ALL };
    let arms: Vec<(&Pattern, Transfer)> =
        cases.iter().map(|case| (&*case.pattern, block(&case.body))).collect();
    ALL.map(|state| {
        arms.iter()
            .fold(state, |all, (pattern, arm)| join(all, apply(arm, matched(pattern, state))))
    })
}

/// Writes down what holds before each statement, from `entry` on.
fn assign(body: &mut [Node], entry: Since) {
    let mut state = entry;
    for node in body {
        let after = apply(&statement(node), state);
        let round = switch_round(node);
        node.before = state;
        match &mut node.kind {
            NodeKind::Execute { stop_bit, .. } => *stop_bit = state == Since::Item,
            NodeKind::Loop { body, .. } => {
                node.before = head(state, &block(body));
                assign(body, node.before);
            }
            NodeKind::Repeat { count, body } | NodeKind::WhileCount { count, body, .. } => {
                node.before = head(counted(count, state), &block(body));
                assign(body, node.before);
            }
            NodeKind::Switch { cases, .. } => {
                node.before = head(state, &round);
                for case in cases {
                    assign(&mut case.body, matched(&case.pattern, node.before));
                }
            }
            NodeKind::Match(_) | NodeKind::Push | NodeKind::Send { .. } => {}
        }
        state = after;
    }
}

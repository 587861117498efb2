//! Compiles the checked program into control states and one table of scanning states.
//!
//! A block is compiled from its last statement to its first, so that the next state is always
//! known. Only loops reserve their head before their body.

use std::collections::HashMap;

use crate::block::{
    CaseNode, Compare, CountNode, CountSource, LoopEnd, NodeKind, ReadNode, Since, StatementNode,
};
use crate::pattern::{ByteSet, DEAD, Pattern, PatternShape, Union};
use crate::program::GrammarProgram;

use super::{
    Choice, Machine, MachineFragment, MachineItems, MachineNumber, MachineOp, MachineScan,
    MachineWalk, NONE, NumberSource, StateId, Switch,
};

impl Machine {
    pub(crate) fn compile(program: &GrammarProgram) -> Self {
        let mut compiler = Compiler::default();
        let end = compiler.op(MachineOp::End);
        let start = compiler.block(&program.body, end, 0);
        let mut machine = Self {
            ops: compiler.ops,
            fragments: compiler.fragments,
            switches: compiler.switches,
            items: compiler.items,
            sets: compiler.sets,
            conditions: compiler.conditions,
            choices: compiler.choices,
            numbers: compiler.numbers,
            scan: scan(&compiler.rows, compiler.accepts),
            statements: program.statements().to_vec(),
            actions: program.actions().to_vec(),
            names: program.names().to_vec(),
            executes: false,
            executes_from_mark: false,
        };
        machine.executes = machine.ops.iter().any(|op| {
            matches!(
                op,
                MachineOp::Execute { .. } | MachineOp::Item { .. } | MachineOp::Items { .. }
            )
        });
        machine.executes_from_mark =
            machine.ops.iter().any(|op| matches!(op, MachineOp::ExecuteFromMark { .. }));
        machine.renumber(start);
        machine
    }

    /// Renumbers the control states breadth-first from the start.
    fn renumber(&mut self, start: StateId) {
        let mut numbers = HashMap::from([(start, 0)]);
        let mut order = vec![start];
        let mut next = 0;
        while let Some(state) = order.get(next).copied() {
            next += 1;
            for target in self.targets(state) {
                numbers.entry(target).or_insert_with(|| {
                    order.push(target);
                    order.len() as u32 - 1
                });
            }
        }
        let number = |state: &mut u32| {
            if let Some(known) = numbers.get(state) {
                *state = *known;
            }
        };
        let mut ops: Vec<MachineOp> = order.iter().map(|state| self.ops[*state as usize]).collect();
        ops.iter_mut().for_each(|op| op.targets_mut().into_iter().flatten().for_each(number));
        self.ops = ops;
        for choice in &mut self.choices {
            number(&mut choice.otherwise);
            choice.cases.iter_mut().for_each(|(_, state)| number(state));
        }
        for switch in &mut self.switches {
            number(&mut switch.otherwise);
            if let Some(table) = &mut switch.by_first_byte {
                table.iter_mut().for_each(number);
            }
        }
        self.scan.accepts.iter_mut().for_each(number);
    }

    /// Returns the control states that a control state can lead to.
    pub(super) fn targets(&self, state: StateId) -> Vec<StateId> {
        let mut op = self.ops[state as usize];
        let mut targets: Vec<StateId> =
            op.targets_mut().into_iter().flatten().map(|target| *target).collect();
        if let MachineOp::Choose { choice } = op {
            let choice = &self.choices[choice as usize];
            targets.extend(choice.cases.iter().map(|(_, state)| *state));
            targets.push(choice.otherwise);
        }
        // A fused switch keeps its scanning states, so that a printed machine shows them.
        let switch = match op {
            MachineOp::Items { items, .. } => Some(self.items[items as usize].switch),
            MachineOp::Switch { switch } => Some(switch),
            _ => None,
        };
        if let Some(switch) = switch {
            let switch = &self.switches[switch as usize];
            targets.extend(self.scan.reachable(switch.start).into_iter().filter_map(|state| {
                let accept = self.scan.accepts[state as usize];
                (accept != NONE).then_some(accept)
            }));
            targets.push(switch.otherwise);
        }
        targets
    }
}

impl MachineOp {
    fn targets_mut(&mut self) -> [Option<&mut StateId>; 2] {
        match self {
            Self::Any { next, .. }
            | Self::Count { next, .. }
            | Self::CountNumber { next, .. }
            | Self::CountValue { next, .. }
            | Self::Execute { next, .. }
            | Self::ExecuteFromMark { next, .. }
            | Self::Goto { next }
            | Self::Item { next, .. }
            | Self::Items { next, .. }
            | Self::Mark { next }
            | Self::Match { next, .. }
            | Self::One { next, .. }
            | Self::Push { next }
            | Self::Read { next, .. }
            | Self::Repeat { next, .. }
            | Self::Send { next, .. }
            | Self::StopBit { next, .. } => [Some(next), None],
            Self::Loop { body, exit, .. }
            | Self::RepeatRound { body, exit, .. }
            | Self::Round { body, exit, .. }
            | Self::Until { body, exit, .. } => [Some(body), Some(exit)],
            Self::If { body, otherwise, .. } => [Some(body), Some(otherwise)],
            Self::Choose { .. } | Self::End | Self::Fail { .. } | Self::Switch { .. } => {
                [None, None]
            }
        }
    }
}

impl MachineScan {
    /// Returns the scanning states of a fragment in breadth-first order.
    pub(super) fn reachable(&self, start: u32) -> Vec<u32> {
        let mut found = vec![start];
        let mut next = 0;
        while let Some(state) = found.get(next).copied() {
            next += 1;
            let from = state as usize * self.class_count;
            for target in &self.table[from..from + self.class_count] {
                if *target != NONE && !found.contains(target) {
                    found.push(*target);
                }
            }
        }
        found
    }
}

#[derive(Default)]
struct Compiler {
    ops: Vec<MachineOp>,
    fragments: Vec<MachineFragment>,
    switches: Vec<Switch>,
    items: Vec<MachineItems>,
    sets: Vec<ByteSet>,
    conditions: Vec<Compare>,
    choices: Vec<Choice>,
    numbers: Vec<MachineNumber>,
    rows: Vec<[u32; 256]>,
    accepts: Vec<u32>,
}

impl Compiler {
    fn op(&mut self, op: MachineOp) -> StateId {
        self.ops.push(op);
        self.ops.len() as u32 - 1
    }

    /// Compiles `body` so that `next` follows it. `slot` is the number of counts around it.
    fn block(&mut self, body: &[StatementNode], next: StateId, slot: u8) -> StateId {
        body.iter().rev().fold(next, |next, node| self.statement(node, next, slot))
    }

    fn statement(&mut self, node: &StatementNode, next: StateId, slot: u8) -> StateId {
        let statement = node.statement;
        match &node.kind {
            NodeKind::Choose { cases, union, default } => {
                // A separate state, distinct from the target of every case.
                let otherwise = match default {
                    Some(body) => {
                        let next = self.block(body, next, slot);
                        self.op(MachineOp::Goto { next })
                    }
                    None => self.op(MachineOp::Fail { by_number: false, statement }),
                };
                self.switch(statement, (cases, union), Some(next), otherwise, slot)
            }
            NodeKind::ChooseNumber { selector, cases, default } => {
                let otherwise = match default {
                    Some(body) => self.block(body, next, slot),
                    None => self.op(MachineOp::Fail { by_number: true, statement }),
                };
                let arm = |(numbers, body): &(Vec<i128>, Vec<StatementNode>)| {
                    (numbers.clone(), self.block(body, next, slot))
                };
                let cases = cases.iter().map(arm).collect();
                self.choices.push(Choice { selector: *selector, cases, otherwise });
                self.op(MachineOp::Choose { choice: self.choices.len() as u32 - 1 })
            }
            NodeKind::Execute { action, from_mark: true, .. } => {
                self.op(MachineOp::ExecuteFromMark { action: *action, statement, next })
            }
            NodeKind::Execute { action, stop_bit, .. } => self.op(MachineOp::Execute {
                action: *action,
                stop_bit: *stop_bit,
                statement,
                next,
            }),
            NodeKind::If { condition, body, otherwise } => {
                let body = self.block(body, next, slot);
                let otherwise = self.block(otherwise, next, slot);
                self.conditions.push(*condition);
                let condition = self.conditions.len() as u32 - 1;
                self.op(MachineOp::If { condition, body, otherwise })
            }
            NodeKind::Mark => self.op(MachineOp::Mark { next }),
            NodeKind::Read { name, source } => {
                let source = match source {
                    ReadNode::Integer(kind) => NumberSource::Integer(*kind),
                    ReadNode::Bytes { encoding, pattern } => {
                        let (encoding, fragment) = (*encoding, self.fragment(pattern, next));
                        NumberSource::Bytes { encoding, fragment }
                    }
                };
                let number = self.number(source, 0);
                self.op(MachineOp::Read { name: *name, number, statement, next })
            }
            NodeKind::Loop { until, first, body } => {
                let head = self.op(MachineOp::End);
                let body = self.block(body, head, slot);
                self.ops[head as usize] = match until {
                    None => MachineOp::Loop { set: self.set(*first), statement, body, exit: next },
                    Some(LoopEnd { pattern, last }) => {
                        let fragment = self.fragment(pattern, next);
                        MachineOp::Until { fragment, last: *last, statement, body, exit: next }
                    }
                };
                head
            }
            NodeKind::Match(pattern) => self.pattern(pattern, node, next),
            NodeKind::Push if node.before == Since::Empty => next,
            NodeKind::Push => self.op(MachineOp::Push { next }),
            NodeKind::Repeat { count, body, may_stall } => {
                let round = self.op(MachineOp::End);
                let body = self.block(body, round, slot + 1);
                let may_stall = *may_stall;
                self.ops[round as usize] =
                    MachineOp::RepeatRound { slot, may_stall, statement, body, exit: next };
                let number = self.count(count, round);
                self.op(MachineOp::Repeat { slot, number, statement, next: round })
            }
            NodeKind::Send { code, value } => {
                self.op(MachineOp::Send { code: *code, value: *value, next })
            }
            NodeKind::Switch { cases, union } => {
                let head = self.switch(statement, (cases, union), None, next, slot);
                if let (Some(actions), MachineOp::Switch { switch }) =
                    (node.item_actions(), self.ops[head as usize])
                {
                    self.items.push(MachineItems { actions, switch });
                    let items = self.items.len() as u32 - 1;
                    self.ops[head as usize] = MachineOp::Items { items, next };
                }
                head
            }
            NodeKind::WhileCount { count, body, may_stall } => {
                let round = self.op(MachineOp::End);
                let body = self.block(body, round, slot + 1);
                let may_stall = *may_stall;
                self.ops[round as usize] =
                    MachineOp::Round { slot, may_stall, statement, body, exit: next };
                match count {
                    CountNode { source: CountSource::Value, adjust: 0 } => {
                        self.op(MachineOp::CountValue { slot, statement, next: round })
                    }
                    CountNode { source: CountSource::Bytes { encoding, pattern }, adjust: 0 } => {
                        let (encoding, fragment) = (*encoding, self.fragment(pattern, round));
                        self.op(MachineOp::Count {
                            slot,
                            encoding,
                            fragment,
                            statement,
                            next: round,
                        })
                    }
                    count => {
                        let number = self.count(count, round);
                        self.op(MachineOp::CountNumber { slot, number, statement, next: round })
                    }
                }
            }
        }
    }

    /// Compiles a count; its pattern, if it has one, leads to `next`.
    fn count(&mut self, count: &CountNode, next: StateId) -> u32 {
        let source = match &count.source {
            CountSource::Bytes { encoding, pattern } => {
                let (encoding, fragment) = (*encoding, self.fragment(pattern, next));
                NumberSource::Bytes { encoding, fragment }
            }
            CountSource::Name(name) => NumberSource::Name(*name),
            CountSource::Number(number) => NumberSource::Number(*number),
            CountSource::Value => NumberSource::Value,
        };
        self.number(source, count.adjust)
    }

    fn number(&mut self, source: NumberSource, adjust: i128) -> u32 {
        self.numbers.push(MachineNumber { source, adjust });
        self.numbers.len() as u32 - 1
    }

    fn pattern(&mut self, pattern: &Pattern, node: &StatementNode, next: StateId) -> StateId {
        let statement = node.statement;
        if pattern.shape == PatternShape::StopBit && node.before == Since::Empty {
            let following = self.ops[next as usize];
            if let MachineOp::Execute { action, stop_bit: true, statement: at, next } = following {
                return self.op(MachineOp::Item { statement, action, action_statement: at, next });
            }
        }
        let fragment = self.fragment(pattern, next);
        let op = match &pattern.shape {
            PatternShape::Any(bytes) => MachineOp::Any { bytes: *bytes, statement, next },
            PatternShape::One(set) => MachineOp::One { set: self.set(*set), statement, next },
            PatternShape::StopBit => MachineOp::StopBit { statement, next },
            PatternShape::Literal(_) | PatternShape::Table => {
                MachineOp::Match { fragment, statement, next }
            }
        };
        self.op(op)
    }

    /// Compiles a switch whose cases lead to `next`, or back to the switch if that is `None`.
    fn switch(
        &mut self,
        statement: u32,
        (cases, union): (&[CaseNode], &Union),
        next: Option<StateId>,
        otherwise: StateId,
        slot: u8,
    ) -> StateId {
        let switch = self.switches.len() as u32;
        self.switches.push(Switch { statement, start: 0, by_first_byte: None, otherwise });
        let head = self.op(MachineOp::Switch { switch });
        let arms: Vec<StateId> =
            cases.iter().map(|case| self.block(&case.body, next.unwrap_or(head), slot)).collect();
        let target = |arm: usize| arms.get(arm).copied().unwrap_or(otherwise);
        let start = self.rows.len() as u32;
        for state in 0..union.states() {
            self.row(start, |byte| union.next(state, byte));
            self.accepts.push(union.accepts(state).map_or(NONE, |arm| target(arm as usize)));
        }
        let by_first_byte =
            union.by_first_byte().map(|table| Box::new(table.map(|arm| target(usize::from(arm)))));
        self.switches[switch as usize] = Switch { statement, start, by_first_byte, otherwise };
        head
    }

    /// Adds the scanning states of `pattern`; a match leads to `next`.
    fn fragment(&mut self, pattern: &Pattern, next: StateId) -> u32 {
        let start = self.rows.len() as u32;
        for state in 0..pattern.dfa.states() {
            self.row(start, |byte| pattern.dfa.next(state, byte));
            self.accepts.push(if pattern.dfa.accepts(state) { next } else { NONE });
        }
        let walk = match &pattern.shape {
            PatternShape::Any(bytes) => MachineWalk::Any(*bytes as usize),
            PatternShape::Literal(bytes) => MachineWalk::Literal(bytes.as_slice().into()),
            PatternShape::One(set) => MachineWalk::One(*set),
            PatternShape::StopBit => MachineWalk::StopBit,
            PatternShape::Table => MachineWalk::Table,
        };
        self.fragments.push(MachineFragment { text: pattern.text.clone(), start, walk });
        self.fragments.len() as u32 - 1
    }

    fn row(&mut self, start: u32, next: impl Fn(u8) -> u32) {
        let mut row = [NONE; 256];
        for (byte, cell) in (0..=u8::MAX).zip(&mut row) {
            let target = next(byte);
            if target != DEAD {
                *cell = start + target;
            }
        }
        self.rows.push(row);
    }

    fn set(&mut self, set: ByteSet) -> u32 {
        let known = self.sets.iter().position(|known| *known == set);
        let index = known.unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        });
        index as u32
    }
}

/// Merges the bytes that no state distinguishes into classes.
fn scan(rows: &[[u32; 256]], accepts: Vec<u32>) -> MachineScan {
    let mut classes = Vec::with_capacity(256);
    let mut representatives = Vec::new();
    let mut known: HashMap<Vec<u32>, u8> = HashMap::new();
    for byte in 0..=u8::MAX {
        let column: Vec<u32> = rows.iter().map(|row| row[usize::from(byte)]).collect();
        let class = *known.entry(column).or_insert_with(|| {
            representatives.push(byte);
            (representatives.len() - 1) as u8
        });
        classes.push(class);
    }
    let cells =
        rows.iter().flat_map(|row| representatives.iter().map(|byte| row[usize::from(*byte)]));
    let lasts = rows.iter().map(|row| row.iter().all(|target| *target == NONE)).collect();
    MachineScan {
        class_count: representatives.len(),
        table: cells.collect(),
        classes,
        accepts,
        lasts,
    }
}

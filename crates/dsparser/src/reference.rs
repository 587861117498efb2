//! The reference engine: walks the checked program statement by statement and matches patterns on
//! their syntax trees.
//!
//! It is slow. It exists to be read, and to be compared with the other engines.

use std::collections::BTreeSet;

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::ast::CountEncoding;
use crate::block::{
    CaseNode, CountNode, CountSource, LoopEnd, NameNode, NodeKind, OperandNode, ReadNode,
    StatementNode,
};
use crate::host::{Host, NameId};
use crate::limits::NAMES_MAX;
use crate::pattern::Pattern;
use crate::program::GrammarProgram;
use crate::rt;
use crate::run_error::{RunError, RunErrorKind};

/// Runs `program` over `packet`; behaves as [`Machine::run`](crate::Machine::run).
///
/// # Errors
/// As [`Machine::run`](crate::Machine::run).
pub fn run<H: Host>(
    program: &GrammarProgram,
    packet: &[u8],
    host: &mut H,
) -> Result<usize, RunError> {
    let names = [0; NAMES_MAX];
    let (pos, mark, second_mark, value, empty_rounds) = (0, 0, 0, 0, 0);
    let mut walk =
        ReferenceWalk { program, packet, host, pos, mark, second_mark, value, names, empty_rounds };
    walk.block(&program.body, packet)?;
    Ok(walk.pos)
}

struct ReferenceWalk<'a, H> {
    program: &'a GrammarProgram,
    packet: &'a [u8],
    host: &'a mut H,
    pos: usize,
    mark: usize,
    second_mark: usize,
    /// The value that the last action returned.
    value: u64,
    /// The numbers bound to names.
    names: [u64; NAMES_MAX],
    /// Number of rounds of repetitions that consumed nothing.
    empty_rounds: u32,
}

impl<H: Host> ReferenceWalk<'_, H> {
    /// Runs the statements of a block. `input` is the packet up to the end of the innermost count.
    fn block(&mut self, body: &[StatementNode], input: &[u8]) -> Result<(), RunError> {
        body.iter().try_for_each(|node| self.statement(node, input))
    }

    fn statement(&mut self, node: &StatementNode, input: &[u8]) -> Result<(), RunError> {
        match &node.kind {
            NodeKind::Choose { cases, default, .. } => match (self.select(cases, input), default) {
                (Some(case), _) => self.block(&case.body, input)?,
                (None, Some(body)) => self.block(body, input)?,
                (None, None) => return Err(self.mismatch(input, self.pos, node.statement)),
            },
            NodeKind::ChooseNumber { selector, cases, default } => {
                let number = self.number(selector);
                let case = cases.iter().find(|(numbers, _)| numbers.contains(&number));
                match (case, default) {
                    (Some((_, body)), _) | (None, Some(body)) => self.block(body, input)?,
                    (None, None) => return Err(self.error(RunErrorKind::NoCase, self.pos, node)),
                }
            }
            NodeKind::If { condition, body, otherwise } => {
                let (left, right) = (self.number(&condition.left), self.number(&condition.right));
                let holds = condition.comparison.holds(left, right);
                self.block(if holds { body } else { otherwise }, input)?;
            }
            NodeKind::Mark => self.second_mark = self.pos,
            NodeKind::Read { name, source } => self.read(*name, source, input, node.statement)?,
            NodeKind::Execute { action, from_mark: true, .. } => {
                let bytes = rt::between(self.packet, self.second_mark, self.pos);
                let done = self.host.execute(*action, bytes, self.second_mark);
                let (at, statements) = (self.second_mark, self.program.statements());
                let failed =
                    |code| rt::action_failed(*action, code, at, statements, node.statement);
                self.value = done.map_err(failed)?.0;
                self.second_mark = self.pos;
            }
            NodeKind::Execute { action, stop_bit, .. } => {
                let bytes = rt::between(self.packet, self.mark, self.pos);
                let done = match stop_bit {
                    true => {
                        let integer = rt::stop_bit_integer(bytes);
                        self.host.execute_stop_bit(*action, bytes, self.mark, integer)
                    }
                    false => self.host.execute(*action, bytes, self.mark),
                };
                let statements = self.program.statements();
                self.value = done
                    .map_err(|code| {
                        rt::action_failed(*action, code, self.mark, statements, node.statement)
                    })?
                    .0;
                self.mark = self.pos;
            }
            NodeKind::Loop { until: Some(end), body, .. } => {
                while !self.ends(end, input) {
                    if self.pos == input.len() {
                        return Err(self.mismatch(input, self.pos, node.statement));
                    }
                    self.block(body, input)?;
                }
            }
            NodeKind::Loop { until: None, first, body } => {
                while input.get(self.pos).is_some_and(|byte| first.contains(*byte)) {
                    self.block(body, input)?;
                }
            }
            NodeKind::Match(pattern) => {
                self.pos = longest(&pattern.hir, input, self.pos)
                    .map_err(|offset| self.mismatch(input, offset, node.statement))?;
            }
            NodeKind::Push => self.mark = self.pos,
            NodeKind::Repeat { count, body, .. } => {
                for _ in 0..self.count(count, input, node.statement)?.0 {
                    let before = self.pos;
                    self.block(body, input)?;
                    self.empty_rounds += u32::from(self.pos == before);
                    if self.empty_rounds > rt::EMPTY_ROUNDS_MAX {
                        return Err(self.error(RunErrorKind::EmptyRounds, before, node));
                    }
                }
            }
            NodeKind::Send { code, value } => self.host.send(*code, *value),
            NodeKind::Switch { cases, .. } => {
                while let Some(case) = self.select(cases, input) {
                    self.block(&case.body, input)?;
                }
            }
            NodeKind::WhileCount { count, body, .. } => {
                let (count, start) = self.count(count, input, node.statement)?;
                let Some(counted) = rt::counted(input, self.pos, count) else {
                    return Err(self.error(RunErrorKind::CountPastEnd { count }, start, node));
                };
                while self.pos < counted.len() {
                    let before = self.pos;
                    self.block(body, counted)?;
                    if self.pos == before {
                        return Err(self.error(RunErrorKind::NotUsedUp, before, node));
                    }
                }
            }
        }
        Ok(())
    }

    /// Consumes the end pattern of a loop if it matches.
    fn ends(&mut self, end: &LoopEnd, input: &[u8]) -> bool {
        match longest(&end.pattern.hir, input, self.pos) {
            Ok(after) if !end.last || after == input.len() => {
                self.pos = after;
                true
            }
            _ => false,
        }
    }

    /// Consumes the match of a case, if one matches within the innermost count.
    fn select<'c>(&mut self, cases: &'c [CaseNode], input: &[u8]) -> Option<&'c CaseNode> {
        cases.iter().find(|case| match longest(&case.pattern.hir, input, self.pos) {
            Ok(after) => {
                self.pos = after;
                true
            }
            Err(_) => false,
        })
    }

    /// Returns the value of an operand of a condition.
    fn number(&self, operand: &OperandNode) -> i128 {
        match operand {
            OperandNode::Name(name) => self.bound(*name),
            OperandNode::Number(number) => *number,
            OperandNode::Value => self.value.into(),
        }
    }

    fn bound(&self, name: NameNode) -> i128 {
        rt::meaning(self.names[usize::from(name.id.0)], name.is_signed)
    }

    fn read(
        &mut self,
        name: NameId,
        source: &ReadNode,
        input: &[u8],
        statement: u32,
    ) -> Result<(), RunError> {
        let start = self.pos;
        let (number, is_signed) = match source {
            ReadNode::Integer(kind) => {
                let bytes = usize::from(kind.bytes);
                let item = rt::integer(input, start, bytes, kind.is_little, kind.is_signed);
                let (end, number) =
                    item.ok_or_else(|| self.mismatch(input, input.len(), statement))?;
                self.pos = end;
                (number, kind.is_signed)
            }
            ReadNode::Bytes { encoding, pattern } => {
                (self.encoded(*encoding, pattern, input, statement)?, false)
            }
        };
        self.host.number(name, rt::meaning(number, is_signed), start);
        self.names[usize::from(name.0)] = number;
        Ok(())
    }

    /// Reads a number from the bytes that a pattern matches.
    fn encoded(
        &mut self,
        encoding: CountEncoding,
        pattern: &Pattern,
        input: &[u8],
        statement: u32,
    ) -> Result<u64, RunError> {
        let start = self.pos;
        self.pos = longest(&pattern.hir, input, start)
            .map_err(|offset| self.mismatch(input, offset, statement))?;
        let bytes = rt::between(self.packet, start, self.pos);
        let number = match encoding {
            CountEncoding::BigEndian => rt::big_endian(bytes),
            CountEncoding::Decimal => rt::decimal(bytes),
            CountEncoding::LittleEndian => rt::little_endian(bytes),
            CountEncoding::StopBit => rt::stop_bit_count(bytes),
        };
        number.map_err(|kind| rt::error(kind, start, self.program.statements(), statement))
    }

    /// Reads a count. Returns it with the position at which it begins.
    fn count(
        &mut self,
        count: &CountNode,
        input: &[u8],
        statement: u32,
    ) -> Result<(u64, usize), RunError> {
        let start = self.pos;
        let number = match &count.source {
            CountSource::Bytes { encoding, pattern } => {
                self.encoded(*encoding, pattern, input, statement)?.into()
            }
            CountSource::Name(name) => self.bound(*name),
            CountSource::Number(number) => (*number).into(),
            CountSource::Value => self.value.into(),
        };
        let statements = self.program.statements();
        let adjusted = rt::adjusted(number, count.adjust);
        Ok((adjusted.map_err(|kind| rt::error(kind, start, statements, statement))?, start))
    }

    fn mismatch(&self, input: &[u8], offset: usize, statement: u32) -> RunError {
        rt::mismatch(self.packet, input, offset, self.program.statements(), statement)
    }

    fn error(&self, kind: RunErrorKind, offset: usize, node: &StatementNode) -> RunError {
        rt::error(kind, offset, self.program.statements(), node.statement)
    }
}

/// Returns the end of the longest match that begins at `pos`, or the furthest byte that did not
/// match.
fn longest(hir: &Hir, input: &[u8], pos: usize) -> Result<usize, usize> {
    let mut furthest = pos;
    ends(hir, input, pos, &mut furthest).last().copied().ok_or(furthest)
}

/// Returns every position at which a match that begins at `pos` can end.
fn ends(hir: &Hir, input: &[u8], pos: usize, furthest: &mut usize) -> BTreeSet<usize> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => BTreeSet::from([pos]),
        HirKind::Literal(literal) => {
            let rest = input.get(pos..).unwrap_or_default();
            let same = rest.iter().zip(&literal.0).take_while(|(a, b)| a == b).count();
            if same == literal.0.len() {
                return BTreeSet::from([pos + same]);
            }
            *furthest = (*furthest).max(pos + same);
            BTreeSet::new()
        }
        HirKind::Class(class) => {
            if input.get(pos).is_some_and(|byte| class_contains(class, *byte)) {
                return BTreeSet::from([pos + 1]);
            }
            *furthest = (*furthest).max(pos);
            BTreeSet::new()
        }
        HirKind::Capture(capture) => ends(&capture.sub, input, pos, furthest),
        HirKind::Concat(parts) => parts.iter().fold(BTreeSet::from([pos]), |starts, part| {
            starts.iter().flat_map(|start| ends(part, input, *start, furthest)).collect()
        }),
        HirKind::Alternation(parts) => {
            parts.iter().flat_map(|part| ends(part, input, pos, furthest)).collect()
        }
        HirKind::Repetition(repetition) => {
            let mut round = BTreeSet::from([pos]);
            let mut found = BTreeSet::new();
            for count in 0.. {
                if count >= repetition.min {
                    let known = found.len();
                    found.extend(&round);
                    if found.len() == known {
                        break;
                    }
                }
                if round.is_empty() || repetition.max == Some(count) {
                    break;
                }
                round = round
                    .iter()
                    .flat_map(|start| ends(&repetition.sub, input, *start, furthest))
                    .collect();
            }
            found
        }
    }
}

fn class_contains(class: &Class, byte: u8) -> bool {
    match class {
        Class::Bytes(ranges) => {
            ranges.iter().any(|range| (range.start()..=range.end()).contains(&byte))
        }
        Class::Unicode(ranges) => {
            ranges.iter().any(|range| (range.start()..=range.end()).contains(&char::from(byte)))
        }
    }
}

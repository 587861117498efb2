//! The language said once more, as plainly as possible: the checked program walked statement by
//! statement, patterns matched on their syntax.
//!
//! Slow. It exists to be read, and to be compared with the engines.

use std::collections::BTreeSet;

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::ast::CountEncoding;
use crate::block::{CaseNode, CountSource, End, Node, NodeKind};
use crate::host::Host;
use crate::program::Program;
use crate::rt;
use crate::run_error::{RunError, RunErrorKind};

/// Runs `program` over `packet`; behaves as [`Machine::run`](crate::Machine::run).
///
/// # Errors
/// As [`Machine::run`](crate::Machine::run).
pub fn run<H: Host>(program: &Program, packet: &[u8], host: &mut H) -> Result<usize, RunError> {
    let mut walk = Walk { program, packet, host, pos: 0, mark: 0, value: 0 };
    walk.block(&program.body, packet)?;
    Ok(walk.pos)
}

struct Walk<'a, H> {
    program: &'a Program,
    packet: &'a [u8],
    host: &'a mut H,
    pos: usize,
    mark: usize,
    /// What the last action returned.
    value: u64,
}

impl<H: Host> Walk<'_, H> {
    /// `input` is the packet up to the end of the innermost count.
    fn block(&mut self, body: &[Node], input: &[u8]) -> Result<(), RunError> {
        body.iter().try_for_each(|node| self.statement(node, input))
    }

    fn statement(&mut self, node: &Node, input: &[u8]) -> Result<(), RunError> {
        match &node.kind {
            NodeKind::Execute { action, stop_bit } => {
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
            NodeKind::Repeat { count, body } => {
                for _ in 0..self.count(count, input, node.statement)?.0 {
                    self.block(body, input)?;
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

    /// Consumes what ends a loop, if it is there.
    fn ends(&mut self, end: &End, input: &[u8]) -> bool {
        match longest(&end.pattern.hir, input, self.pos) {
            Ok(after) if !end.last || after == input.len() => {
                self.pos = after;
                true
            }
            _ => false,
        }
    }

    /// Consumes the match of a case, if one matches before the innermost count is used up.
    fn select<'c>(&mut self, cases: &'c [CaseNode], input: &[u8]) -> Option<&'c CaseNode> {
        cases.iter().find(|case| match longest(&case.pattern.hir, input, self.pos) {
            Ok(after) => {
                self.pos = after;
                true
            }
            Err(_) => false,
        })
    }

    /// A count, and where it stands.
    fn count(
        &mut self,
        count: &CountSource,
        input: &[u8],
        statement: u32,
    ) -> Result<(u64, usize), RunError> {
        let start = self.pos;
        let CountSource::Bytes { encoding, pattern } = count else {
            return Ok((self.value, start));
        };
        self.pos = longest(&pattern.hir, input, start)
            .map_err(|offset| self.mismatch(input, offset, statement))?;
        let bytes = rt::between(self.packet, start, self.pos);
        let number = match encoding {
            CountEncoding::BigEndian => rt::big_endian(bytes),
            CountEncoding::Decimal => rt::decimal(bytes),
            CountEncoding::LittleEndian => rt::little_endian(bytes),
            CountEncoding::StopBit => rt::stop_bit_count(bytes),
        };
        let statements = self.program.statements();
        Ok((number.map_err(|kind| rt::error(kind, start, statements, statement))?, start))
    }

    fn mismatch(&self, input: &[u8], offset: usize, statement: u32) -> RunError {
        rt::mismatch(self.packet, input, offset, self.program.statements(), statement)
    }

    fn error(&self, kind: RunErrorKind, offset: usize, node: &Node) -> RunError {
        rt::error(kind, offset, self.program.statements(), node.statement)
    }
}

/// Where the longest match that begins at `pos` ends, or the furthest byte that could not be matched.
fn longest(hir: &Hir, input: &[u8], pos: usize) -> Result<usize, usize> {
    let mut furthest = pos;
    ends(hir, input, pos, &mut furthest).last().copied().ok_or(furthest)
}

/// Every place where a match that begins at `pos` can end.
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

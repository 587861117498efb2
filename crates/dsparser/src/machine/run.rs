//! Runs the machine over a packet.

use crate::ast::CountEncoding;
use crate::host::{ActionError, ActionId, Host};
use crate::limits::NESTING_MAX;
use crate::rt;
use crate::run_error::{RunError, RunErrorKind};

use super::{Machine, NONE, Op, Scan, StateId, Walk};

/// What a count keeps while its body runs.
#[derive(Clone, Copy, Default)]
struct Frame<'p> {
    /// The input around the count.
    outer: &'p [u8],
    /// Where the round began; past the end before the first.
    round: usize,
    /// Rounds left of a `REPEAT`.
    rounds: u64,
}

impl Machine {
    /// Runs the program over `packet`, calling `host`, and returns how many bytes it took.
    ///
    /// Fewer than `packet.len()` when the program ends before the packet does. Allocates nothing.
    /// Every round of a loop takes at least one byte, so a run always ends.
    ///
    /// # Errors
    /// [`RunError`] where the packet does not fit or an action fails.
    pub fn run<H: Host>(&self, packet: &[u8], host: &mut H) -> Result<usize, RunError> {
        let mut input = packet;
        let mut frames = [Frame::default(); NESTING_MAX];
        let (mut state, mut pos, mut mark, mut value) = (0_u32, 0_usize, 0_usize, 0_u64);
        loop {
            match self.ops[state as usize] {
                Op::Any { bytes, statement, next } => {
                    let Some(after) = rt::any(input, pos, bytes as usize) else {
                        return Err(self.mismatch(packet, input, input.len(), statement));
                    };
                    (pos, state) = (after, next);
                }
                Op::Count { slot, encoding, fragment, statement, next } => {
                    let start = pos;
                    pos = self.advance(fragment, packet, input, pos, statement)?;
                    let count = self.count(encoding, packet, start, pos, statement)?;
                    let frame = &mut frames[usize::from(slot)];
                    *frame = Frame { outer: input, round: usize::MAX, rounds: 0 };
                    input = self.counted(input, pos, count, start, statement)?;
                    state = next;
                }
                Op::CountValue { slot, statement, next } => {
                    let frame = &mut frames[usize::from(slot)];
                    *frame = Frame { outer: input, round: usize::MAX, rounds: 0 };
                    input = self.counted(input, pos, value, pos, statement)?;
                    state = next;
                }
                Op::End => return Ok(pos),
                Op::Execute { action, stop_bit, statement, next } => {
                    let bytes = rt::between(packet, mark, pos);
                    let done = match stop_bit {
                        true => {
                            let integer = rt::stop_bit_integer(bytes);
                            host.execute_stop_bit(action, bytes, mark, integer)
                        }
                        false => host.execute(action, bytes, mark),
                    };
                    match done {
                        Ok(returned) => value = returned.0,
                        Err(code) => {
                            let statements = &self.statements;
                            return Err(rt::action_failed(
                                action, code, mark, statements, statement,
                            ));
                        }
                    }
                    (mark, state) = (pos, next);
                }
                Op::Item { statement, action, action_statement, next } => {
                    let Some((after, integer)) = rt::stop_bit(input, pos) else {
                        return Err(self.mismatch(packet, input, input.len(), statement));
                    };
                    let bytes = rt::between(packet, pos, after);
                    match host.execute_stop_bit(action, bytes, pos, integer) {
                        Ok(returned) => value = returned.0,
                        Err(code) => {
                            return Err(self.failed(action, code, pos, action_statement));
                        }
                    }
                    (pos, mark, state) = (after, after, next);
                }
                Op::Items { items, next } => {
                    let items = &self.items[items as usize];
                    let (actions, statements) = (&items.actions, &self.statements);
                    (pos, value) = rt::items(packet, input, pos, value, actions, statements, host)?;
                    (mark, state) = (pos, next);
                }
                Op::Loop { set, body, exit } => {
                    let starts = input.get(pos).is_some_and(|byte| {
                        self.sets.get(set as usize).is_some_and(|set| set.contains(*byte))
                    });
                    state = if starts { body } else { exit };
                }
                Op::Match { fragment, statement, next } => {
                    pos = self.advance(fragment, packet, input, pos, statement)?;
                    state = next;
                }
                Op::One { set, statement, next } => {
                    let set = &self.sets[set as usize];
                    if !input.get(pos).is_some_and(|byte| set.contains(*byte)) {
                        return Err(self.mismatch(packet, input, pos, statement));
                    }
                    (pos, state) = (pos + 1, next);
                }
                Op::Push { next } => (mark, state) = (pos, next),
                Op::Repeat { slot, encoding, fragment, statement, next } => {
                    let start = pos;
                    pos = self.advance(fragment, packet, input, pos, statement)?;
                    frames[usize::from(slot)].rounds =
                        self.count(encoding, packet, start, pos, statement)?;
                    state = next;
                }
                Op::RepeatRound { slot, body, exit } => {
                    let frame = &mut frames[usize::from(slot)];
                    state = if frame.rounds == 0 { exit } else { body };
                    frame.rounds = frame.rounds.saturating_sub(1);
                }
                Op::RepeatValue { slot, next } => {
                    frames[usize::from(slot)].rounds = value;
                    state = next;
                }
                Op::Round { slot, may_stall, statement, body, exit } => {
                    let frame = &mut frames[usize::from(slot)];
                    if pos == input.len() {
                        (input, state) = (frame.outer, exit);
                        continue;
                    }
                    if may_stall && frame.round == pos {
                        let kind = RunErrorKind::NotUsedUp;
                        return Err(rt::error(kind, pos, &self.statements, statement));
                    }
                    (frame.round, state) = (pos, body);
                }
                Op::Send { code, value, next } => {
                    host.send(code, value);
                    state = next;
                }
                Op::StopBit { statement, next } => {
                    let Some((after, _)) = rt::stop_bit(input, pos) else {
                        return Err(self.mismatch(packet, input, input.len(), statement));
                    };
                    (pos, state) = (after, next);
                }
                Op::Switch { switch } => (pos, state) = self.switch(switch, input, pos),
                Op::Until { fragment, last, statement, body, exit } => {
                    match self.fragment_end(fragment, input, pos) {
                        Ok(after) if !last || after == input.len() => (pos, state) = (after, exit),
                        _ if pos == input.len() => {
                            return Err(self.mismatch(packet, input, pos, statement));
                        }
                        _ => state = body,
                    }
                }
            }
        }
    }

    /// The position after a fragment.
    #[inline]
    fn advance(
        &self,
        fragment: u32,
        packet: &[u8],
        input: &[u8],
        pos: usize,
        statement: u32,
    ) -> Result<usize, RunError> {
        self.fragment_end(fragment, input, pos)
            .map_err(|offset| self.mismatch(packet, input, offset, statement))
    }

    /// Where the longest match of a fragment ends, or the byte that does not fit.
    #[inline]
    fn fragment_end(&self, fragment: u32, input: &[u8], pos: usize) -> Result<usize, usize> {
        let fragment = &self.fragments[fragment as usize];
        match &fragment.walk {
            Walk::Any(bytes) => rt::any(input, pos, *bytes).ok_or(input.len()),
            Walk::Literal(bytes) => rt::literal(input, pos, bytes),
            Walk::One(set) => match input.get(pos) {
                Some(byte) if set.contains(*byte) => Ok(pos + 1),
                _ => Err(pos),
            },
            Walk::StopBit => rt::stop_bit(input, pos).map(|(after, _)| after).ok_or(input.len()),
            Walk::Table => self.scan.longest(fragment.start, input, pos).map(|(after, _)| after),
        }
    }

    /// The position after the case that matches and its control state, or the state that follows.
    #[inline]
    fn switch(&self, switch: u32, input: &[u8], pos: usize) -> (usize, StateId) {
        let switch = &self.switches[switch as usize];
        let Some(first) = input.get(pos) else { return (pos, switch.otherwise) };
        if let Some(table) = &switch.by_first_byte {
            let target = table[usize::from(*first)];
            return (pos + usize::from(target != switch.otherwise), target);
        }
        self.scan.longest(switch.start, input, pos).unwrap_or((pos, switch.otherwise))
    }

    #[inline]
    fn count(
        &self,
        encoding: CountEncoding,
        packet: &[u8],
        start: usize,
        end: usize,
        statement: u32,
    ) -> Result<u64, RunError> {
        let bytes = rt::between(packet, start, end);
        let number = match encoding {
            CountEncoding::BigEndian => rt::big_endian(bytes),
            CountEncoding::Decimal => rt::decimal(bytes),
            CountEncoding::LittleEndian => rt::little_endian(bytes),
            CountEncoding::StopBit => rt::stop_bit_count(bytes),
        };
        number.map_err(|kind| rt::error(kind, start, &self.statements, statement))
    }

    #[inline]
    fn counted<'p>(
        &self,
        input: &'p [u8],
        pos: usize,
        count: u64,
        start: usize,
        statement: u32,
    ) -> Result<&'p [u8], RunError> {
        rt::counted(input, pos, count).ok_or_else(|| {
            rt::error(RunErrorKind::CountPastEnd { count }, start, &self.statements, statement)
        })
    }

    #[cold]
    fn failed(
        &self,
        action: ActionId,
        code: ActionError,
        offset: usize,
        statement: u32,
    ) -> RunError {
        rt::action_failed(action, code, offset, &self.statements, statement)
    }

    #[cold]
    fn mismatch(&self, packet: &[u8], input: &[u8], offset: usize, statement: u32) -> RunError {
        rt::mismatch(packet, input, offset, &self.statements, statement)
    }
}

impl Scan {
    /// Where the longest match from `start` ends and the control state entered there, or the byte
    /// that does not fit.
    fn longest(&self, start: u32, input: &[u8], pos: usize) -> Result<(usize, StateId), usize> {
        let (mut state, mut at) = (start, pos);
        let mut found = None;
        loop {
            let accept = self.accepts[state as usize];
            if accept != NONE {
                found = Some((at, accept));
                if self.lasts[state as usize] {
                    break;
                }
            }
            let Some(byte) = input.get(at) else { break };
            let class = usize::from(self.classes[usize::from(*byte)]);
            let next = self.table[state as usize * self.class_count + class];
            if next == NONE {
                break;
            }
            (state, at) = (next, at + 1);
        }
        found.ok_or(at)
    }
}

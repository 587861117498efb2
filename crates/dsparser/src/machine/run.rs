//! Runs the machine over a packet.

use crate::ast::CountEncoding;
use crate::block::{NameNode, OperandNode};
use crate::host::{ActionError, ActionId, Host};
use crate::limits::{NAMES_MAX, NESTING_MAX};
use crate::rt;
use crate::run_error::{RunError, RunErrorKind};

use super::{Machine, MachineOp, MachineScan, MachineWalk, NONE, NumberSource, StateId};

/// State of a count while its body runs.
#[derive(Clone, Copy, Default)]
struct MachineFrame<'p> {
    /// The input around the count.
    outer: &'p [u8],
    /// Position at which the round began; past the end before the first round.
    round: usize,
    /// Rounds left of a `REPEAT`.
    rounds: u64,
}

/// State of a run between two pieces of its input. A run never stops inside a block with a byte count, so the state has none.
#[derive(Clone, Debug)]
pub(super) struct MachinePlace {
    pub(super) state: StateId,
    pub(super) pos: usize,
    pub(super) mark: usize,
    pub(super) second_mark: usize,
    value: u64,
    names: [u64; NAMES_MAX],
    empty_rounds: u32,
    /// For each repetition: the rounds left, and the position at which the last round began.
    rounds: [(u64, usize); NESTING_MAX],
}

impl Default for MachinePlace {
    fn default() -> Self {
        Self {
            state: 0,
            pos: 0,
            mark: 0,
            second_mark: 0,
            value: 0,
            names: [0; NAMES_MAX],
            empty_rounds: 0,
            rounds: [(0, usize::MAX); NESTING_MAX],
        }
    }
}

impl MachinePlace {
    /// Moves the origin of all positions forward by `bytes`.
    pub(super) fn move_start(&mut self, bytes: usize) {
        self.pos -= bytes;
        self.mark = self.mark.saturating_sub(bytes);
        self.second_mark = self.second_mark.saturating_sub(bytes);
        // These are only compared with positions, so wrapping around is harmless.
        self.rounds.iter_mut().for_each(|(_, began)| *began = began.wrapping_sub(bytes));
    }
}

/// The reason why a pattern gives no position.
enum MachineStop {
    /// The byte at this position does not fit.
    At(usize),
    /// More bytes of input are needed to decide.
    More,
}

impl Machine {
    /// Runs the program over `packet` and calls `host`. Returns the number of bytes consumed, which
    /// is less than `packet.len()` if the program ends before the packet does.
    ///
    /// Allocates nothing. Every run ends: a round of a loop consumes at least one byte, and rounds
    /// of `REPEAT` that consume none are limited.
    ///
    /// # Errors
    /// [`RunError`] if the packet does not match the grammar or an action fails.
    pub fn run<H: Host>(&self, packet: &[u8], host: &mut H) -> Result<usize, RunError> {
        // With `LAST`, `drive` never waits for more input.
        Ok(self.drive::<true, H>(packet, host, None)?.unwrap_or_default())
    }

    /// Continues from `place`, or starts the program. Without `LAST`, more input may follow: if the
    /// program needs it to continue, the run saves its state to `place` and returns `None`.
    #[inline]
    pub(super) fn drive<const LAST: bool, H: Host>(
        &self,
        packet: &[u8],
        host: &mut H,
        mut place: Option<&mut MachinePlace>,
    ) -> Result<Option<usize>, RunError> {
        let mut input = packet;
        let mut frames = [MachineFrame::default(); NESTING_MAX];
        let (mut state, mut pos, mut mark, mut second_mark) = (0_u32, 0_usize, 0_usize, 0_usize);
        let (mut value, mut names, mut empty_rounds) = (0_u64, [0_u64; NAMES_MAX], 0_u32);
        if let Some(place) = &place {
            (state, pos, mark, second_mark) =
                (place.state, place.pos, place.mark, place.second_mark);
            (value, names, empty_rounds) = (place.value, place.names, place.empty_rounds);
            for (frame, (rounds, round)) in frames.iter_mut().zip(place.rounds) {
                *frame = MachineFrame { outer: packet, round, rounds };
            }
        }
        // Number of open counts. While one is open, all of its input is available.
        let mut depth = 0_u32;
        macro_rules! wait_for_more {
            () => {{
                if let Some(place) = &mut place {
                    let rounds = frames.map(|frame| (frame.rounds, frame.round));
                    **place = MachinePlace {
                        state,
                        pos,
                        mark,
                        second_mark,
                        value,
                        names,
                        empty_rounds,
                        rounds,
                    };
                }
                return Ok(None);
            }};
        }
        // Evaluates to the position after a fragment, or leaves `drive`.
        macro_rules! advance {
            ($fragment:expr, $statement:expr) => {
                match self.fragment_end($fragment, input, pos, !LAST && depth == 0) {
                    Ok(after) => after,
                    Err(MachineStop::More) => wait_for_more!(),
                    Err(MachineStop::At(at)) => {
                        return Err(self.mismatch(packet, input, at, $statement))
                    }
                }
            };
        }
        // Evaluates to a number of the table and the position after it.
        macro_rules! number {
            ($number:expr, $statement:expr) => {{
                let number = &self.numbers[$number as usize];
                let (after, plain) = match number.source {
                    NumberSource::Bytes { encoding, fragment } => {
                        let after = advance!(fragment, $statement);
                        let count = self.count(encoding, packet, pos, after, $statement)?;
                        (after, i128::from(count))
                    }
                    NumberSource::Integer(kind) => {
                        let bytes = usize::from(kind.bytes);
                        match rt::integer(input, pos, bytes, kind.is_little, kind.is_signed) {
                            Some((after, bits)) => (after, rt::meaning(bits, kind.is_signed)),
                            None if !LAST && depth == 0 => wait_for_more!(),
                            None => {
                                return Err(self.mismatch(packet, input, input.len(), $statement));
                            }
                        }
                    }
                    NumberSource::Name(name) => (pos, bound(&names, name)),
                    NumberSource::Number(number) => (pos, number.into()),
                    NumberSource::Value => (pos, value.into()),
                };
                (after, plain, number.adjust)
            }};
        }
        loop {
            match self.ops[state as usize] {
                MachineOp::Any { bytes, statement, next } => {
                    let Some(after) = rt::any(input, pos, bytes as usize) else {
                        if !LAST && depth == 0 {
                            wait_for_more!();
                        }
                        return Err(self.mismatch(packet, input, input.len(), statement));
                    };
                    (pos, state) = (after, next);
                }
                MachineOp::Count { slot, encoding, fragment, statement, next } => {
                    let after = advance!(fragment, statement);
                    let count = self.count(encoding, packet, pos, after, statement)?;
                    let Some(counted) = rt::counted(input, after, count) else {
                        if !LAST && depth == 0 {
                            wait_for_more!();
                        }
                        return Err(self.past_end(count, pos, statement));
                    };
                    frames[usize::from(slot)] =
                        MachineFrame { outer: input, round: usize::MAX, rounds: 0 };
                    (pos, input, state, depth) = (after, counted, next, depth + 1);
                }
                MachineOp::CountNumber { slot, number, statement, next } => {
                    let (after, plain, adjust) = number!(number, statement);
                    let count = self.adjusted(plain, adjust, pos, statement)?;
                    let Some(counted) = rt::counted(input, after, count) else {
                        if !LAST && depth == 0 {
                            wait_for_more!();
                        }
                        return Err(self.past_end(count, pos, statement));
                    };
                    frames[usize::from(slot)] =
                        MachineFrame { outer: input, round: usize::MAX, rounds: 0 };
                    (pos, input, state, depth) = (after, counted, next, depth + 1);
                }
                MachineOp::CountValue { slot, statement, next } => {
                    let Some(counted) = rt::counted(input, pos, value) else {
                        if !LAST && depth == 0 {
                            wait_for_more!();
                        }
                        return Err(self.past_end(value, pos, statement));
                    };
                    frames[usize::from(slot)] =
                        MachineFrame { outer: input, round: usize::MAX, rounds: 0 };
                    (input, state, depth) = (counted, next, depth + 1);
                }
                MachineOp::Choose { choice } => {
                    let choice = &self.choices[choice as usize];
                    let number = operand(&names, value, choice.selector);
                    let case = choice.cases.iter().find(|(numbers, _)| numbers.contains(&number));
                    state = case.map_or(choice.otherwise, |(_, body)| *body);
                }
                MachineOp::End => return Ok(Some(pos)),
                MachineOp::Execute { action, stop_bit, statement, next } => {
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
                MachineOp::ExecuteFromMark { action, statement, next } => {
                    let bytes = rt::between(packet, second_mark, pos);
                    match host.execute(action, bytes, second_mark) {
                        Ok(returned) => value = returned.0,
                        Err(code) => {
                            return Err(self.failed(action, code, second_mark, statement));
                        }
                    }
                    (second_mark, state) = (pos, next);
                }
                MachineOp::Fail { by_number: true, statement } => {
                    return Err(rt::no_case(pos, &self.statements, statement));
                }
                MachineOp::Fail { by_number: false, statement } => {
                    return Err(self.mismatch(packet, input, pos, statement));
                }
                MachineOp::Goto { next } => state = next,
                MachineOp::If { condition, body, otherwise } => {
                    let condition = &self.conditions[condition as usize];
                    let left = operand(&names, value, condition.left);
                    let right = operand(&names, value, condition.right);
                    state = if condition.comparison.holds(left, right) { body } else { otherwise };
                }
                MachineOp::Item { statement, action, action_statement, next } => {
                    let Some((after, integer)) = rt::stop_bit(input, pos) else {
                        if !LAST && depth == 0 {
                            wait_for_more!();
                        }
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
                MachineOp::Items { items, next } => {
                    let items = &self.items[items as usize];
                    if !LAST && depth == 0 {
                        let rest = input.get(pos..).unwrap_or_default();
                        let Some(last) = rest.iter().rposition(|byte| *byte >= 0x80) else {
                            wait_for_more!();
                        };
                        let whole = input.get(..pos + last + 1).unwrap_or_default();
                        let (actions, statements) = (&items.actions, &self.statements);
                        (pos, value) =
                            rt::items(packet, whole, pos, value, actions, statements, host)?;
                        mark = pos;
                        continue;
                    }
                    let (actions, statements) = (&items.actions, &self.statements);
                    (pos, value) = rt::items(packet, input, pos, value, actions, statements, host)?;
                    (mark, state) = (pos, next);
                }
                MachineOp::Loop { set, body, exit, .. } => {
                    if !LAST && depth == 0 && pos == input.len() {
                        wait_for_more!();
                    }
                    let starts = input.get(pos).is_some_and(|byte| {
                        self.sets.get(set as usize).is_some_and(|set| set.contains(*byte))
                    });
                    state = if starts { body } else { exit };
                }
                MachineOp::Mark { next } => (second_mark, state) = (pos, next),
                MachineOp::Match { fragment, statement, next } => {
                    pos = advance!(fragment, statement);
                    state = next;
                }
                MachineOp::One { set, statement, next } => {
                    let set = &self.sets[set as usize];
                    if !LAST && depth == 0 && pos == input.len() {
                        wait_for_more!();
                    }
                    if !input.get(pos).is_some_and(|byte| set.contains(*byte)) {
                        return Err(self.mismatch(packet, input, pos, statement));
                    }
                    (pos, state) = (pos + 1, next);
                }
                MachineOp::Push { next } => (mark, state) = (pos, next),
                MachineOp::Read { name, number, statement, next } => {
                    let (after, plain, _) = number!(number, statement);
                    host.number(name, plain, pos);
                    // 64 bits suffice: no number that is read is wider.
                    names[usize::from(name.0)] = plain as u64;
                    (pos, state) = (after, next);
                }
                MachineOp::Repeat { slot, number, statement, next } => {
                    let (after, plain, adjust) = number!(number, statement);
                    let rounds = self.adjusted(plain, adjust, pos, statement)?;
                    frames[usize::from(slot)] =
                        MachineFrame { outer: input, round: usize::MAX, rounds };
                    (pos, state) = (after, next);
                }
                MachineOp::RepeatRound { slot, may_stall, statement, body, exit } => {
                    let frame = &mut frames[usize::from(slot)];
                    if may_stall && frame.round == pos {
                        empty_rounds += 1;
                        if empty_rounds > rt::EMPTY_ROUNDS_MAX {
                            return Err(rt::empty_rounds(pos, &self.statements, statement));
                        }
                    }
                    frame.round = pos;
                    state = if frame.rounds == 0 { exit } else { body };
                    frame.rounds = frame.rounds.saturating_sub(1);
                }
                MachineOp::Round { slot, may_stall, statement, body, exit } => {
                    let frame = &mut frames[usize::from(slot)];
                    if pos == input.len() {
                        (input, state, depth) = (frame.outer, exit, depth.wrapping_sub(1));
                        continue;
                    }
                    if may_stall && frame.round == pos {
                        let kind = RunErrorKind::NotUsedUp;
                        return Err(rt::error(kind, pos, &self.statements, statement));
                    }
                    (frame.round, state) = (pos, body);
                }
                MachineOp::Send { code, value, next } => {
                    host.send(code, value);
                    state = next;
                }
                MachineOp::StopBit { statement, next } => {
                    let Some((after, _)) = rt::stop_bit(input, pos) else {
                        if !LAST && depth == 0 {
                            wait_for_more!();
                        }
                        return Err(self.mismatch(packet, input, input.len(), statement));
                    };
                    (pos, state) = (after, next);
                }
                MachineOp::Switch { switch } => {
                    match self.switch(switch, input, pos, !LAST && depth == 0) {
                        Some(taken) => (pos, state) = taken,
                        None => wait_for_more!(),
                    }
                }
                MachineOp::Until { fragment, last, statement, body, exit } => {
                    let is_open = !LAST && depth == 0;
                    match self.fragment_end(fragment, input, pos, is_open) {
                        Err(MachineStop::More) => wait_for_more!(),
                        Ok(after) if is_open && last && after == input.len() => wait_for_more!(),
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

    /// Returns the end of the longest match of a fragment. `is_open` is true if more input may
    /// follow.
    #[inline]
    fn fragment_end(
        &self,
        fragment: u32,
        input: &[u8],
        pos: usize,
        is_open: bool,
    ) -> Result<usize, MachineStop> {
        let fragment = &self.fragments[fragment as usize];
        let found = match &fragment.walk {
            MachineWalk::Any(bytes) => rt::any(input, pos, *bytes).ok_or(input.len()),
            MachineWalk::Literal(bytes) => rt::literal(input, pos, bytes),
            MachineWalk::One(set) => match input.get(pos) {
                Some(byte) if set.contains(*byte) => Ok(pos + 1),
                _ => Err(pos),
            },
            MachineWalk::StopBit => {
                rt::stop_bit(input, pos).map(|(after, _)| after).ok_or(input.len())
            }
            MachineWalk::Table => {
                let scanned = self.scan.longest(fragment.start, input, pos);
                if is_open && scanned.ran_out {
                    return Err(MachineStop::More);
                }
                scanned.found.map(|(after, _)| after)
            }
        };
        // Every strategy except the table decides each byte at once, so more input is needed only
        // at the end.
        found.map_err(|at| {
            if is_open && at == input.len() { MachineStop::More } else { MachineStop::At(at) }
        })
    }

    /// Returns the position after the matching case with its control state, or `pos` with the state
    /// for no match; `None` if more input is needed to decide.
    #[inline]
    fn switch(
        &self,
        switch: u32,
        input: &[u8],
        pos: usize,
        is_open: bool,
    ) -> Option<(usize, StateId)> {
        let switch = &self.switches[switch as usize];
        let Some(first) = input.get(pos) else {
            return (!is_open).then_some((pos, switch.otherwise));
        };
        if let Some(table) = &switch.by_first_byte {
            let target = table[usize::from(*first)];
            return Some((pos + usize::from(target != switch.otherwise), target));
        }
        let scanned = self.scan.longest(switch.start, input, pos);
        if is_open && scanned.ran_out {
            return None;
        }
        Some(scanned.found.unwrap_or((pos, switch.otherwise)))
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
    fn adjusted(
        &self,
        number: i128,
        adjust: i128,
        start: usize,
        statement: u32,
    ) -> Result<u64, RunError> {
        rt::adjusted(number, adjust)
            .map_err(|kind| rt::error(kind, start, &self.statements, statement))
    }

    #[cold]
    fn past_end(&self, count: u64, start: usize, statement: u32) -> RunError {
        rt::count_past_end(count, start, &self.statements, statement)
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

/// Returns the number bound to a name.
fn bound(names: &[u64; NAMES_MAX], name: NameNode) -> i128 {
    rt::meaning(names[usize::from(name.id.0)], name.is_signed)
}

/// Returns the value of an operand of a condition.
fn operand(names: &[u64; NAMES_MAX], value: u64, operand: OperandNode) -> i128 {
    match operand {
        OperandNode::Name(name) => bound(names, name),
        OperandNode::Number(number) => number,
        OperandNode::Value => value.into(),
    }
}

/// The result of a scan.
struct Scanned {
    /// The end of the longest match and the control state entered there; or the offset of the byte
    /// that does not fit.
    found: Result<(usize, StateId), usize>,
    /// True if the input ended while a longer match was still possible.
    ran_out: bool,
}

impl MachineScan {
    /// Finds the longest match from `start`.
    #[inline]
    fn longest(&self, start: u32, input: &[u8], pos: usize) -> Scanned {
        let (mut state, mut at) = (start, pos);
        let mut found = None;
        let ran_out = loop {
            let accept = self.accepts[state as usize];
            if accept != NONE {
                found = Some((at, accept));
                if self.lasts[state as usize] {
                    break false;
                }
            }
            let Some(byte) = input.get(at) else { break true };
            let class = usize::from(self.classes[usize::from(*byte)]);
            let next = self.table[state as usize * self.class_count + class];
            if next == NONE {
                break false;
            }
            (state, at) = (next, at + 1);
        };
        Scanned { found: found.ok_or(at), ran_out }
    }
}

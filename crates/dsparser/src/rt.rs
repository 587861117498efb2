//! The rules of the language that all engines and the generated source share.
//!
//! Positions count from the start of the packet. `input` is the packet up to the end of the
//! innermost count, so reads cannot go past it.

use crate::host::{ActionError, ActionId, ActionValue, Host, StopBitRun};

pub use crate::host::{ItemAction, ItemActions};
use crate::run_error::{RunError, RunErrorKind, StatementText};

/// Limit per run on rounds of `REPEAT` that consume no byte. Without it a large count could keep
/// the host in a loop almost forever.
pub const EMPTY_ROUNDS_MAX: u32 = 65_536;

/// Reads the binary integer of `bytes` bytes at `pos`. Returns the position after it and the
/// integer; `None` if the input is too short.
#[inline]
pub fn integer(
    input: &[u8],
    pos: usize,
    bytes: usize,
    is_little: bool,
    is_signed: bool,
) -> Option<(usize, u64)> {
    let end = any(input, pos, bytes)?;
    let item = between(input, pos, end);
    let push = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    let number = match is_little {
        true => item.iter().rev().fold(0, push),
        false => item.iter().fold(0, push),
    };
    let unused = 64 - 8 * bytes.clamp(1, 8);
    // The arithmetic right shift extends the sign.
    let extended = ((number << unused) as i64 >> unused) as u64;
    Some((end, if is_signed { extended } else { number }))
}

/// Returns a bound number with its sign.
#[inline]
pub const fn meaning(number: u64, is_signed: bool) -> i128 {
    if is_signed { number as i64 as i128 } else { number as i128 }
}

/// True if at least one bit is set in both.
#[inline]
pub const fn have_common_bits(left: i128, right: i128) -> bool {
    left & right != 0
}

/// Returns a count with its adjustment added.
///
/// # Errors
/// [`RunErrorKind::CountBelowZero`] and [`RunErrorKind::CountRange`].
#[inline]
pub fn adjusted(count: i128, adjust: i128) -> Result<u64, RunErrorKind> {
    let sum = count.saturating_add(adjust);
    match u64::try_from(sum) {
        Ok(count) => Ok(count),
        Err(_) if sum < 0 => Err(RunErrorKind::CountBelowZero),
        Err(_) => Err(RunErrorKind::CountRange),
    }
}

/// Returns the position after `bytes` arbitrary bytes; `None` if the input is too short.
#[inline(always)]
pub fn any(input: &[u8], pos: usize, bytes: usize) -> Option<usize> {
    (input.len().checked_sub(pos)? >= bytes).then_some(pos + bytes)
}

/// Returns the position after exactly `expected`.
///
/// # Errors
/// The offset of the first byte that differs or is missing.
#[inline]
pub fn literal(input: &[u8], pos: usize, expected: &[u8]) -> Result<usize, usize> {
    let rest = input.get(pos..).unwrap_or_default();
    match rest.starts_with(expected) {
        true => Ok(pos + expected.len()),
        false => Err(pos + rest.iter().zip(expected).take_while(|(a, b)| a == b).count()),
    }
}

/// Hands the stop-bit items from `pos` to the end of the input to their actions. Returns the
/// position and the value of the last action, or `value` if there is no item.
///
/// # Errors
/// The input ends inside an item, after the actions of those before it; or an action fails.
#[inline(always)]
pub fn items<H: Host>(
    packet: &[u8],
    input: &[u8],
    pos: usize,
    value: u64,
    actions: &ItemActions,
    statements: &[StatementText],
    host: &mut H,
) -> Result<(usize, u64), RunError> {
    let Some(rest) = input.get(pos..) else { return Ok((pos, value)) };
    let bytes = match rest.last() {
        None => return Ok((pos, value)),
        Some(last) if *last >= 0x80 => rest,
        Some(_) => whole_items(rest),
    };
    // The only call site for runs of items: the compiler can inline the host once and keep its
    // state in registers.
    let taken = match bytes {
        [] => Ok(ActionValue::default()),
        _ => host.execute_stop_bit_run(StopBitRun { bytes, offset: pos, actions }),
    };
    match taken {
        Ok(returned) if bytes.len() == rest.len() => Ok((input.len(), returned.0)),
        Ok(_) => Err(ended(packet, input, statements, actions.walk_statement)),
        Err(refused) => {
            Err(item_failed(packet, refused.offset, refused.error, actions, statements))
        }
    }
}

/// Returns the whole items of `bytes`, without the incomplete item at the end.
#[cold]
fn whole_items(bytes: &[u8]) -> &[u8] {
    let whole = bytes.iter().rposition(|byte| *byte >= 0x80).map_or(0, |last| last + 1);
    bytes.get(..whole).unwrap_or_default()
}

#[cold]
fn item_failed(
    packet: &[u8],
    offset: usize,
    code: ActionError,
    actions: &ItemActions,
    statements: &[StatementText],
) -> RunError {
    let is_short = packet.get(offset).is_some_and(|byte| *byte >= 0x80);
    let to = if is_short { &actions.short } else { &actions.long };
    action_failed(to.action, code, offset, statements, to.statement)
}

/// Returns the position after one stop-bit item and the item as an integer, modulo 2^64; `None` if
/// the input ends first.
#[inline(always)]
pub fn stop_bit(input: &[u8], pos: usize) -> Option<(usize, u64)> {
    stop_bit_from(input, pos, 0)
}

/// As [`stop_bit`], for the rest of an item; `head` is the integer of its bytes before `pos`.
///
/// One byte is by far the most common length and has a separate branch. The length of longer items
/// is hard to predict, so items of up to eight bytes are decoded without a branch per byte: the
/// lowest top bit that is set in the little-endian word gives the length, and `squeeze` joins the
/// groups.
#[inline(always)]
pub fn stop_bit_from(input: &[u8], pos: usize, head: u64) -> Option<(usize, u64)> {
    let rest = input.get(pos..)?;
    let first = *rest.first()?;
    if first >= 0x80 {
        return Some((pos + 1, head << 7 | u64::from(first & 0x7f)));
    }
    let Some(bytes) = rest.first_chunk::<8>() else { return stop_bit_long(input, pos, head) };
    let stops = u64::from_le_bytes(*bytes) & 0x8080_8080_8080_8080;
    if stops == 0 {
        return stop_bit_long(input, pos, head);
    }
    let len = stops.trailing_zeros() / 8 + 1;
    let groups = squeeze(u64::from_be_bytes(*bytes) >> (64 - 8 * len));
    let end = pos + len as usize;
    // Always true; without the check the compiler would add a bounds check at each use of `end`.
    (end <= input.len()).then_some((end, head << (7 * len) | groups))
}

/// Joins the low seven bits of eight bytes, most significant byte first, to 56 bits.
///
/// Each step halves the number of groups:
/// 1. `2 x 7` bits at offsets 0 and 8 become 14: in each 16-bit lane, `high * 256 + low` minus
///    `high * 128`. The mask `0x3f80` is `high << 7`.
/// 2. `2 x 14` bits at offsets 0 and 16 become 28: the upper group moves down by 2 (mask
///    `0x0fff_c000`).
/// 3. `2 x 28` bits at offsets 0 and 32 become 56: the upper group moves down by 4.
#[inline(always)]
fn squeeze(word: u64) -> u64 {
    let word = word & 0x7f7f_7f7f_7f7f_7f7f;
    let word = word - (word >> 1 & 0x3f80_3f80_3f80_3f80);
    let word = (word & 0x0000_3fff_0000_3fff) | (word >> 2 & 0x0fff_c000_0fff_c000);
    (word & 0x0fff_ffff) | (word >> 4 & 0x00ff_ffff_f000_0000)
}

fn stop_bit_long(input: &[u8], mut pos: usize, head: u64) -> Option<(usize, u64)> {
    let mut integer = head;
    for byte in input.get(pos..)? {
        integer = integer << 7 | u64::from(byte & 0x7f);
        pos += 1;
        if *byte >= 0x80 {
            return Some((pos, integer));
        }
    }
    None
}

/// Returns the integer of the bytes of one stop-bit item, modulo 2^64.
#[inline]
pub fn stop_bit_integer(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |integer, byte| integer << 7 | u64::from(byte & 0x7f))
}

/// Returns the bytes from the mark up to the position; `input` may also be the whole packet.
// Slicing `input` saves a check: every input begins at the packet's start, and the compiler knows
// that the position lies in the input.
#[inline(always)]
pub fn between(input: &[u8], mark: usize, pos: usize) -> &[u8] {
    input.get(mark..pos).unwrap_or_default()
}

/// Returns the input of a count of `count` bytes that begins at `pos`; `None` if they are not all
/// there.
#[inline(always)]
pub fn counted(input: &[u8], pos: usize, count: u64) -> Option<&[u8]> {
    let count = usize::try_from(count).ok()?;
    input.get(..any(input, pos, count)?)
}

/// Reads a count, most significant byte first.
///
/// # Errors
/// [`RunErrorKind::CountRange`] above 64 bits.
#[inline]
pub fn big_endian(bytes: &[u8]) -> Result<u64, RunErrorKind> {
    positional(bytes.iter().map(|byte| u64::from(*byte)), 256)
}

/// Reads a count, least significant byte first.
///
/// # Errors
/// [`RunErrorKind::CountRange`] above 64 bits.
#[inline]
pub fn little_endian(bytes: &[u8]) -> Result<u64, RunErrorKind> {
    positional(bytes.iter().rev().map(|byte| u64::from(*byte)), 256)
}

/// Reads a count from the low seven bits of each byte, most significant group first.
///
/// # Errors
/// [`RunErrorKind::CountRange`] above 64 bits.
#[inline]
pub fn stop_bit_count(bytes: &[u8]) -> Result<u64, RunErrorKind> {
    positional(bytes.iter().map(|byte| u64::from(byte & 0x7f)), 128)
}

/// Reads a count from the leading ASCII digits of `bytes`.
///
/// # Errors
/// [`RunErrorKind::CountSyntax`] without a digit, [`RunErrorKind::CountRange`] above 64 bits.
#[inline]
pub fn decimal(bytes: &[u8]) -> Result<u64, RunErrorKind> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit());
    if digits.clone().next().is_none() {
        return Err(RunErrorKind::CountSyntax);
    }
    positional(digits.map(|byte| u64::from(byte - b'0')), 10)
}

#[inline]
fn positional(mut digits: impl Iterator<Item = u64>, base: u64) -> Result<u64, RunErrorKind> {
    digits
        .try_fold(0_u64, |number, digit| number.checked_mul(base)?.checked_add(digit))
        .ok_or(RunErrorKind::CountRange)
}

/// Returns the error of a pattern that does not fit at `offset`: a wrong byte, or the end of the
/// surrounding count or of the packet.
#[cold]
pub fn mismatch(
    packet: &[u8],
    input: &[u8],
    offset: usize,
    statements: &[StatementText],
    statement: u32,
) -> RunError {
    let kind = if offset < input.len() {
        RunErrorKind::Mismatch
    } else if input.len() < packet.len() {
        RunErrorKind::PastCount
    } else {
        RunErrorKind::InputEnded
    };
    error(kind, offset, statements, statement)
}

/// Returns the error of a pattern that needs bytes after the end of its input.
#[cold]
pub fn ended(
    packet: &[u8],
    input: &[u8],
    statements: &[StatementText],
    statement: u32,
) -> RunError {
    mismatch(packet, input, input.len(), statements, statement)
}

/// Returns the error of a count that exceeds the bytes left.
#[cold]
pub fn count_past_end(
    count: u64,
    offset: usize,
    statements: &[StatementText],
    statement: u32,
) -> RunError {
    error(RunErrorKind::CountPastEnd { count }, offset, statements, statement)
}

/// Returns the error of a count whose body leaves bytes unconsumed.
#[cold]
pub fn not_used_up(offset: usize, statements: &[StatementText], statement: u32) -> RunError {
    error(RunErrorKind::NotUsedUp, offset, statements, statement)
}

/// Returns the error of a number that selects no case.
#[cold]
pub fn no_case(offset: usize, statements: &[StatementText], statement: u32) -> RunError {
    error(RunErrorKind::NoCase, offset, statements, statement)
}

/// Returns the error of too many rounds that consumed no byte.
#[cold]
pub fn empty_rounds(offset: usize, statements: &[StatementText], statement: u32) -> RunError {
    error(RunErrorKind::EmptyRounds, offset, statements, statement)
}

/// Returns the error of an action.
#[cold]
pub fn action_failed(
    action: ActionId,
    code: ActionError,
    offset: usize,
    statements: &[StatementText],
    statement: u32,
) -> RunError {
    error(RunErrorKind::ActionFailed { action, error: code }, offset, statements, statement)
}

/// Returns any other error.
#[cold]
pub fn error(
    kind: RunErrorKind,
    offset: usize,
    statements: &[StatementText],
    statement: u32,
) -> RunError {
    let line = statements.get(statement as usize).map_or(0, |text| text.line);
    RunError { offset, statement, line, kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_bit_items_of_every_length_are_walked() {
        for len in 1..=12_usize {
            let mut bytes = vec![1_u8; len];
            bytes[len - 1] |= 0x80;
            let expected = bytes.iter().fold(0_u64, |sum, byte| sum << 7 | u64::from(byte & 0x7f));
            assert_eq!(stop_bit(&bytes, 0), Some((len, expected)));
            assert_eq!(stop_bit_integer(&bytes), expected);
            assert_eq!(stop_bit(&bytes[..len - 1], 0), None);
            bytes.extend([0; 8]);
            assert_eq!(stop_bit(&bytes, 0), Some((len, expected)));
        }
    }

    #[test]
    fn counts_are_exact_or_an_error() {
        assert_eq!(big_endian(&[1, 2]), Ok(0x102));
        assert_eq!(little_endian(&[1, 2]), Ok(0x201));
        assert_eq!(big_endian(&[0xff; 8]), Ok(u64::MAX));
        assert_eq!(stop_bit_count(&[1, 0x80]), Ok(128));
        assert_eq!(stop_bit_count(&[0x7f; 10]), Err(RunErrorKind::CountRange));
        assert_eq!(decimal(b"042\x01"), Ok(42));
        assert_eq!(decimal(b"\x01"), Err(RunErrorKind::CountSyntax));
        assert_eq!(decimal(b"99999999999999999999"), Err(RunErrorKind::CountRange));
    }

    #[test]
    fn a_literal_fails_at_the_first_byte_that_differs() {
        assert_eq!(literal(b"xab", 1, b"ab"), Ok(3));
        assert_eq!(literal(b"xac", 1, b"ab"), Err(2));
        assert_eq!(literal(b"xa", 1, b"ab"), Err(2));
        assert_eq!(literal(b"x", 9, b"ab"), Err(9));
    }
}

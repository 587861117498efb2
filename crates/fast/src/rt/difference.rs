//! Deltas and tails of strings: the shortest encoding of a value relative to the previous one.
//!
//! Spec: FAST 1.1 §6.3.7.3, §6.3.7.4, §6.3.8.

use super::context::Context;
use super::encode::Output;
use super::kernel::Kernel;
use super::text::Charset;

/// True if an ascii string is distinct from an overlong form: a leading NUL must be the only
/// character.
fn is_expressible(charset: Charset, value: &[u8]) -> bool {
    charset != Charset::Ascii || !matches!(value, [0, _, ..])
}

/// Returns how many of the first `kept` bytes may be kept so that the rest of `value` can still be
/// encoded.
fn keep_in_front(charset: Charset, value: &[u8], kept: usize) -> Option<usize> {
    (0..=kept).rev().find(|&kept| is_expressible(charset, &value[kept..]))
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn common_end(a: &[u8], b: &[u8]) -> usize {
    a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Number of bytes cut off the base (negative in front, -1 for nothing), and the bytes added.
#[derive(Clone, Copy)]
struct Difference<'v> {
    subtraction: i64,
    added: &'v [u8],
}

/// Returns the number of bytes of a signed integer on the wire.
fn signed_len(value: i64) -> usize {
    let magnitude = value ^ (value >> 63);
    ((65 - magnitude.leading_zeros()).div_ceil(7)).max(1) as usize
}

fn unsigned_len(value: u64) -> usize {
    ((64 - value.leading_zeros()).div_ceil(7)).max(1) as usize
}

impl Difference<'_> {
    fn len(&self, charset: Charset, nullable: bool) -> usize {
        let shift = i64::from(nullable && self.subtraction >= 0);
        let added = self.added.len();
        let prefix = match charset {
            Charset::Ascii => usize::from(self.added.first().is_none_or(|first| *first == 0)),
            _ => unsigned_len(added as u64),
        };
        signed_len(self.subtraction + shift) + prefix + added
    }
}

/// Returns the shortest delta from `base` to `value`; at equal length the one that cuts at the
/// back.
fn shortest<'v>(
    charset: Charset,
    nullable: bool,
    base: &[u8],
    value: &'v [u8],
) -> Option<Difference<'v>> {
    let back = keep_in_front(charset, value, common(base, value))
        .map(|kept| Difference { subtraction: (base.len() - kept) as i64, added: &value[kept..] });
    if back.is_some_and(|back| back.added.is_empty()) {
        return back;
    }
    let kept = common_end(base, value);
    let added = &value[..value.len() - kept];
    let front = Difference { subtraction: !((base.len() - kept) as i64), added };
    let front = Some(front).filter(|front| is_expressible(charset, front.added));
    match (back, front) {
        (Some(back), Some(front)) if front.len(charset, nullable) < back.len(charset, nullable) => {
            Some(front)
        }
        (Some(back), _) => Some(back),
        (None, front) => front,
    }
}

impl<K: Kernel> Output<'_, K> {
    fn part(
        &mut self,
        value: &[u8],
        charset: Charset,
        nullable: bool,
        context: &Context,
    ) -> Option<()> {
        match charset {
            Charset::Ascii => self.any_ascii(value, nullable, context),
            _ => self.vector(value, Charset::Bytes, nullable, context),
        }
    }

    /// Writes a delta that turns `base` into `value`.
    pub fn text_delta(
        &mut self,
        value: &[u8],
        base: &[u8],
        charset: Charset,
        nullable: bool,
        context: &Context,
    ) -> Option<()> {
        context.accepts(value, charset)?;
        let difference = shortest(charset, nullable, base, value)?;
        match nullable {
            true => self.signed_nullable(Some(difference.subtraction as u64))?,
            false => self.signed(difference.subtraction as u64)?,
        }
        self.part(difference.added, charset, false, context)
    }

    /// Writes the shortest tail that turns `base` into `value`. A tail never shortens its base; a
    /// tail longer than the base replaces it.
    pub fn text_tail(
        &mut self,
        value: &[u8],
        base: &[u8],
        charset: Charset,
        nullable: bool,
        context: &Context,
    ) -> Option<()> {
        context.accepts(value, charset)?;
        if value.len() < base.len() {
            return None;
        }
        let kept = if value.len() == base.len() { common(base, value) } else { 0 };
        let kept = keep_in_front(charset, value, kept)?;
        self.part(&value[kept..], charset, nullable, context)
    }
}

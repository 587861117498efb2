//! Tags of five to nine digits: too long for a lane, so they are read one by one.

use crate::reader::{Filter, parse_tag};

/// The columns of an index, the tags to be written.
pub(super) struct Lanes<'i> {
    pub(super) tags: &'i mut [u32],
    pub(super) equals: &'i [u32],
    /// With the slot that stands for the delimiter before the message.
    pub(super) ends: &'i [u32],
}

/// Reads the tags of fields that wide instructions cannot read, a bit of `odd` each from the field at `at` on;
/// `None` if one is no tag. Returns whether one may be in the filter.
#[cold]
#[inline(never)]
pub(super) fn read(
    bytes: &[u8],
    lanes: Lanes<'_>,
    at: usize,
    mut odd: u32,
    filter: &Filter,
) -> Option<bool> {
    let mut may_hold_data = false;
    while odd != 0 {
        let field = at + odd.trailing_zeros() as usize;
        odd &= odd - 1;
        let start = lanes.ends.get(field)?.wrapping_add(1) as usize;
        let tag = parse_tag(bytes.get(start..*lanes.equals.get(field)? as usize)?)?;
        *lanes.tags.get_mut(field)? = tag;
        may_hold_data |= filter.may_hold(tag);
    }
    Some(may_hold_data)
}

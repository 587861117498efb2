//! Tags of five to nine digits, which are too long for a lane and are parsed one by one.

use crate::reader::{TagFilter, parse_tag};

/// The columns of an index; the tags are to be written.
pub(super) struct IndexColumns<'i> {
    pub(super) tags: &'i mut [u32],
    pub(super) equals: &'i [u32],
    /// Including the slot for the delimiter before the message.
    pub(super) ends: &'i [u32],
}

/// Parses the tags that the vector code could not; bit n of `odd` stands for the field at `at + n`.
/// Returns true if one may be in the filter; `None` if one is not a valid tag.
#[cold]
#[inline(never)]
pub(super) fn read(
    bytes: &[u8],
    lanes: IndexColumns<'_>,
    at: usize,
    mut odd: u32,
    filter: &TagFilter,
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

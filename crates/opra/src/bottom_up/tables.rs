//! Lookup tables for the masks of a message.

use crate::category::{appendage_of, mask};
use crate::{Category, Field, OpraVersion};

/// An impossible field: no presence map of a supported message has this slot, so the field is
/// always missing and the message is rejected.
pub(super) const IMPOSSIBLE: u64 = 1 << 63;

/// Fields of each category, by code, without appendage; zero if the engines do not support the
/// category.
pub(crate) static BASE: [u64; 128] = {
    let mut table = [0; 128];
    let mut code = 0;
    while code < 128 {
        let category = Category::from_code(code as u32);
        table[code] = match category {
            Category::Administrative
            | Category::Control
            | Category::Default
            | Category::Underlying => 0,
            _ => mask(category.fields(OpraVersion::V2)),
        };
        code += 1;
    }
    table
};

/// Fields of the appendage for each BBO indicator.
pub(super) static APPENDAGE: [u64; 128] = {
    let mut table = [IMPOSSIBLE; 128];
    let mut code = 0;
    while code < 128 {
        if let Some(appendage) = appendage_of(code as u32) {
            table[code] = appendage.bits(OpraVersion::V2);
        }
        code += 1;
    }
    table
};

/// Returns all fields of a message from its category's fields `base` and its BBO indicator `bbo`.
#[inline]
pub(crate) fn message_fields(base: u64, bbo: u32) -> u64 {
    if base & Field::Bbo.bit() == 0 {
        return base;
    }
    let known = if bbo < 128 { APPENDAGE[(bbo & 0x7F) as usize] } else { IMPOSSIBLE };
    base | known
}

/// Returns the fields of the category with `code`, without appendage; zero if the engines do not
/// support the category.
#[inline]
pub(crate) fn base_of(code: u32) -> u64 {
    BASE.get(code as usize).copied().unwrap_or_default()
}

//! What the masks of a message are looked up in.

use crate::category::{appendage_of, mask};
use crate::{Category, Field, Version};

/// Stands among the fields of a message that cannot be: no presence map has such a slot, so the field is
/// always missing.
pub(super) const IMPOSSIBLE: u64 = 1 << 63;

/// The fields of the category with a code, without appendage; zero where the engines do not take it.
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
            _ => mask(category.fields(Version::V2)),
        };
        code += 1;
    }
    table
};

/// The fields of the appendage that a BBO indicator announces.
pub(super) static APPENDAGE: [u64; 128] = {
    let mut table = [IMPOSSIBLE; 128];
    let mut code = 0;
    while code < 128 {
        if let Some(appendage) = appendage_of(code as u32) {
            table[code] = appendage.bits(Version::V2);
        }
        code += 1;
    }
    table
};

/// All fields of a message of category fields `base` with BBO indicator `bbo`.
#[inline]
pub(crate) fn message_fields(base: u64, bbo: u32) -> u64 {
    if base & Field::Bbo.bit() == 0 {
        return base;
    }
    let known = if bbo < 128 { APPENDAGE[(bbo & 0x7F) as usize] } else { IMPOSSIBLE };
    base | known
}

/// The fields of the category with `code`, without appendage; zero where the engines do not take it.
#[inline]
pub(crate) fn base_of(code: u32) -> u64 {
    BASE.get(code as usize).copied().unwrap_or_default()
}

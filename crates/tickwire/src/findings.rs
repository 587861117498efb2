//! Reportable errors let pass by several decoders.

use tickwire_fast::Findings;

/// Both together.
pub fn sum(a: Findings, b: Findings) -> Findings {
    Findings {
        decimal_range: a.decimal_range + b.decimal_range,
        invalid_utf8: a.invalid_utf8 + b.invalid_utf8,
        overlong_integer: a.overlong_integer + b.overlong_integer,
        overlong_presence_map: a.overlong_presence_map + b.overlong_presence_map,
        presence_map_bits: a.presence_map_bits + b.presence_map_bits,
        overlong_string: a.overlong_string + b.overlong_string,
    }
}

//! Writes numbers, strings and bytes as JSON text.

use crate::digits;

/// Appends a signed integer.
pub fn push_integer(out: &mut Vec<u8>, value: i64) {
    digits::push_integer(out, value);
}

/// Appends an unsigned integer.
pub fn push_unsigned(out: &mut Vec<u8>, value: u64) {
    digits::push_unsigned(out, value);
}

/// Appends a string in quotes.
///
/// Spec: RFC 8259 §7.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|&byte| byte < b' ' || byte == b'"' || byte == b'\\')
    {
        out.extend_from_slice(&rest[..at]);
        push_escape(out, rest[at]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn push_escape(out: &mut Vec<u8>, byte: u8) {
    out.push(b'\\');
    match byte {
        b'"' | b'\\' => out.push(byte),
        b'\n' => out.push(b'n'),
        b'\r' => out.push(b'r'),
        b'\t' => out.push(b't'),
        _ => {
            out.extend_from_slice(b"u00");
            push_hex(out, &[byte]);
        }
    }
}

/// Appends bytes as hexadecimal digits, without quotes.
pub fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for &byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_from_another_reader_as_they_were() {
        for text in ["", "plain", "a \"quoted\" \\ path", "\0\u{1}\n\r\t\u{1f}\u{7f}", "Цена €"]
        {
            let mut out = Vec::new();
            push_string(&mut out, text);
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }

    #[test]
    fn the_extremes_of_integers_are_whole() {
        let mut out = Vec::new();
        push_integer(&mut out, i64::MIN);
        push_unsigned(&mut out, u64::MAX);
        assert_eq!(out, b"-922337203685477580818446744073709551615");
    }
}

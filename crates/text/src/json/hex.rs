//! Bytes as hexadecimal digits.

/// Parses hexadecimal digits; white space between bytes is ignored.
///
/// # Errors
/// A description of the error.
pub fn parse_hex(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut high = None;
    for (index, character) in text.chars().enumerate() {
        if character.is_whitespace() && high.is_none() {
            continue;
        }
        let digit = character.to_digit(16).ok_or_else(|| {
            format!("character {} is '{character}': expected pairs of digits 0-9 a-f", index + 1)
        })? as u8;
        match high.take() {
            Some(high) => bytes.push(high << 4 | digit),
            None => high = Some(digit),
        }
    }
    match high {
        Some(_) => Err("the last byte has one digit: expected pairs of digits 0-9 a-f".to_owned()),
        None => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_digits_are_bytes() {
        assert_eq!(parse_hex("c0 81\nFf"), Ok(vec![0xc0, 0x81, 0xff]));
        assert_eq!(parse_hex(""), Ok(vec![]));
    }

    #[test]
    fn half_a_byte_is_refused() {
        assert!(parse_hex("c").is_err());
        assert!(parse_hex("c 0").is_err());
        assert!(parse_hex("zz").is_err());
    }
}

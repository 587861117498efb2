//! Formats members of the API's answers for display.

use serde_json::Value;

/// Formats a count with separators; `-` if there is none.
pub(crate) fn count(value: &Value) -> String {
    let Some(number) = value.as_u64() else { return "-".to_owned() };
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns a count with its noun, which takes an s unless the count is 1.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Formats a rate, with one decimal place below 100 and none from there on.
pub(crate) fn rate(value: &Value) -> String {
    match value.as_f64() {
        None => "-".to_owned(),
        Some(rate) if rate < 100.0 => format!("{rate:.1}"),
        Some(rate) => count(&Value::from(rate.round() as u64)),
    }
}

/// Returns a text; empty if there is none.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Replaces underscores by spaces: `no_snapshot` becomes `no snapshot`.
pub(crate) fn words(value: &Value) -> String {
    text(value).replace('_', " ")
}

/// Formats a time in nanoseconds with a suitable unit.
pub(crate) fn ns(value: &Value) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match value.as_u64() {
        None | Some(0) => "-".to_owned(),
        Some(ns) => match units.into_iter().find(|(unit, _)| ns >= *unit) {
            Some((unit, name)) => format!("{:.1} {name}", ns as f64 / unit as f64),
            None => format!("{ns} ns"),
        },
    }
}

/// Formats a duration in milliseconds with a suitable unit.
pub(crate) fn span(value: &Value) -> String {
    match value.as_u64() {
        None => "-".to_owned(),
        Some(ms @ ..1_000) => format!("{ms} ms"),
        Some(ms @ ..120_000) => format!("{:.1} s", ms as f64 / 1e3),
        Some(ms @ ..7_200_000) => format!("{} min", ms / 60_000),
        Some(ms) => format!("{:.1} h", ms as f64 / 3.6e6),
    }
}

/// Formats milliseconds since 1970 as a time of day in UTC.
pub(crate) fn clock(value: &Value) -> String {
    // Times of packets have fractions of milliseconds.
    let ms = value.as_u64().or_else(|| value.as_f64().map(|ms| ms as u64)).unwrap_or(0);
    let seconds = ms / 1_000;
    let (hours, minutes) = (seconds / 3_600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{:03}", seconds % 60, ms % 1_000)
}

/// Returns the items of a list; empty if the value is no list.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the sum of the counts in an object.
pub(crate) fn sum(value: &Value) -> u64 {
    value.as_object().into_iter().flat_map(|of| of.values()).filter_map(Value::as_u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_and_times_are_written_for_people() {
        assert_eq!(count(&json!(1_234_567)), "1,234,567");
        assert_eq!((count(&json!(999)), count(&Value::Null)), ("999".to_owned(), "-".to_owned()));
        assert_eq!(
            (rate(&json!(99.94)), rate(&json!(1234.5))),
            ("99.9".to_owned(), "1,235".to_owned())
        );
        assert_eq!(
            (ns(&json!(0)), ns(&json!(950)), ns(&json!(1_500))),
            ("-".to_owned(), "950 ns".to_owned(), "1.5 us".to_owned())
        );
        assert_eq!(
            (span(&json!(999)), span(&json!(1_500))),
            ("999 ms".to_owned(), "1.5 s".to_owned())
        );
        assert_eq!(clock(&json!(86_400_000_u64 + 3_723_004)), "01:02:03.004");
        assert_eq!(sum(&json!({"a": 1, "b": 2})), 3);
    }
}

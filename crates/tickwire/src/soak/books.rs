//! Comparison of book lines with the truth.

use crate::failure::Failure;
use serde_json::Value;
use std::collections::BTreeMap;

/// Numbers of a receiver's books by the result of the comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    pub fresh: u64,
    pub stale: u64,
    pub wrong: u64,
}

/// Compares the book lines of a receiver with those of the exchange.
pub fn compare(found: &str, truth: &[Value]) -> Result<Compared, Failure> {
    let key = |line: &Value| (line["instrument"].to_string(), line["kind"].to_string());
    let truth: BTreeMap<_, &Value> = truth.iter().map(|line| (key(line), line)).collect();
    let mut compared = Compared::default();
    for text in found.lines() {
        let line: Value = serde_json::from_str(text)
            .map_err(|error| Failure::Data(format!("not a book line: {text}: {error}")))?;
        if line["state"] != "fresh" {
            compared.stale += 1;
            continue;
        }
        let is_true = truth
            .get(&key(&line))
            .is_some_and(|truth| ["bids", "offers"].iter().all(|side| line[side] == truth[side]));
        if is_true {
            compared.fresh += 1;
        } else {
            compared.wrong += 1;
            tracing::error!("a fresh book is not the exchange's: {line}");
        }
    }
    Ok(compared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(instrument: &str, state: &str, price: &str) -> Value {
        json!({
            "instrument": instrument, "kind": "outright", "state": state,
            "bids": [[price, "1", null]], "offers": [],
        })
    }

    #[test]
    fn fresh_books_are_compared_and_stale_ones_counted() {
        let truth = [line("a", "fresh", "1.5"), line("b", "fresh", "2")];
        let found = [
            line("a", "fresh", "1.5"),
            line("b", "fresh", "3"),
            line("b", "stale", "3"),
            line("c", "fresh", "1"),
        ];
        let text = found.map(|line| line.to_string()).join("\n");
        let expected = Compared { fresh: 1, stale: 1, wrong: 2 };
        assert_eq!(compare(&text, &truth).unwrap(), expected);
        assert!(compare("no JSON", &truth).is_err());
    }
}

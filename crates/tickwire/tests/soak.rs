//! `tickwire soak feed` for a few short days.

mod support;

use serde_json::Value;
use support::tickwire;

#[test]
fn books_are_true_through_kills_and_restarts() {
    let run = tickwire("soak feed --days 6 -n 400 --seed 3 --json -");
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let sums: Value = serde_json::from_str(&run.out).expect("JSON");
    let count = |path: &str| sums.pointer(path).and_then(Value::as_u64).expect("a count");
    assert_eq!(count("/days"), 6);
    assert_eq!(count("/books/wrong"), 0);
    assert!(count("/books/fresh") > 0, "{sums:#}");
    assert!(count("/kills/sender") + count("/kills/receiver") > 0, "{sums:#}");
}

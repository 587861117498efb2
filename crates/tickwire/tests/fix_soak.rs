//! `tickwire fix soak --kill-every` for a few seconds.

mod support;

use support::tickwire;

#[test]
fn nothing_is_lost_or_delivered_twice_by_seeded_kills() {
    let run = tickwire("fix soak --kill-every 200ms --sessions 2 --rate 300 --time 4s --seed 3");
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    assert!(run.out.starts_with("2400 orders and "), "{}", run.out);
    let kills = |side: &str| {
        let (_, rest) = run.out.split_once(side).expect("told");
        let count = rest.split(' ').next().expect("a count");
        count.parse::<u32>().expect("a number")
    };
    assert!(kills("server killed ") > 0 && kills("clients ") > 0, "{}", run.out);
}

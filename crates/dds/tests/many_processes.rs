//! Starts as many participants of one domain on one machine as the domain has ports for.

mod support;

use support::{PATIENCE, joined, next, patient, quote, wire_id};
use tickwire_dds::{Participant, Quote};

#[test]
fn forty_participants_of_one_machine_find_each_other() {
    let wire = wire_id(0);
    let others: Vec<_> = (1..40).map(|id| joined(id, wire)).collect();
    let last = joined(40, wire);
    let mut reader = last.reader::<Quote>("Quote", &patient()).unwrap();
    for (number, participant) in (0..).zip([&others[0], &others[38]]) {
        let mut writer = participant.writer::<Quote>("Quote", &patient()).unwrap();
        assert!(writer.wait_matched(1, PATIENCE).unwrap());
        writer.write(&quote(number)).unwrap();
        assert_eq!(next(&mut reader), quote(number));
    }
}

//! A reset of a module with many dictionary entries clears only those that were used. No previous value may
//! outlast it, whichever engine set the value and however the message ended.

#[allow(dead_code)]
#[path = "../../../fast/tests/support/random.rs"]
mod random;
#[allow(dead_code)]
mod support;
include!("support/many.rs");

use support::Pair;
use tickwire_fast::{DecoderOptions, Limits, ResetPolicy, TemplateSet};
use tickwire_testing::Choices;

/// More bytes than an encoder has room for at first.
const LONG: usize = 248;

fn pair(options: DecoderOptions) -> Pair {
    let set = TemplateSet::parse(&many_entries()).expect("valid");
    Pair::new(MANY_ENTRIES, set, options)
}

#[test]
fn no_value_outlasts_a_reset() {
    for (seed, reset) in
        [ResetPolicy::Packet, ResetPolicy::Template, ResetPolicy::Message, ResetPolicy::Never]
            .into_iter()
            .enumerate()
    {
        let mut pair = pair(DecoderOptions::default().reset(reset));
        let mut choices = Choices::seeded(seed as u64);
        let (mut messages, mut long) = (0, 0);
        for _ in 0..300 {
            pair.reset();
            for _ in 0..choices.index(4) {
                let bytes = pair.encode_random(&mut choices);
                if bytes.is_empty() {
                    break;
                }
                assert_eq!(pair.decode(&bytes), Some(bytes.len()));
                messages += 1;
                long += u32::from(bytes.len() > LONG);
            }
        }
        let left_over = (pair.left_over(), pair.encoded_left_over());
        println!("{reset:?}: {messages} messages, {long} long, {left_over:?} left over");
        assert!(messages > 300 && long > 2, "{messages} messages, {long} long");
        assert!(left_over.0 > 10 && left_over.1 > 10, "{left_over:?}");
        assert!(left_over.0 < messages / 2, "{left_over:?}");
    }
}

#[test]
fn no_value_of_a_message_that_fails_outlasts_a_reset() {
    let limits = Limits::default().entries_max(2).string_max(9).nesting_max(2);
    for (seed, limits) in [Limits::default(), limits].into_iter().enumerate() {
        let mut pair = pair(DecoderOptions::default().limits(limits));
        let mut choices = Choices::seeded(seed as u64 + 50);
        let (mut decoded, mut failed) = (0, 0);
        for _ in 0..600 {
            let mut bytes = pair.encode_random(&mut choices);
            if choices.once_in(3) {
                support::mutate(&mut choices, &mut bytes);
            }
            pair.stream_cut(&bytes);
            let is_decoded = pair.decode(&bytes).is_some();
            decoded += u32::from(is_decoded);
            failed += u32::from(!is_decoded);
            if !is_decoded || choices.once_in(3) {
                pair.reset();
            }
        }
        println!("{decoded} messages decoded, {failed} not");
        assert!(decoded > 100 && failed > 50, "{decoded} decoded, {failed} not");
    }
}

//! Filling samples from a feed does not allocate once all its strings and entries have been seen.

#[allow(dead_code)]
#[path = "support/feed.rs"]
mod feed;

use feed::Feed;
use tickwire_distribution::fill::FilledSamples;
use tickwire_exchange::Options;

#[test]
fn a_warm_filler_allocates_nothing() {
    for options in [Options::simple(), Options::complex()] {
        let feed = Feed::new(&Options { messages: 2_000, ..options });
        let (mut decoder, mut filler) = feed.codecs();
        let mut samples = 0;
        let mut count = |filled: FilledSamples<'_>| {
            samples += match filled {
                FilledSamples::MarketData(samples) => samples.len(),
                FilledSamples::QuoteRequest(samples) => samples.len(),
                _ => 1,
            };
        };
        // Entries move from sample to sample, so it takes a few passes until each has had its longest string.
        for _ in 0..5 {
            feed.fill_all(&mut decoder, &mut filler, &mut count);
        }
        let counted = allocation_counter::measure(|| {
            feed.fill_all(&mut decoder, &mut filler, &mut count);
        });
        assert_eq!(counted.count_total, 0, "{:?}", options.feed);
        assert!(samples > 10_000);
    }
}

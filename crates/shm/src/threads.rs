//! Tests of the protocols over plain memory, between threads. They are small enough for Miri, which checks every access
//! and delays stores as the memory model allows.
//!
//! `cargo +nightly miri test -p tickwire-shm --lib threads`

use crate::cell::{CellLabel, SampleBuffer};
use crate::layout::{Geometry, NO_KEY};
use crate::memory::{Memory, MemoryMut};
use crate::ring::{self, RingCursor, RingStep};
use crate::values;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Words of a file, in memory.
struct MemoryWords(Vec<AtomicU64>);

impl MemoryWords {
    fn new(words: usize) -> Self {
        Self((0..words).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Memory for MemoryWords {
    fn load(&self, index: usize) -> u64 {
        self.0[index].load(Ordering::Relaxed)
    }
}

impl MemoryMut for MemoryWords {
    fn store(&self, index: usize, value: u64) {
        self.0[index].store(value, Ordering::Relaxed);
    }
}

/// Number of samples written; fewer under Miri, which interprets every access.
const SAMPLES: u64 = if cfg!(miri) { 48 } else { 200_000 };
/// Samples after which the writer waits for the reader: two rings, so that the reader is lapped but also reads.
const ROUND: u64 = 16;
/// Number of keys, which the samples use in turn.
const KEYS: u64 = 3;

/// Sample n has its number in each word, so that a torn copy shows.
fn sample(seq_num: u64) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes.chunks_mut(8).for_each(|word| word.copy_from_slice(&seq_num.to_le_bytes()));
    bytes
}

fn label(seq_num: u64, key: u64) -> CellLabel {
    CellLabel { len: 24, epoch: seq_num as u32, key }
}

#[test]
fn samples_are_whole_and_gaps_are_what_did_not_come() {
    let geometry = Geometry::new(24, 8, 0, 1).unwrap();
    let ring = MemoryWords::new(geometry.ring_words());
    // Relaxed, so that it orders nothing that the protocol must order itself.
    let reached = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for seq_num in 0..SAMPLES {
                while seq_num.is_multiple_of(ROUND) && reached.load(Ordering::Relaxed) < seq_num {
                    thread::yield_now();
                }
                ring::write(&ring, &geometry, seq_num, label(seq_num, NO_KEY), &sample(seq_num));
                ring::advance(&ring, seq_num + 1);
            }
        });
        let mut buffer = SampleBuffer::new(24);
        let mut cursor = RingCursor { next: 0 };
        let (mut read, mut lost) = (0, 0);
        while cursor.next < SAMPLES {
            let step = cursor.read(&ring, &geometry, &mut buffer).expect("no damage");
            match step {
                RingStep::Sample(found) => {
                    assert_eq!(u64::from(found.epoch), cursor.next);
                    assert_eq!(buffer.bytes(), sample(cursor.next));
                    read += 1;
                }
                RingStep::Gap(from, to) => {
                    assert!(from == cursor.next && from < to);
                    lost += to - from;
                }
                RingStep::Nothing => thread::yield_now(),
            }
            cursor.advance(step);
            reached.store(cursor.next, Ordering::Relaxed);
        }
        assert_eq!(read + lost, SAMPLES);
        let half_rings = SAMPLES / ROUND * geometry.slots / 2;
        assert!(read >= half_rings, "{read}: in every round at least the half ring that is left");
    });
}

#[test]
fn last_values_at_a_head_are_those_of_the_samples_below_it() {
    let geometry = Geometry::new(24, 1 << 10, 8, 4).unwrap();
    let (ring, segment) =
        (MemoryWords::new(geometry.ring_words()), MemoryWords::new(geometry.segment_words(0)));
    for key in 0..KEYS {
        values::write_key(&segment, &geometry, geometry.entry(key).1, &key.to_le_bytes());
        values::publish_key(&ring, key + 1);
    }
    thread::scope(|scope| {
        scope.spawn(|| {
            for seq_num in 0..SAMPLES {
                let (key, bytes) = (seq_num % KEYS, sample(seq_num));
                ring::write(&ring, &geometry, seq_num, label(seq_num, key), &bytes);
                let at = geometry.entry(key).1;
                values::write(&segment, at, seq_num, label(seq_num, key), &bytes);
                ring::advance(&ring, seq_num + 1);
            }
        });
        let mut buffer = SampleBuffer::new(24);
        let mut head = 0;
        while head < SAMPLES {
            head = ring::head(&ring).expect("no damage");
            for key in 0..KEYS {
                let at = geometry.entry(key).1;
                let found = values::read(&segment, at, head, &mut buffer).expect("no damage");
                // Left out because the ring has a later sample of this key.
                let Some((seq_num, _)) = found else { continue };
                assert_eq!(buffer.bytes(), sample(seq_num));
                assert!(seq_num < head && head - seq_num <= KEYS && seq_num % KEYS == key);
            }
            thread::yield_now();
        }
    });
}

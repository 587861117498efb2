//! The protocols under the model checker loom, which tries every order of steps and every stale value that the memory
//! model allows. Each model also runs without all fences of one kind, and must then find the error; only that of
//! positions cannot, because loom does not execute a store before an earlier load.

use crate::cell::{self, CellLabel, SampleBuffer};
use crate::layout::{Geometry, NO_KEY, POSITIONS, header};
use crate::memory::{Memory, MemoryMut, Sleep};
use crate::position::{self, Position};
use crate::ring::{self, RingCursor, RingStep};
use crate::{bell, values};
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::sync::{Condvar, Mutex};
use loom::thread;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A kind of fence that a model can leave out, to show that it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModelFence {
    Acquire,
    Heavy,
    Light,
    None,
    Release,
}

/// A few words of a file. The futex is modelled by a condition variable under a lock.
struct Model {
    words: Vec<(usize, AtomicU64)>,
    without: ModelFence,
    sleepers: Mutex<()>,
    woken: Condvar,
}

impl Model {
    fn new(words: impl IntoIterator<Item = usize>, without: ModelFence) -> Self {
        Self {
            words: words.into_iter().map(|index| (index, AtomicU64::new(0))).collect(),
            without,
            sleepers: Mutex::new(()),
            woken: Condvar::new(),
        }
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        let found = self.words.iter().find(|(word, _)| *word == index);
        &found.unwrap_or_else(|| panic!("word {index} is not in the model")).1
    }

    fn fence(&self, which: ModelFence, ordering: Ordering) {
        if self.without != which {
            fence(ordering);
        }
    }
}

impl Memory for Model {
    fn load(&self, index: usize) -> u64 {
        self.word(index).load(Ordering::Relaxed)
    }

    fn acquire(&self) {
        self.fence(ModelFence::Acquire, Ordering::Acquire);
    }

    fn light_fence(&self) {
        self.fence(ModelFence::Light, Ordering::SeqCst);
    }

    fn heavy_fence(&self) -> bool {
        self.fence(ModelFence::Heavy, Ordering::SeqCst);
        true
    }
}

impl MemoryMut for Model {
    fn store(&self, index: usize, value: u64) {
        self.word(index).store(value, Ordering::Relaxed);
    }

    fn release(&self) {
        self.fence(ModelFence::Release, Ordering::Release);
    }
}

/// The words of [`Sleep`] are changed by read-modify-write operations only: loom does not order a store after the
/// operations that read the value before it.
impl Sleep for Model {
    fn set_bits(&self, index: usize, bits: u64) -> u64 {
        self.word(index).fetch_or(bits, Ordering::Relaxed)
    }

    fn add(&self, index: usize, number: u64) {
        self.word(index).fetch_add(number, Ordering::Relaxed);
    }

    fn sleep(&self, index: usize, value: u64, _timeout_ns: u64) {
        let guard = self.sleepers.lock().unwrap();
        // As in the kernel, the word is compared and the sleeper queued under one lock. The kernel orders its
        // comparison after a waker's lock of the same queue.
        if self.word(index).load(Ordering::Acquire) as u32 == value as u32 {
            drop(self.woken.wait(guard).unwrap());
        }
    }

    fn wake_all(&self, _index: usize) {
        drop(self.sleepers.lock().unwrap());
        self.woken.notify_all();
    }
}

/// Runs a model. The number of preemptions is bounded; otherwise there are too many states to visit in seconds.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

fn geometry() -> Geometry {
    Geometry::new(8, 2, 8, 1).unwrap()
}

/// Returns the indexes of the words of both slots.
fn slot_words(geometry: &Geometry) -> Vec<usize> {
    let words_of = |seq_num| (geometry.slot(seq_num)..).take(4);
    (0..2).flat_map(words_of).chain([header::HEAD]).collect()
}

/// Sample n has its number in every word, so that a torn copy shows.
fn label(seq_num: u64, key: u64) -> CellLabel {
    CellLabel { len: 8, epoch: seq_num as u32, key }
}

fn check_sample(seq_num: u64, found: CellLabel, buffer: &SampleBuffer) {
    assert_eq!(u64::from(found.epoch), seq_num, "torn label");
    assert_eq!(buffer.bytes(), seq_num.to_le_bytes(), "torn bytes");
}

/// A writer puts three samples through two slots while a reader reads: samples are whole, numbers rise, and each gap
/// could have happened.
fn ring_model(without: ModelFence) {
    check(3, move || {
        let geometry = geometry();
        let ring = Arc::new(Model::new(slot_words(&geometry), without));
        let writer = thread::spawn({
            let ring = ring.clone();
            move || {
                for seq_num in 0..3_u64 {
                    let bytes = seq_num.to_le_bytes();
                    ring::write(&*ring, &geometry, seq_num, label(seq_num, NO_KEY), &bytes);
                    ring::advance(&*ring, seq_num + 1);
                }
            }
        });
        let mut buffer = SampleBuffer::new(8);
        let mut cursor = RingCursor { next: 0 };
        for _ in 0..2 {
            let step = cursor.read(&*ring, &geometry, &mut buffer).expect("no damage");
            match step {
                RingStep::Sample(found) => check_sample(cursor.next, found, &buffer),
                RingStep::Gap(from, to) => assert!(from == cursor.next && from < to && to <= 3),
                RingStep::Nothing => {}
            }
            cursor.advance(step);
        }
        writer.join().unwrap();
        while cursor.next < 3 {
            let step = cursor.read(&*ring, &geometry, &mut buffer).expect("no damage");
            assert_ne!(step, RingStep::Nothing, "all is published");
            cursor.advance(step);
        }
    });
}

#[test]
fn readers_of_the_ring_never_see_a_torn_sample() {
    ring_model(ModelFence::None);
}

#[test]
#[should_panic(expected = "torn")]
fn without_the_acquire_fence_a_sample_is_torn() {
    ring_model(ModelFence::Acquire);
}

#[test]
#[should_panic(expected = "torn")]
fn without_the_release_fence_the_ring_breaks() {
    ring_model(ModelFence::Release);
}

/// A writer that waits for room puts three samples through two slots: a reader that states its position has no gap.
#[test]
fn a_writer_that_waits_for_room_laps_nobody() {
    check(3, || {
        let geometry = geometry();
        let memory = Arc::new(Model::new(slot_words(&geometry), ModelFence::None));
        let waiters = Arc::new(Model::new([POSITIONS], ModelFence::None));
        let mut position = Position::new(&*waiters, &geometry, 0, 0);
        let writer = thread::spawn({
            let (memory, waiters) = (memory.clone(), waiters.clone());
            move || {
                for seq_num in 0..3_u64 {
                    let at = position::stated(&*waiters, 0).expect("it is stated");
                    if seq_num >= position::limit(&geometry, at.min(seq_num), seq_num) {
                        return seq_num;
                    }
                    let bytes = seq_num.to_le_bytes();
                    ring::write(&*memory, &geometry, seq_num, label(seq_num, NO_KEY), &bytes);
                    ring::advance(&*memory, seq_num + 1);
                }
                3
            }
        });
        let mut buffer = SampleBuffer::new(8);
        let mut cursor = RingCursor { next: 0 };
        let mut read = |cursor: &mut RingCursor| {
            let step = cursor.read(&*memory, &geometry, &mut buffer).expect("no damage");
            if let RingStep::Sample(found) = step {
                check_sample(cursor.next, found, &buffer);
            }
            assert!(!matches!(step, RingStep::Gap(..)), "it was lapped");
            cursor.advance(step);
            position.state_when_due(&*waiters, cursor.next);
        };
        (0..2).for_each(|_| read(&mut cursor));
        let written = writer.join().unwrap();
        while cursor.next < written {
            read(&mut cursor);
        }
    });
}

/// A late joiner: the entry as of head S has the key's last sample, and the ring from S on has all later ones, each
/// once.
fn join_model(without: ModelFence) {
    check(3, move || {
        let geometry = geometry();
        let entry = 400;
        let words = slot_words(&geometry).into_iter().chain(entry..entry + 4);
        let memory = Arc::new(Model::new(words, without));
        let writer = thread::spawn({
            let memory = memory.clone();
            move || {
                for seq_num in 0..2_u64 {
                    let bytes = seq_num.to_le_bytes();
                    ring::write(&*memory, &geometry, seq_num, label(seq_num, 0), &bytes);
                    values::write(&*memory, entry, seq_num, label(seq_num, 0), &bytes);
                    ring::advance(&*memory, seq_num + 1);
                }
            }
        });
        let mut buffer = SampleBuffer::new(8);
        let head = ring::head(&*memory).expect("no damage");
        let mut last = None;
        if let Some((seq_num, found)) = values::read(&*memory, entry, head, &mut buffer).unwrap() {
            check_sample(seq_num, found, &buffer);
            assert_eq!(seq_num + 1, head, "every sample is this key's");
            last = Some(seq_num);
        }
        let mut cursor = RingCursor { next: head };
        let first = cursor.read(&*memory, &geometry, &mut buffer).unwrap();
        assert!(
            last.is_some() || head == 0 || first != RingStep::Nothing,
            "a hole in the last values"
        );
        writer.join().unwrap();
        while cursor.next < 2 {
            let step = cursor.read(&*memory, &geometry, &mut buffer).unwrap();
            assert!(matches!(step, RingStep::Sample(_)), "{step:?}");
            assert!(last.is_none_or(|last| last < cursor.next), "a double");
            last = Some(cursor.next);
            cursor.advance(step);
        }
        assert_eq!(last, Some(1));
    });
}

#[test]
fn a_late_joiner_has_neither_a_hole_nor_a_double() {
    join_model(ModelFence::None);
}

#[test]
#[should_panic(expected = "a hole in the last values")]
fn without_the_release_fence_a_late_joiner_is_misled() {
    join_model(ModelFence::Release);
}

/// A key is added while a late joiner reads: the joiner finds every key that has a sample below the head, with all
/// of its bytes, and no key before its entry is complete.
fn key_model(without: ModelFence) {
    check(3, move || {
        let geometry = geometry();
        let at = geometry.entry(0).1;
        let words = slot_words(&geometry).into_iter().chain(at..at + 6).chain([header::KEYS]);
        let memory = Arc::new(Model::new(words, without));
        let writer = thread::spawn({
            let memory = memory.clone();
            move || {
                let bytes = 0_u64.to_le_bytes();
                values::write_key(&*memory, &geometry, at, b"a key");
                values::publish_key(&*memory, 1);
                ring::write(&*memory, &geometry, 0, label(0, 0), &bytes);
                values::write(&*memory, at, 0, label(0, 0), &bytes);
                ring::advance(&*memory, 1);
            }
        });
        let mut buffer = SampleBuffer::new(8);
        // In the order of `ShmReader::last_values`.
        let head = ring::head(&*memory).expect("no damage");
        let keys = values::count(&*memory);
        assert!(keys >= head, "a key is missing whose sample is below the head");
        if keys > 0 {
            let key = values::read_key(&*memory, &geometry, at);
            assert_eq!(key.as_deref(), Ok(&b"a key"[..]), "half a key");
            let found = values::read(&*memory, at, head, &mut buffer).expect("no damage");
            assert_eq!(
                found.is_some(),
                head > 0,
                "a key has a value exactly if its sample is below the head"
            );
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_late_joiner_finds_the_keys_that_are_added_meanwhile() {
    key_model(ModelFence::None);
}

#[test]
#[should_panic(expected = "half a key")]
fn without_the_release_fence_a_key_is_seen_before_its_bytes() {
    key_model(ModelFence::Release);
}

#[test]
#[should_panic(expected = "half a key")]
fn without_the_acquire_fence_a_key_is_seen_before_its_bytes() {
    key_model(ModelFence::Acquire);
}

/// A writer advances the head to each of `heads` in turn, while readers sleep, each until the
/// sample in `nexts` is published. All wake up, in any order of the steps. A visitor also raises
/// the flag, but does not sleep. The head replaces the locks of the samples' slots, so that the
/// model has one word instead of one per sample.
fn bell_model<const READERS: usize>(
    heads: RangeInclusive<u64>,
    nexts: [u64; READERS],
    has_visitor: bool,
    without: ModelFence,
) {
    check(4, move || {
        let head = Arc::new(Model::new([header::HEAD], without));
        let waiters = Arc::new(Model::new([bell::FLAG], without));
        let mut readers = Vec::from(nexts.map(|next| {
            let (head, waiters) = (head.clone(), waiters.clone());
            thread::spawn(move || {
                while head.load(header::HEAD) <= next {
                    bell::sleep(&*waiters, || head.load(header::HEAD) > next, u64::MAX);
                }
            })
        }));
        if has_visitor {
            let waiters = waiters.clone();
            readers.push(thread::spawn(move || {
                bell::raise(&*waiters);
            }));
        }
        for next in heads.clone() {
            ring::advance(&*head, next);
            bell::ring(&*waiters);
        }
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

#[test]
fn sleepers_are_woken_by_the_next_sample() {
    bell_model(1..=1, [0, 0], false, ModelFence::None);
}

/// The reader has read sample 0 before the writer looked at the flag, and sleeps for sample 1.
#[test]
fn a_sleeper_behind_samples_that_were_read_is_woken() {
    bell_model(1..=2, [1], false, ModelFence::None);
}

/// The flag that another reader raises after it was lowered is not the flag that the first reader sleeps on.
#[test]
fn a_sleeper_does_not_sleep_on_the_flag_of_another_reader() {
    bell_model(1..=1, [0], true, ModelFence::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn without_the_writers_full_fence_a_sleeper_is_forgotten() {
    bell_model(1..=1, [0, 0], false, ModelFence::Light);
}

#[test]
#[should_panic(expected = "deadlock")]
fn without_the_readers_full_fence_a_sleeper_is_forgotten() {
    bell_model(1..=1, [0, 0], false, ModelFence::Heavy);
}

#[test]
fn locks_of_samples_are_apart() {
    assert!(cell::writing(0) > cell::EMPTY && cell::written(0) < cell::writing(1));
}

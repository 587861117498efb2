//! Checks the seqlock of published books with the model checker loom: every interleaving of a
//! writer and a reader that the memory model allows.

#[path = "../src/board/seqlock.rs"]
mod seqlock;

mod atomics {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering, fence};
    pub(super) use loom::thread::yield_now as spin_loop;
}

use loom::sync::Arc;
use seqlock::Seqlock;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn a_read_is_never_torn() {
    let models = std::sync::Arc::new(AtomicU64::new(0));
    let counted = models.clone();
    loom::model(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let lock = Arc::new(Seqlock::<2>::new());
        lock.write(|words| {
            words.set(0, 1);
            words.set(1, 1);
        });
        let read = lock.clone();
        let reader = loom::thread::spawn(move || {
            let (first, second) = read.read(|words| (words.get(0), words.get(1))).unwrap();
            assert_eq!(first, second, "one write");
        });
        lock.write(|words| {
            words.set(0, 2);
            words.set(1, 2);
        });
        reader.join().unwrap();
        assert_eq!(lock.read(|words| words.get(1)), Some(2), "the last write");
    });
    let models = models.load(Ordering::Relaxed);
    assert!(models > 10, "{models} interleavings");
}

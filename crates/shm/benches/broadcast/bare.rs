//! Baseline of every blocking figure: a thread that sleeps on a futex and does nothing else.
//!
//! The futex is in a shared mapping, as those of channels are: the kernel takes longer to find the sleepers of such a
//! futex.

#![allow(unsafe_code)]

use crate::figures::Times;
use crate::workload::{Pace, clock_ns, pin};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

/// Shared memory of zeros.
struct Shared {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the memory belongs to no thread and is accessed by atomics only.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn new(words: usize) -> Self {
        // SAFETY: a null hint lets the kernel choose free addresses; an anonymous mapping needs no file.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                words * 8,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
                -1,
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        Self { start: NonNull::new(start.cast()).expect("not at address 0"), words }
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has this many aligned words for as long as `self` lives, and zeros are integers.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and no slice outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * 8) };
    }
}

/// Measures `count` one-way wake-ups at `rate` a second: the thread is woken by the same system calls as the
/// broadcast's readers, and compares the clock with the send time, which the waker wrote beside the futex.
pub fn one_way(rate: u64, count: u64) -> Times {
    let shared = Shared::new(8);
    let [counter, sent, ..] = shared.words() else { unreachable!("eight words") };
    thread::scope(|scope| {
        let sleeping = scope.spawn(|| {
            pin(1);
            let mut times = Times::new();
            for seen in 0..count {
                while counter.load(Ordering::Acquire) == seen {
                    futex(counter, libc::FUTEX_WAIT, seen as u32);
                }
                times.record(clock_ns().saturating_sub(sent.load(Ordering::Relaxed)));
            }
            times
        });
        pin(0);
        thread::sleep(std::time::Duration::from_millis(20));
        let mut pace = Pace::new(rate);
        for _ in 0..count {
            pace.wait();
            sent.store(clock_ns(), Ordering::Relaxed);
            counter.fetch_add(1, Ordering::Release);
            futex(counter, libc::FUTEX_WAKE, i32::MAX as u32);
        }
        sleeping.join().expect("sleeper")
    })
}

/// Waits for or wakes the low half of a word.
fn futex(word: &AtomicU64, operation: i32, value: u32) {
    let word: *mut AtomicU32 = word.as_ptr().cast();
    // SAFETY: the address is that of an aligned word that lives through the call, of which the kernel reads the first
    // four bytes; no timeout; the other arguments are unused by these operations.
    unsafe {
        libc::syscall(libc::SYS_futex, word, operation, value, std::ptr::null::<libc::timespec>())
    };
}

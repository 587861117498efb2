//! Baseline of every blocking figure: a thread that sleeps on a futex and does nothing else.
//!
//! The thread is woken by the same system calls as the broadcast's readers (a shared futex). It then compares the clock
//! with the send time, which the waker wrote beside the futex.

#![allow(unsafe_code)]

use crate::figures::Times;
use crate::workload::{Pace, clock_ns, pin};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

struct Shared {
    count: AtomicU32,
    sent: AtomicU64,
}

/// Measures `count` one-way wake-ups at `rate` a second.
pub fn one_way(rate: u64, count: u64) -> Times {
    let shared = Shared { count: AtomicU32::new(0), sent: AtomicU64::new(0) };
    thread::scope(|scope| {
        let sleeping = scope.spawn(|| {
            pin(1);
            let mut times = Times::new();
            for seen in 0..count as u32 {
                while shared.count.load(Ordering::Acquire) == seen {
                    futex(&shared.count, libc::FUTEX_WAIT, seen);
                }
                times.record(clock_ns().saturating_sub(shared.sent.load(Ordering::Relaxed)));
            }
            times
        });
        pin(0);
        thread::sleep(std::time::Duration::from_millis(20));
        let mut pace = Pace::new(rate);
        for _ in 0..count {
            pace.wait();
            shared.sent.store(clock_ns(), Ordering::Relaxed);
            shared.count.fetch_add(1, Ordering::Release);
            futex(&shared.count, libc::FUTEX_WAKE, i32::MAX as u32);
        }
        sleeping.join().expect("sleeper")
    })
}

fn futex(word: &AtomicU32, operation: i32, value: u32) {
    // SAFETY: the address is that of an aligned 4-byte word that lives through the call; no timeout; the other
    // arguments are unused by these operations.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            operation,
            value,
            std::ptr::null::<libc::timespec>(),
        )
    };
}

//! The atomics of the seqlock; its model check replaces them with those of a model.

pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};

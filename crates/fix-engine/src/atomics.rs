//! The atomics of the flags between handles and engine; their model check replaces them with those of a model.

pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

//! Remarks about captures that are not errors.

use std::sync::{Arc, Mutex, PoisonError};

/// Most warnings kept.
const WARNINGS_MAX: usize = 10_000;

/// Remarks that are not errors, such as capture times that go back: the first ones of all readings of a
/// capture.
#[derive(Clone, Default)]
pub struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    /// Keeps a warning.
    pub fn note(&self, text: impl FnOnce() -> String) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < WARNINGS_MAX {
            kept.push(text());
        }
    }

    /// Returns the warnings so far.
    pub fn kept(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

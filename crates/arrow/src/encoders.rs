//! Threads that encode columns.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Most bytes of values that wait for an encoder; the thread that writes more encodes in the meantime.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// A piece of work.
type EncoderTask = Box<dyn FnOnce() + Send>;

/// Threads that encode the columns of Parquet files while the thread that writes the files creates the next batches.
///
/// A file has the same bytes with any number of threads: each column is encoded by one thread at a time, in order.
/// Clones share the threads, which end with the last clone.
#[derive(Clone, Default)]
pub struct Encoders(Option<Arc<EncoderThreads>>);

struct EncoderThreads {
    shared: Arc<EncoderShared>,
    handles: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct EncoderShared {
    queue: Mutex<TaskQueue>,
    /// A task was added or completed, or the threads end.
    changed: Condvar,
    waiting: Arc<WaitingBytes>,
}

/// Bytes of values that wait for an encoder.
pub(crate) type WaitingBytes = AtomicUsize;

#[derive(Default)]
struct TaskQueue {
    tasks: VecDeque<EncoderTask>,
    is_ended: bool,
}

impl fmt::Debug for Encoders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = self.0.as_ref().map_or(0, |threads| threads.handles.len());
        f.debug_struct("Encoders").field("threads", &threads).finish()
    }
}

impl Encoders {
    /// Starts this many threads. Without one, columns are encoded by the thread that writes a file.
    pub fn new(threads: usize) -> Self {
        if threads == 0 {
            return Self(None);
        }
        let shared = Arc::new(EncoderShared::default());
        let start = |_| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.work_until(|queue| queue.is_ended))
        };
        let handles = (0..threads).map(start).collect();
        Self(Some(Arc::new(EncoderThreads { shared, handles })))
    }

    /// Runs a task on one of the threads, or at once if there are none.
    pub(crate) fn run(&self, task: impl FnOnce() + Send + 'static) {
        let Some(threads) = &self.0 else { return task() };
        threads.shared.queue().tasks.push_back(Box::new(task));
        threads.shared.changed.notify_one();
    }

    /// Runs tasks on this thread until a condition holds, which other tasks bring about.
    pub(crate) fn wait_until(&self, is_met: impl Fn() -> bool) {
        if let Some(EncoderThreads { shared, .. }) = self.0.as_deref() {
            shared.work_until(|_| is_met());
        }
    }

    /// Calls a function for each item on all threads. Returns the results in the order of the items, `None` where the
    /// function panicked.
    pub(crate) fn map<I, R>(&self, items: Vec<I>, function: fn(I) -> R) -> Vec<Option<R>>
    where
        I: Send + 'static,
        R: Send + 'static,
    {
        let mut results = Vec::with_capacity(items.len());
        for item in items {
            let result = Arc::new(Mutex::new(None));
            results.push(Arc::clone(&result));
            self.run(move || {
                let made = function(item);
                *lock(&result) = Some(made);
            });
        }
        // A task drops its result when it ends, also by a panic.
        self.wait_until(|| results.iter().all(|result| Arc::strong_count(result) == 1));
        results.iter().map(|result| lock(result).take()).collect()
    }

    /// Encodes on this thread until few enough values wait for an encoder. Returns their counter, to which the
    /// caller adds its values; `None` if there are no threads.
    pub(crate) fn room(&self) -> Option<Arc<WaitingBytes>> {
        let waiting = &self.0.as_deref()?.shared.waiting;
        self.wait_until(|| waiting.load(Ordering::Acquire) <= WAITING_BYTES_MAX);
        Some(Arc::clone(waiting))
    }
}

impl EncoderShared {
    fn queue(&self) -> MutexGuard<'_, TaskQueue> {
        lock(&self.queue)
    }

    /// Runs tasks until a condition holds.
    fn work_until(&self, is_met: impl Fn(&TaskQueue) -> bool) {
        let mut queue = self.queue();
        while !is_met(&queue) {
            match queue.tasks.pop_front() {
                Some(task) => {
                    drop(queue);
                    self.complete(task);
                    queue = self.queue();
                }
                None => queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Runs a task. One that panics poisons its column, which is an error for the file.
    fn complete(&self, task: EncoderTask) {
        let _ = catch_unwind(AssertUnwindSafe(task));
        // With the lock no other thread is between its look at a condition and its wait.
        let _queue = self.queue();
        self.changed.notify_all();
    }
}

impl Drop for EncoderThreads {
    fn drop(&mut self) {
        self.shared.queue().is_ended = true;
        self.shared.changed.notify_all();
        for handle in self.handles.drain(..) {
            // Panics of tasks were caught.
            let _ = handle.join();
        }
    }
}

/// Locks a mutex whose data are whole even after a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_run_on_all_threads_and_on_the_one_that_waits() {
        for threads in [0, 1, 3] {
            let encoders = Encoders::new(threads);
            let done = Arc::new(AtomicUsize::new(0));
            for _ in 0..1_000 {
                let done = Arc::clone(&done);
                encoders.run(move || _ = done.fetch_add(1, Ordering::AcqRel));
            }
            encoders.wait_until(|| done.load(Ordering::Acquire) == 1_000);
            assert_eq!(done.load(Ordering::Acquire), 1_000);
        }
    }

    #[test]
    fn a_task_that_panics_ends_no_thread() {
        let encoders = Encoders::new(1);
        let done = Arc::new(AtomicUsize::new(0));
        for index in 0..10 {
            let done = Arc::clone(&done);
            encoders.run(move || {
                done.fetch_add(1, Ordering::AcqRel);
                assert!(index % 2 == 0, "an odd task");
            });
        }
        encoders.wait_until(|| done.load(Ordering::Acquire) == 10);
    }
}

//! Threads that encode columns.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Most bytes of values that wait for an encoder. Above this, the writing thread encodes too.
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
    /// Notified when a task is added or completed, or when the threads must end.
    changed: Condvar,
    /// Bytes of values that wait for an encoder.
    waiting: AtomicUsize,
}

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

    /// Runs tasks on this thread until a condition holds; tasks on other threads may fulfil it.
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
        // A task drops its result when it ends, even by a panic.
        self.wait_until(|| results.iter().all(|result| Arc::strong_count(result) == 1));
        results.iter().map(|result| lock(result).take()).collect()
    }

    /// Returns whether there are threads.
    pub fn has_threads(&self) -> bool {
        self.0.is_some()
    }

    /// Encodes on this thread until few enough values wait for an encoder.
    pub fn make_room(&self) {
        if let Some(EncoderThreads { shared, .. }) = self.0.as_deref() {
            let waiting = &shared.waiting;
            shared.work_until(|_| waiting.load(Ordering::Acquire) <= WAITING_BYTES_MAX);
        }
    }
}

/// A state that items change one after the other, in order, on the threads of [`Encoders`].
pub struct EncoderQueue<S, I> {
    queued: Mutex<QueuedItems<I>>,
    /// Poisoned if `work` panicked; items after that are dropped.
    state: Mutex<S>,
    work: fn(&mut S, I),
}

/// Items that wait for a thread.
struct QueuedItems<I> {
    /// Each with its bytes.
    items: VecDeque<(I, usize)>,
    /// True while a thread has the task to work on them.
    has_task: bool,
}

impl<S: Send + 'static, I: Send + 'static> EncoderQueue<S, I> {
    /// Creates a queue; `work` applies an item to the state.
    pub fn new(state: S, work: fn(&mut S, I)) -> Arc<Self> {
        let queued = QueuedItems { items: VecDeque::new(), has_task: false };
        Arc::new(Self { queued: Mutex::new(queued), state: Mutex::new(state), work })
    }

    /// Adds an item of this many bytes. Without threads it is applied at once.
    pub fn push(self: &Arc<Self>, encoders: &Encoders, item: I, bytes: usize) {
        let Some(EncoderThreads { shared, .. }) = encoders.0.as_deref() else {
            return self.apply(item);
        };
        shared.waiting.fetch_add(bytes, Ordering::AcqRel);
        let is_new = {
            let mut queued = lock(&self.queued);
            queued.items.push_back((item, bytes));
            !std::mem::replace(&mut queued.has_task, true)
        };
        if is_new {
            let (queue, shared) = (Arc::clone(self), Arc::clone(shared));
            encoders.run(move || queue.apply_all(&shared.waiting));
        }
    }

    fn apply_all(&self, waiting: &AtomicUsize) {
        while let Some((item, bytes)) = self.next_item() {
            waiting.fetch_sub(bytes, Ordering::AcqRel);
            self.apply(item);
        }
    }

    fn apply(&self, item: I) {
        // A panic poisons the state, but the items that follow are still taken from the queue.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            if let Some(mut state) = self.state() {
                (self.work)(&mut state, item);
            }
        }));
    }

    /// Takes the next item; if there is none, the task ends.
    fn next_item(&self) -> Option<(I, usize)> {
        let mut queued = lock(&self.queued);
        let item = queued.items.pop_front();
        queued.has_task = item.is_some();
        item
    }

    /// Returns the state as it is now; `None` after a panic.
    pub fn state(&self) -> Option<MutexGuard<'_, S>> {
        self.state.lock().ok()
    }

    /// Returns whether all items were applied. A task shares the queue until it ends.
    pub(crate) fn is_idle(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1
    }

    /// Waits until all items were applied, and returns the state. `None` after a panic, or if another owner shares the
    /// queue.
    pub fn finish(self: Arc<Self>, encoders: &Encoders) -> Option<S> {
        encoders.wait_until(|| self.is_idle());
        Arc::into_inner(self)?.state.into_inner().ok()
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
        // While this thread holds the lock, no other thread is between checking a condition and
        // waiting.
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
    fn items_are_applied_in_order() {
        for threads in [0, 1, 3] {
            let encoders = Encoders::new(threads);
            let queue = EncoderQueue::new(Vec::new(), Vec::push);
            for number in 0..1_000 {
                encoders.make_room();
                queue.push(&encoders, number, WAITING_BYTES_MAX / 5);
            }
            let applied = queue.finish(&encoders).expect("no panic");
            assert!(applied.into_iter().eq(0..1_000), "{threads} threads");
        }
    }

    #[test]
    fn items_after_a_panic_leave_the_queue() {
        for threads in [0, 1] {
            let encoders = Encoders::new(threads);
            let queue = EncoderQueue::new(0, |state: &mut usize, item| {
                assert!(item < 5, "an item too large");
                *state = item;
            });
            for item in 0..20 {
                // Would wait for ever for items that nobody takes.
                encoders.make_room();
                queue.push(&encoders, item, WAITING_BYTES_MAX);
            }
            assert_eq!(queue.finish(&encoders), None, "{threads} threads");
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

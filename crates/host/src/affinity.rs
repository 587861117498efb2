//! CPU affinity of threads.
//!
//! A new thread inherits the affinity of the thread that starts it. A loop that is pinned to its CPU therefore starts its
//! background work with [`spawn_background`]; otherwise that work would take turns with the loop.

use std::io;
use std::sync::OnceLock;
use std::thread::{Builder, JoinHandle};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// CPUs that the first pinned thread could use before it was pinned.
static BEFORE: OnceLock<CpuSet> = OnceLock::new();

/// Pins the calling thread to one CPU, counted from 0.
///
/// # Errors
/// The operating system's error: the CPU does not exist, or this process may not use it.
pub fn pin_current_thread(cpu: usize) -> io::Result<()> {
    let before = sched_getaffinity(Pid::from_raw(0));
    let allowed = before.unwrap_or_default();
    let mut set = CpuSet::new();
    let pinned = set.set(cpu).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
    if let (Ok(()), Ok(before)) = (pinned, before) {
        BEFORE.get_or_init(|| before);
    }
    pinned.map_err(|error| {
        let is_allowed = |cpu: &usize| allowed.is_set(*cpu).unwrap_or_default();
        let allowed: Vec<String> =
            (0..CpuSet::count()).filter(is_allowed).map(|cpu| cpu.to_string()).collect();
        let text = format!("this thread may run on CPU {}: {error}", allowed.join(", "));
        io::Error::new(io::Error::from(error).kind(), text)
    })
}

/// Lets the calling thread run on all CPUs that this process could use before its first thread was pinned; does nothing
/// if none was.
pub fn unpin_current_thread() {
    if let Some(before) = BEFORE.get() {
        // Fails if none of these CPUs may be used any more; the thread then keeps its affinity.
        let _ = sched_setaffinity(Pid::from_raw(0), before);
    }
}

/// Starts a thread for background work: it is not bound to the CPU to which the calling thread is pinned.
///
/// # Errors
/// The operating system's error if it refuses the thread.
pub fn spawn_background<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.to_owned()).spawn(move || {
        unpin_current_thread();
        work()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn background_work_of_a_pinned_thread_may_run_on_all_cpus() {
        let allowed = || sched_getaffinity(Pid::from_raw(0)).unwrap();
        let before = allowed();
        let cpu = (0..CpuSet::count()).find(|&cpu| before.is_set(cpu).unwrap()).unwrap();
        let pinned = std::thread::spawn(move || {
            pin_current_thread(cpu).unwrap();
            let inherited = std::thread::spawn(allowed).join().unwrap();
            (allowed(), inherited, spawn_background("work", allowed).unwrap().join().unwrap())
        });
        let (pinned, inherited, background) = pinned.join().unwrap();
        assert_eq!((pinned, background), (inherited, before));
    }

    #[test]
    fn a_pinned_thread_may_run_on_that_cpu_alone() {
        let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let cpu = (0..CpuSet::count()).find(|&cpu| allowed.is_set(cpu).unwrap()).unwrap();
        std::thread::spawn(move || {
            pin_current_thread(cpu).unwrap();
            let now = sched_getaffinity(Pid::from_raw(0)).unwrap();
            let count = (0..CpuSet::count()).filter(|&cpu| now.is_set(cpu).unwrap()).count();
            assert_eq!((count, now.is_set(cpu)), (1, Ok(true)));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_that_names_those_that_are() {
        for cpu in [CpuSet::count() - 1, usize::MAX] {
            let error = pin_current_thread(cpu).unwrap_err().to_string();
            assert!(
                error.starts_with("this thread may run on CPU ") && error.contains(':'),
                "{error}"
            );
        }
    }
}

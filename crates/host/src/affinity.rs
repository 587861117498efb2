//! CPU affinity of threads.

use std::io;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Pins the calling thread to one CPU, counted from 0.
///
/// # Errors
/// The operating system's error: the CPU does not exist, or this process may not use it.
pub fn pin_current_thread(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    let pinned = set.set(cpu).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
    pinned.map_err(|error| {
        let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
        let is_allowed = |cpu: &usize| allowed.is_set(*cpu).unwrap_or_default();
        let allowed: Vec<String> =
            (0..CpuSet::count()).filter(is_allowed).map(|cpu| cpu.to_string()).collect();
        let text = format!("this thread may run on CPU {}: {error}", allowed.join(", "));
        io::Error::new(io::Error::from(error).kind(), text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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

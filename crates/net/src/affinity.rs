//! Which CPU a thread runs on.

use std::io;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

/// Keeps the calling thread on one CPU, counted from 0.
///
/// # Errors
/// What the operating system says: a CPU that is not there, or that this process may not use.
pub fn pin_current_thread(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sched::sched_getaffinity;

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
    fn a_cpu_that_is_not_there_is_an_error() {
        assert!(pin_current_thread(usize::MAX).is_err());
    }
}

//! Memory and CPU time of this process and its threads.

use std::fs;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

use crate::clock::SECOND_NS;

/// Returns the resident memory of this process in bytes; `None` if the system does not report it.
pub fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    let page_bytes = sysconf(SysconfVar::PAGE_SIZE).ok()??;
    pages.checked_mul(u64::try_from(page_bytes).ok()?)
}

/// Returns the CPU time of the calling thread in nanoseconds; 0 if the system does not report it.
pub fn thread_cpu_ns() -> u64 {
    let Ok(time) = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID) else { return 0 };
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    part(time.tv_sec()).saturating_mul(SECOND_NS).saturating_add(part(time.tv_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_cpu_time_and_sleep_does_not() {
        let begin_ns = thread_cpu_ns();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let slept_ns = thread_cpu_ns() - begin_ns;
        let mut sum = 0_u64;
        while thread_cpu_ns() < begin_ns + slept_ns + 10_000_000 {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(slept_ns < 40_000_000, "{slept_ns}");
    }

    #[test]
    fn memory_in_use_is_in_ram() {
        let before = resident_bytes().unwrap();
        let memory = vec![1_u8; 64 << 20];
        assert!(resident_bytes().unwrap() > before + (32 << 20));
        drop(memory);
    }
}

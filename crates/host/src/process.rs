//! What the system says of this process.

use std::fs;

use nix::unistd::{SysconfVar, sysconf};

/// Memory of this process that is in RAM, in bytes; `None` where the system does not say.
pub fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    let page_bytes = sysconf(SysconfVar::PAGE_SIZE).ok()??;
    pages.checked_mul(u64::try_from(page_bytes).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_in_use_is_in_ram() {
        let before = resident_bytes().unwrap();
        let memory = vec![1_u8; 64 << 20];
        assert!(resident_bytes().unwrap() > before + (32 << 20));
        drop(memory);
    }
}

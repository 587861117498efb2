//! System calls that the standard library does not have: the second of the two modules with `unsafe`.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::AtomicU64;

#[cfg(not(all(target_os = "linux", target_endian = "little", target_pointer_width = "64")))]
compile_error!(
    "tickwire-shm needs Linux on a 64-bit little-endian CPU: futexes, and files of little-endian words"
);

/// Sleeps while the low half of the word equals that of `value`, until the time has passed, or spuriously.
pub fn futex_wait(word: &AtomicU64, value: u64, timeout_ns: u64) {
    let timeout = libc::timespec {
        tv_sec: (timeout_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (timeout_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the address is that of an aligned 8-byte word, whose first 4 bytes (little endian: its low half) the kernel
    // reads; the timespec lives through the call; the last two arguments are unused by this operation.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            value as u32,
            &raw const timeout,
            ptr::null::<u32>(),
            0,
        )
    };
}

/// A futex of 4 bytes, shared between processes; linux/futex.h.
const FUTEX2_SIZE_U32: u32 = 2;

/// Most words that [`futex_wait_any`] sleeps on.
pub const FUTEXES_MAX: usize = 128;

/// Sleeps while the low half of every word still equals that of its value. Returns after a change, after `timeout_ns`,
/// or spuriously. Only the first [`FUTEXES_MAX`] words are watched. A kernel that cannot wait for several futexes
/// (before 5.16) sleeps for 0.1 ms instead.
pub fn futex_wait_any(words: &[(&AtomicU64, u64)], timeout_ns: u64) {
    let waiters: Vec<libc::futex_waitv> =
        words.iter().take(FUTEXES_MAX).map(futex_waiter).collect();
    let until = monotonic_ns().saturating_add(timeout_ns);
    let timeout = libc::timespec {
        tv_sec: (until / 1_000_000_000) as libc::time_t,
        tv_nsec: (until % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the records and the time live through the call; the kernel reads the low halves of aligned words that the
    // borrows in `words` keep mapped.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex_waitv,
            waiters.as_ptr(),
            waiters.len(),
            0,
            &raw const timeout,
            libc::CLOCK_MONOTONIC,
        )
    };
    if result == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) {
        std::thread::sleep(std::time::Duration::from_nanos(timeout_ns.min(100_000)));
    }
}

fn futex_waiter((word, value): &(&AtomicU64, u64)) -> libc::futex_waitv {
    // SAFETY: a record of zeros is valid; its reserved field must be 0.
    let mut waiter = unsafe { std::mem::zeroed::<libc::futex_waitv>() };
    waiter.val = u64::from(*value as u32);
    waiter.uaddr = word.as_ptr() as u64;
    waiter.flags = FUTEX2_SIZE_U32;
    waiter
}

/// Wakes everyone who sleeps on the word.
pub fn futex_wake_all(word: &AtomicU64) {
    // SAFETY: the address is only an identifier to this operation; the arguments after the count are unused.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE,
            i32::MAX,
            ptr::null::<libc::timespec>(),
            ptr::null::<u32>(),
            0,
        )
    };
}

/// Registers this process for the [`barrier`] of other processes; false if the kernel has no such call.
pub fn register_barrier() -> bool {
    membarrier(libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED)
}

/// Makes every CPU that runs a registered process execute a full barrier before this returns; false if the kernel
/// refuses.
pub fn barrier() -> bool {
    membarrier(libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED)
}

fn membarrier(command: i32) -> bool {
    // SAFETY: the arguments are numbers only; the call changes nothing that Rust knows of.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Bytes that one call of [`reserve`] allocates. A signal ends such a call and frees what it has allocated, so a call must
/// be short: a megabyte takes 0.1 to 0.4 ms.
const RESERVE_BYTES: u64 = 1 << 20;

/// Allocates space for a range of the file, which becomes at least that long. A full file system is therefore an error
/// here instead of a SIGBUS when a page is first touched.
pub fn reserve(file: &File, range: Range<u64>) -> io::Result<()> {
    // Small calls would fill the file system, and with it the memory of the machine, before one of them fails.
    let bytes = range.end.saturating_sub(range.start);
    if bytes > RESERVE_BYTES && bytes > available_bytes(file)? {
        return Err(io::Error::from_raw_os_error(libc::ENOSPC));
    }
    let mut start = range.start;
    while start < range.end {
        let bytes = (range.end - start).min(RESERVE_BYTES);
        let (offset, len) = (start as libc::off_t, bytes as libc::off_t);
        // SAFETY: the descriptor is open for the call; the other arguments are numbers.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), offset, len) } {
            0 => start += bytes,
            libc::EINTR => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
    Ok(())
}

/// Returns the bytes that the file's file system has left; the maximum if it has no limit.
fn available_bytes(file: &File) -> io::Result<u64> {
    // SAFETY: a statvfs of zeros is valid.
    let mut of: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open for the call, and the record lives through it.
    match unsafe { libc::fstatvfs(file.as_raw_fd(), &raw mut of) } {
        0 if of.f_blocks == 0 => Ok(u64::MAX),
        0 => Ok(of.f_bavail.saturating_mul(of.f_frsize)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Locks one byte of the file for this open file description, until it is closed or the process ends. Returns false if
/// another has the lock.
pub fn lock_byte(file: &File, byte: u32) -> io::Result<bool> {
    let lock = byte_locks(&(byte..byte + 1));
    // SAFETY: the descriptor is open for the call; the record lives through it.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } {
        0 => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            error => Err(error),
        },
    }
}

/// Number of bytes in the range on which other open files have locks.
pub fn locked_bytes(file: &File, range: Range<u32>) -> io::Result<u32> {
    let (mut count, mut ranges) = (0, vec![range]);
    while let Some(range) = ranges.pop() {
        let mut lock = byte_locks(&range);
        // SAFETY: the descriptor is open for the call; the kernel writes to the record, which lives through it.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if i32::from(lock.l_type) == libc::F_UNLCK {
            continue;
        }
        // The kernel names any lock in the range: the bytes on both sides of it are asked about again.
        let start = lock.l_start.clamp(range.start.into(), i64::from(range.end) - 1);
        let end = match lock.l_len {
            // To the end of the file, wherever that is.
            0 => i64::from(range.end),
            len => lock.l_start.saturating_add(len).clamp(start + 1, range.end.into()),
        };
        // Both are in the range.
        let (start, end) = (start as u32, end as u32);
        count += end - start;
        ranges
            .extend([range.start..start, end..range.end].into_iter().filter(|one| !one.is_empty()));
    }
    Ok(count)
}

fn byte_locks(range: &Range<u32>) -> libc::flock {
    // SAFETY: a record of zeros is valid; `l_pid` must be 0 for locks of open files.
    let mut lock = unsafe { std::mem::zeroed::<libc::flock>() };
    lock.l_type = libc::F_WRLCK as i16;
    lock.l_whence = libc::SEEK_SET as i16;
    lock.l_start = i64::from(range.start);
    lock.l_len = i64::from(range.end - range.start);
    lock
}

/// Returns the time of the monotonic clock in nanoseconds. All processes share this clock until the machine reboots.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: points to a valid value for the call. The clock exists on every Linux, so the call does not fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The process's effective user.
pub fn effective_user() -> u32 {
    // SAFETY: has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// The process's effective group.
pub fn effective_group() -> u32 {
    // SAFETY: has no arguments and cannot fail.
    unsafe { libc::getegid() }
}

/// Prefetches the word's cache line for writing.
#[inline]
pub fn prefetch_for_writing(word: &AtomicU64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint. It reads and writes nothing, and faults at no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(word.as_ptr().cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}

/// Prefetches the word's cache line for reading.
#[inline]
pub fn prefetch(word: &AtomicU64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as above.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(word.as_ptr().cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}

#[cfg(test)]
mod tests {
    use super::reserve;
    use std::fs::{File, OpenOptions, remove_file};
    use std::os::unix::fs::MetadataExt;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    extern "C" fn ignore(_: i32) {}

    /// The kernel ends an allocation in tmpfs at any signal that is pending, and frees what it has allocated.
    #[test]
    fn signals_do_not_end_a_reservation() {
        // SAFETY: a sigaction of zeros is valid, and the handler does nothing.
        unsafe {
            let mut action = std::mem::zeroed::<libc::sigaction>();
            action.sa_sigaction = ignore as extern "C" fn(i32) as usize;
            action.sa_flags = libc::SA_RESTART;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), 0);
        }
        let path = format!("/dev/shm/tickwire-reserve-{}", std::process::id());
        let open = || OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file: File = open().unwrap();
        remove_file(&path).unwrap();
        let is_over = AtomicBool::new(false);
        // SAFETY: returns this thread's identifier.
        let thread = unsafe { libc::pthread_self() };
        let reserved = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // SAFETY: the thread runs until this scope ends.
                    unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let reserved = reserve(&file, 0..256 << 20);
            is_over.store(true, Ordering::Relaxed);
            reserved
        });
        reserved.unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!(metadata.len(), 256 << 20);
        assert_eq!(metadata.blocks() * 512, 256 << 20);
    }
}

//! Keeps a process alive when a file that it has mapped is truncated.
//!
//! An access past the end of a mapped file raises SIGBUS, which would end the process. File seals would forbid
//! truncation, but exist for nameless files only. A signal handler therefore replaces the mapping that faulted with
//! zeros and records that. The access is repeated and reads zeros. Zeros are never a valid sample; the reader checks the
//! record and reports the truncation. Faults at other addresses go to the previous handler.
//!
//! Only a user with write permission can truncate a file: the writer's user and, for the waiters file, its readers.

use std::io;
use std::mem;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

/// Most mappings that a process can have at a time.
const PLACES: usize = 1 << 13;

struct GuardedRange {
    /// Number of mappings that have had this place.
    generation: AtomicUsize,
    /// Address of the mapping; 0 is a free place, 1 a place that is taken but not protected yet.
    start: AtomicUsize,
    bytes: AtomicUsize,
    protection: AtomicI32,
    is_cut: AtomicBool,
}

/// A registered mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GuardedMapping {
    start: usize,
    bytes: usize,
    protection: i32,
}

impl GuardedRange {
    const fn new() -> Self {
        Self {
            generation: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            protection: AtomicI32::new(0),
            is_cut: AtomicBool::new(false),
        }
    }

    /// Registers a mapping; false if the place is taken.
    fn take(&self, mapping: GuardedMapping) -> bool {
        let taken = self.start.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            return false;
        }
        self.generation.fetch_add(1, Ordering::Release);
        self.bytes.store(mapping.bytes, Ordering::Release);
        self.protection.store(mapping.protection, Ordering::Release);
        self.is_cut.store(false, Ordering::Relaxed);
        self.start.store(mapping.start, Ordering::Release);
        true
    }

    fn release(&self) {
        self.start.store(0, Ordering::Release);
    }

    /// Returns the mapping if the address is inside it.
    ///
    /// Another thread may give the place to another mapping meanwhile. Every value is stored with release after the
    /// generation of its mapping, and loaded with acquire: if one of them is of a later generation than the first, the
    /// second load of the generation differs. None is of an earlier one: once the generation is seen, the start is at
    /// least 1, and once the start is seen, so are the others.
    fn mapping_at(&self, address: usize) -> Option<GuardedMapping> {
        let generation = self.generation.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Acquire);
        let bytes = self.bytes.load(Ordering::Acquire);
        let protection = self.protection.load(Ordering::Acquire);
        let is_one = self.generation.load(Ordering::Relaxed) == generation;
        let is_inside = start > 1 && (start..start.saturating_add(bytes)).contains(&address);
        (is_one && is_inside).then_some(GuardedMapping { start, bytes, protection })
    }
}

static REGISTRY: [GuardedRange; PLACES] = [const { GuardedRange::new() }; PLACES];

/// The handler that was installed before this one.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();

/// A protected mapping.
#[derive(Debug)]
pub struct MappingTicket(usize);

impl MappingTicket {
    pub fn is_cut(&self) -> bool {
        REGISTRY[self.0].is_cut.load(Ordering::Relaxed)
    }

    /// Ends the protection. Call it once, before unmapping.
    pub fn release(&self) {
        REGISTRY[self.0].release();
    }
}

/// Protects a mapping of this process.
pub fn protect(start: usize, bytes: usize, protection: i32) -> io::Result<MappingTicket> {
    INSTALLED.get_or_init(install).map_err(io::Error::from_raw_os_error)?;
    let mapping = GuardedMapping { start, bytes, protection };
    let index = REGISTRY.iter().position(|place| place.take(mapping));
    let index = index.ok_or_else(|| {
        io::Error::other(format!(
            "this process already maps {PLACES} channel files, the maximum; read fewer topics"
        ))
    })?;
    Ok(MappingTicket(index))
}

fn install() -> Result<(), i32> {
    let failure = || io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
    // SAFETY: a sigaction of zeros is a valid value: default action, empty mask, no flags.
    let (mut ours, mut before) = unsafe { mem::zeroed::<(libc::sigaction, libc::sigaction)>() };
    // SAFETY: both point to valid values for the call.
    if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), &mut before) } != 0 {
        return Err(failure());
    }
    // Store it before the new handler can run.
    let _ = BEFORE.set(before);
    ours.sa_sigaction = handle as *const () as usize;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: `handle` has the signature that SA_SIGINFO asks for, never unwinds, and calls only what a handler may:
    // atomics, mmap and sigaction (system calls without locks or allocation).
    match unsafe { libc::sigaction(libc::SIGBUS, &ours, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(failure()),
    }
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid record of a fault.
    let address = unsafe { (*info).si_addr() } as usize;
    if !REGISTRY.iter().any(|place| cover(place, address)) {
        pass_on(signal, info, context);
    }
}

/// Replaces the mapping with zeros if the address is inside it; returns false otherwise.
fn cover(place: &GuardedRange, address: usize) -> bool {
    let Some(GuardedMapping { start, bytes, protection }) = place.mapping_at(address) else {
        return false;
    };
    place.is_cut.store(true, Ordering::Relaxed);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: replaces a mapping of this crate: start, length and protection are of one registration
    // ([`GuardedRange::mapping_at`]), and the address is inside it. The thread that faulted there holds a reference to its
    // mapping, so that one was registered before the fault and is not dropped meanwhile, and no other registered mapping
    // has its addresses. The addresses stay valid and read as zeros.
    let mapped = unsafe { libc::mmap(start as *mut _, bytes, protection, flags, -1, 0) };
    mapped != libc::MAP_FAILED
}

/// Passes a fault at another address to the previous handler. If there is none, it restores the default action, so the
/// repeated access ends the process.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let Some(before) = BEFORE.get() else { return };
    match before.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: a sigaction of zeros is the default action.
            let default = unsafe { mem::zeroed::<libc::sigaction>() };
            // SAFETY: points to a valid value for the call.
            unsafe { libc::sigaction(signal, &default, ptr::null_mut()) };
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
            // SAFETY: the kernel gave this address as a handler of three arguments (SA_SIGINFO).
            let handler = unsafe { mem::transmute::<usize, Handler>(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: the kernel gave this address as a handler of one argument (no SA_SIGINFO).
            let handler = unsafe { mem::transmute::<usize, extern "C" fn(i32)>(handler) };
            handler(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GuardedMapping, GuardedRange};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    /// A short and a long mapping have a place in turn. An address that is in neither is never found, also not in the
    /// start of one and the length of the other.
    #[test]
    fn start_and_length_are_of_one_mapping() {
        let place = GuardedRange::new();
        let short = GuardedMapping { start: 0x10_0000, bytes: 0x1000, protection: 1 };
        let long = GuardedMapping { start: 0x20_0000, bytes: 0x8000, protection: 3 };
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for mapping in [short, long].into_iter().cycle().take(50_000) {
                    assert!(place.take(mapping));
                    thread::yield_now();
                    place.release();
                }
                is_over.store(true, Ordering::Relaxed);
            });
            let mut found = 0;
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(place.mapping_at(short.start + 0x4000), None);
                for mapping in [short, long] {
                    let at = place.mapping_at(mapping.start);
                    assert!(at.is_none() || at == Some(mapping), "{at:?}");
                    found += u64::from(at.is_some());
                }
            }
            assert!(found > 0, "the mappings are seen");
        });
    }
}

//! Keeps a process alive when a file that it has mapped is truncated.
//!
//! An access past the end of a mapped file raises SIGBUS, which would end the process. File seals would forbid
//! truncation, but exist for nameless files only. A signal handler therefore replaces the mapping that faulted with
//! zeros and records that. The access is repeated and reads zeros, which no protocol takes for a sample, and the reader
//! then finds the record. Faults at other addresses go to the previous handler.
//!
//! Only a user with write permission can truncate a file: the writer's user and, for the waiters file, its readers.

use std::io;
use std::mem;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

/// Most mappings that a process can have at a time.
const PLACES: usize = 1 << 13;

struct Place {
    /// Address of the mapping; 0 is a free place, 1 a place that is taken but not protected yet.
    start: AtomicUsize,
    bytes: AtomicUsize,
    protection: AtomicI32,
    is_cut: AtomicBool,
}

static REGISTRY: [Place; PLACES] = [const {
    Place {
        start: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
        protection: AtomicI32::new(0),
        is_cut: AtomicBool::new(false),
    }
}; PLACES];

/// The handler that was installed before this one.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();

/// A protected mapping.
#[derive(Debug)]
pub struct Ticket(usize);

impl Ticket {
    pub fn is_cut(&self) -> bool {
        REGISTRY[self.0].is_cut.load(Ordering::Relaxed)
    }

    /// Ends the protection. Call it once, before unmapping.
    pub fn release(&self) {
        REGISTRY[self.0].start.store(0, Ordering::Release);
    }
}

/// Protects a mapping of this process.
pub fn protect(start: usize, bytes: usize, protection: i32) -> io::Result<Ticket> {
    INSTALLED.get_or_init(install).map_err(io::Error::from_raw_os_error)?;
    let is_taken = |place: &&Place| {
        place.start.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    };
    let index = REGISTRY.iter().position(|place| is_taken(&place));
    let index = index.ok_or_else(|| {
        io::Error::other(format!(
            "this process already maps {PLACES} channel files, the maximum; read fewer topics"
        ))
    })?;
    let place = &REGISTRY[index];
    place.bytes.store(bytes, Ordering::Relaxed);
    place.protection.store(protection, Ordering::Relaxed);
    place.is_cut.store(false, Ordering::Relaxed);
    place.start.store(start, Ordering::Release);
    Ok(Ticket(index))
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
fn cover(place: &Place, address: usize) -> bool {
    let start = place.start.load(Ordering::Acquire);
    let bytes = place.bytes.load(Ordering::Relaxed);
    if start <= 1 || !(start..start + bytes).contains(&address) {
        return false;
    }
    place.is_cut.store(true, Ordering::Relaxed);
    let protection = place.protection.load(Ordering::Relaxed);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: replaces a mapping of this crate: it is registered, and the thread that faulted in it holds a reference
    // to it, so it cannot be dropped meanwhile. The addresses stay valid and read as zeros.
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

//! Files mapped into memory: the first of the two modules with `unsafe`.
//!
//! Invariants of [`Region`], on which every `unsafe` block here relies:
//! 1. `start` is the page-aligned address of a mapping of `words * 8` bytes. Only this value unmaps it, when it is
//!    dropped.
//! 2. All accesses are atomic and to aligned 8-byte words inside the mapping. Other processes may store to the same
//!    memory at any time; since both sides access it atomically, there is no data race.
//! 3. A read-only mapping is only loaded from, with relaxed ordering, which the documentation of `std::sync::atomic`
//!    allows for 8-byte words on read-only memory.
//! 4. The addresses stay mapped even if somebody truncates the file: see [`guard`].
#![allow(unsafe_code)]

mod guard;

use crate::error::{Damage, ShmError, ShmOperation};
use crate::fault::kill_point;
use crate::memory::{Memory, MemoryMut, Sleep};
use crate::system;
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence, fence};

#[derive(Debug)]
struct Region {
    start: NonNull<AtomicU64>,
    words: usize,
    ticket: guard::MappingTicket,
}

// SAFETY: the memory belongs to no thread, and it is accessed by atomics only (invariant 2).
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Maps the first `words` words of the file, which must be at least that long.
    fn new(
        file: &File,
        path: &Path,
        words: usize,
        protection: i32,
        flags: i32,
    ) -> Result<Self, ShmError> {
        let failure =
            |attempt| move |source| ShmError::Io { attempt, path: path.to_owned(), source };
        let len = file.metadata().map_err(failure(ShmOperation::Open))?.len();
        if words == 0 || len / 8 < words as u64 {
            return Err(ShmError::Damaged(Damage::Short));
        }
        // SAFETY: a null hint lets the kernel choose free addresses, so no memory of Rust's is replaced; the descriptor
        // is open for the call; length and offset are in range.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                words * 8,
                protection,
                libc::MAP_SHARED | flags,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(failure(ShmOperation::Map)(std::io::Error::last_os_error()));
        }
        let ticket = guard::protect(start as usize, words * 8, protection);
        match (NonNull::new(start.cast()), ticket) {
            (Some(start), Ok(ticket)) => Ok(Self { start, words, ticket }),
            (_, ticket) => {
                // SAFETY: the mapping was made above, and nothing else has its address.
                unsafe { libc::munmap(start, words * 8) };
                let refused = ticket.err().unwrap_or_else(|| std::io::ErrorKind::AddrInUse.into());
                Err(failure(ShmOperation::Map)(refused))
            }
        }
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: invariants 1 and 4: valid, aligned words for as long as `self` lives; any bits are a valid integer;
        // they change under atomics only (invariant 2).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // Release the guard first, so that it never remaps addresses that another mapping has taken over.
        self.ticket.release();
        // SAFETY: invariant 1; no slice outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * 8) };
    }
}

/// A file mapped for reading. Its holder cannot change the file.
#[derive(Debug)]
pub struct ReadMap(Region);

/// A file mapped for reading and writing.
#[derive(Debug)]
pub struct WriteMap(Region, FenceStrategy);

/// Which side pays for a full fence between writer and readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceStrategy {
    /// Each side executes its own fence.
    Both,
    /// The rare side (a reader) has the kernel run a barrier on the CPUs where writers run ([`system::barrier`]). The
    /// frequent side (the writer) only keeps the compiler from reordering.
    Rare,
}

impl ReadMap {
    /// Maps the first `words` words.
    pub fn new(file: &File, path: &Path, words: usize) -> Result<Self, ShmError> {
        // A reader maps pages as it reaches them, because a file may state more memory than it has.
        Region::new(file, path, words, libc::PROT_READ, 0).map(Self)
    }

    /// Returns true if somebody has truncated the file; its words have read as zeros since.
    pub fn is_cut(&self) -> bool {
        self.0.ticket.is_cut()
    }
}

impl WriteMap {
    /// Maps the first `words` words, with all their pages; otherwise a writer's first pass through the ring would take a
    /// page fault for every page.
    pub fn new(file: &File, path: &Path, words: usize) -> Result<Self, ShmError> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        Ok(Self(
            Region::new(file, path, words, protection, libc::MAP_POPULATE)?,
            FenceStrategy::Both,
        ))
    }

    /// Maps the first `words` words of a file that has no pages yet for most of them.
    pub fn sparse(file: &File, path: &Path, words: usize) -> Result<Self, ShmError> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        Ok(Self(Region::new(file, path, words, protection, 0)?, FenceStrategy::Both))
    }

    /// Maps the pages of a range of words, which starts at a page and has reserved space, so that storing there takes no
    /// page faults. Does nothing on kernels before 5.14.
    pub fn populate(&self, range: Range<usize>) {
        let words = &self.0.words()[range];
        let (start, len) = (words.as_ptr().cast_mut().cast(), words.len() * 8);
        // SAFETY: the range is inside the mapping (invariant 1). The call maps pages and changes no byte of them.
        unsafe { libc::madvise(start, len, libc::MADV_POPULATE_WRITE) };
    }

    /// Returns true if somebody has truncated the file; since then, stores go to memory that nobody shares.
    #[inline]
    pub fn is_cut(&self) -> bool {
        self.0.ticket.is_cut()
    }

    /// Sleeps while the word at `index` of each mapping still has the given value. Returns after a change, after
    /// `timeout_ns`, or spuriously. Only the first [`system::FUTEXES_MAX`] are watched.
    pub fn sleep_any(words: &[(&Self, u64)], index: usize, timeout_ns: u64) {
        let words = words.iter().map(|(map, value)| (&map.0.words()[index], *value));
        system::futex_wait_any(&words.collect::<Vec<_>>(), timeout_ns);
    }

    /// Returns true if the rare side of its fence has the kernel run a barrier.
    pub fn has_barrier(&self) -> bool {
        self.1 == FenceStrategy::Rare
    }

    /// Returns the mapping with this kind of fence.
    pub fn with_fence(self, fence: FenceStrategy) -> Self {
        Self(self.0, fence)
    }
}

impl Memory for ReadMap {
    #[inline]
    fn load(&self, index: usize) -> u64 {
        self.0.words()[index].load(Ordering::Relaxed)
    }

    #[inline]
    fn load_bytes(&self, index: usize, bytes: &mut [u8]) {
        load_bytes(&self.0, index, bytes);
    }

    #[inline]
    fn prefetch(&self, index: usize, words: usize) {
        for word in self.0.words()[index..][..words].iter().step_by(8) {
            system::prefetch(word);
        }
    }
}

impl Memory for WriteMap {
    #[inline]
    fn load(&self, index: usize) -> u64 {
        self.0.words()[index].load(Ordering::Relaxed)
    }

    #[inline]
    fn load_bytes(&self, index: usize, bytes: &mut [u8]) {
        load_bytes(&self.0, index, bytes);
    }

    #[inline]
    fn light_fence(&self) {
        match self.1 {
            FenceStrategy::Both => fence(Ordering::SeqCst),
            FenceStrategy::Rare => compiler_fence(Ordering::SeqCst),
        }
    }

    fn heavy_fence(&self) -> bool {
        fence(Ordering::SeqCst);
        !self.has_barrier() || system::barrier()
    }
}

/// Does the same as the trait's default method, with one bounds check for all words.
#[inline]
fn load_bytes(region: &Region, index: usize, bytes: &mut [u8]) {
    let words = &region.words()[index..][..bytes.len().div_ceil(8)];
    let (whole, rest) = bytes.as_chunks_mut::<8>();
    for (bytes, word) in whole.iter_mut().zip(words) {
        *bytes = word.load(Ordering::Relaxed).to_le_bytes();
    }
    if let (false, Some(word)) = (rest.is_empty(), words.last()) {
        rest.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes()[..rest.len()]);
    }
}

impl MemoryMut for WriteMap {
    #[inline]
    fn store(&self, index: usize, value: u64) {
        kill_point();
        self.0.words()[index].store(value, Ordering::Relaxed);
    }

    #[inline]
    fn store_bytes(&self, index: usize, bytes: &[u8]) {
        let words = &self.0.words()[index..][..bytes.len().div_ceil(8)];
        let (whole, rest) = bytes.as_chunks::<8>();
        for (bytes, word) in whole.iter().zip(words) {
            kill_point();
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        if let (false, Some(word)) = (rest.is_empty(), words.last()) {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            kill_point();
            word.store(u64::from_le_bytes(last), Ordering::Relaxed);
        }
    }

    #[inline]
    fn prepare(&self, index: usize, words: usize) {
        for word in self.0.words()[index..][..words].iter().step_by(8) {
            system::prefetch_for_writing(word);
        }
    }
}

impl Sleep for WriteMap {
    fn set_bits(&self, index: usize, bits: u64) -> u64 {
        self.0.words()[index].fetch_or(bits, Ordering::Relaxed)
    }

    fn add(&self, index: usize, number: u64) {
        kill_point();
        self.0.words()[index].fetch_add(number, Ordering::Relaxed);
    }

    fn sleep(&self, index: usize, value: u64, timeout_ns: u64) {
        system::futex_wait(&self.0.words()[index], value, timeout_ns);
    }

    fn wake_all(&self, index: usize) {
        system::futex_wake_all(&self.0.words()[index]);
    }
}

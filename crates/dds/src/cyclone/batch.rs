//! Samples taken from the middleware.

use std::ffi::c_void;
use std::ptr;
use std::slice;

use super::entity::checked;
use super::ffi;
use crate::{
    CdrEncoding, DdsError, DdsOperation, InstanceState, ParticipantId, RawSample, SampleInfo,
};

/// Maximum number of samples that one call takes from the middleware.
const BATCH: usize = 64;
/// Bytes of the encapsulation header. Spec: DDSI-RTPS 2.5 §10.
const HEADER: usize = 4;

/// Samples that are taken together and lent one at a time.
///
/// Cyclone keeps their memory in a pool, so a warm reader does not allocate.
pub(super) struct SampleBatch {
    /// Null if released or never taken. The batch holds references to the elements from `next - 1` to `end`.
    samples: Box<[*mut ffi::Serdata; BATCH]>,
    infos: Box<[ffi::DdsSampleInfo; BATCH]>,
    next: usize,
    end: usize,
}

// SAFETY: only the batch references the samples; their reference counts are atomic, and any thread may
// release them.
unsafe impl Send for SampleBatch {}

impl SampleBatch {
    pub(super) fn new() -> Self {
        Self {
            samples: Box::new([ptr::null_mut(); BATCH]),
            infos: Box::new([ffi::DdsSampleInfo::default(); BATCH]),
            next: 0,
            end: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next == self.end
    }

    pub(super) fn left(&self) -> usize {
        self.end - self.next
    }

    /// Drops the samples left in the batch, takes at most [`BATCH`] samples of `reader` and returns their number.
    pub(super) fn refill(&mut self, reader: ffi::Entity) -> Result<usize, DdsError> {
        self.release_all();
        // SAFETY: `samples` and `infos` have room for BATCH elements each, which Cyclone writes in place.
        let code = unsafe {
            ffi::dds_takecdr(
                reader,
                self.samples.as_mut_ptr(),
                BATCH as u32,
                self.infos.as_mut_ptr(),
                ffi::ANY_STATE,
            )
        };
        let count =
            if code == ffi::RETCODE_NO_DATA { 0 } else { checked(DdsOperation::Take, code)? };
        self.end = usize::try_from(count).unwrap_or(0).min(BATCH);
        Ok(self.end)
    }

    /// Lends the next sample. Releases the one that was lent before.
    ///
    /// # Panics
    /// If the batch is empty.
    pub(super) fn lend(&mut self) -> RawSample<'_> {
        if let Some(last) = self.next.checked_sub(1) {
            release(&mut self.samples[last]);
        }
        let (sample, info) = (self.samples[self.next], self.infos[self.next]);
        assert!(self.next < self.end && !sample.is_null(), "nothing was taken");
        self.next += 1;
        let (mut bytes, mut size) = (ptr::null::<c_void>(), 0);
        // SAFETY: the batch holds a reference to the sample; both results are written in place.
        unsafe { ffi::tickwire_lend(sample, &raw mut bytes, &raw mut size) };
        // SAFETY: a serialised sample of Cyclone has `size` initialised bytes, which do not change while it
        // is referenced. The batch holds the reference until the next call with `&mut self`, which the
        // result's lifetime excludes.
        let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), size) };
        let (header, members) = bytes.split_at(HEADER.min(size));
        let encoding = match header {
            [0, 6..=u8::MAX, ..] => CdrEncoding::Xcdr2,
            _ => CdrEncoding::Xcdr1,
        };
        RawSample { bytes: members, encoding, info: info_of(&info) }
    }

    fn release_all(&mut self) {
        self.samples.iter_mut().for_each(release);
        (self.next, self.end) = (0, 0);
    }
}

fn info_of(info: &ffi::DdsSampleInfo) -> SampleInfo {
    SampleInfo {
        has_data: info.valid_data,
        instance_state: match info.instance_state {
            ffi::INSTANCE_DISPOSED => InstanceState::Disposed,
            ffi::INSTANCE_NO_WRITERS => InstanceState::NoWriters,
            _ => InstanceState::Alive,
        },
        source_timestamp_ns: info.source_timestamp,
        instance: info.instance_handle,
        writer: info.publication_handle,
        writer_seq_num: info.writer_seq,
        history_end: info.history_end,
        participant: (info.participant != [0; 16]).then_some(ParticipantId(info.participant)),
    }
}

/// Releases a sample and clears its pointer.
fn release(sample: &mut *mut ffi::Serdata) {
    if !sample.is_null() {
        // SAFETY: the batch took the reference from `dds_takecdr` and gives it back once.
        unsafe { ffi::tickwire_release(*sample) };
        *sample = ptr::null_mut();
    }
}

impl Drop for SampleBatch {
    fn drop(&mut self) {
        self.release_all();
    }
}

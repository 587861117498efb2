//! Writers and readers of typed samples.

use std::marker::PhantomData;
use std::time::Duration;

use crate::Sample;
use crate::cdr::{CdrEncoding, SampleDecodeError, SampleEncoder};
use crate::transport::{ParticipantId, RawReader, RawSample, RawWriter, ReceivedSample};

/// Writes samples of one type to one topic. Once warm it does not allocate.
#[derive(Debug)]
pub struct SampleWriter<S, W> {
    raw: W,
    bytes: Vec<u8>,
    _sample: PhantomData<fn(&S)>,
}

impl<S: Sample, W: RawWriter> SampleWriter<S, W> {
    /// Creates a writer on top of `raw`, whose type must be that of `S`.
    pub fn new(raw: W) -> Self {
        Self { raw, bytes: Vec::new(), _sample: PhantomData }
    }

    /// Returns the underlying writer.
    pub fn raw(&self) -> &W {
        &self.raw
    }

    /// Writes one sample.
    ///
    /// # Errors
    /// - [Timed out](crate::TransportError::is_timed_out) if a reliable writer's history stayed full for
    ///   `max_blocking`.
    /// - A [`SampleEncodeError`](crate::cdr::SampleEncodeError) if the sample cannot be encoded.
    /// - Errors of the transport.
    #[inline]
    pub fn write(&mut self, sample: &S) -> Result<(), W::Error> {
        self.encode(sample)?;
        self.raw.write(&self.bytes, None)
    }

    /// Writes one sample whose time of writing is `source_timestamp_ns`, in nanoseconds since the Unix epoch. An echo
    /// with the time of the original sample measures a round trip with a single clock.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn write_at(&mut self, sample: &S, source_timestamp_ns: i64) -> Result<(), W::Error> {
        self.encode(sample)?;
        self.raw.write(&self.bytes, Some(source_timestamp_ns))
    }

    fn encode(&mut self, sample: &S) -> Result<(), W::Error> {
        let mut encoder = SampleEncoder::new(&mut self.bytes, CdrEncoding::Xcdr1);
        Ok(sample.encode_members(&mut encoder)?)
    }

    /// Ends the instance with the key of `sample` and notifies its readers.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn dispose(&mut self, sample: &S) -> Result<(), W::Error> {
        self.encode(sample)?;
        // Cannot fail: the bytes were just encoded from this type.
        let key = S::struct_type().key(&self.bytes, CdrEncoding::Xcdr1).unwrap_or_default();
        self.raw.dispose(key)
    }

    /// Sends the samples that a writer with [`batching`](crate::Qos::batching) has collected; no effect on other
    /// writers.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn flush(&mut self) -> Result<(), W::Error> {
        self.raw.flush()
    }

    /// Waits until at least `count` readers match; false if `timeout` passed first.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, W::Error> {
        self.raw.wait_matched(count, timeout)
    }

    /// Returns the number of readers that match now.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn matched(&self) -> Result<u32, W::Error> {
        self.raw.matched()
    }

    /// Waits until all matched reliable readers have acknowledged all samples.
    ///
    /// # Errors
    /// `timeout` passed first.
    pub fn wait_acknowledged(&self, timeout: Duration) -> Result<(), W::Error> {
        self.raw.wait_acknowledged(timeout)
    }

    /// Returns how many samples the slowest matched reader has still to acknowledge or, over a transport without
    /// acknowledgements, to read. 0 or `None`, depending on the transport, if the writer waits for no
    /// reader.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn backlog(&self) -> Result<Option<u64>, W::Error> {
        self.raw.backlog()
    }
}

/// Reads samples of one type from one topic.
#[derive(Debug)]
pub struct SampleReader<S, R> {
    raw: R,
    unreadable: u64,
    _sample: PhantomData<fn() -> S>,
}

impl<S: Sample, R: RawReader> SampleReader<S, R> {
    /// Creates a reader on top of `raw`, whose type must be that of `S`.
    pub fn new(raw: R) -> Self {
        Self { raw, unreadable: 0, _sample: PhantomData }
    }

    /// Returns the underlying reader.
    pub fn raw(&self) -> &R {
        &self.raw
    }

    /// Returns the underlying reader, mutably.
    pub fn raw_mut(&mut self) -> &mut R {
        &mut self.raw
    }

    /// Takes the next sample into `received`; false if there is none. It does not wait; call it in a loop to poll.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn take(&mut self, received: &mut ReceivedSample<S>) -> Result<bool, R::Error> {
        loop {
            let Some(raw) = self.raw.take()? else { return Ok(false) };
            if received.load(&raw).is_ok() {
                return Ok(true);
            }
            self.unreadable = self.unreadable.saturating_add(1);
        }
    }

    /// Waits until a sample can be taken; false if `timeout` passed first.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, R::Error> {
        self.raw.wait(timeout)
    }

    /// Waits until at least `count` writers match; false if `timeout` passed first.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, R::Error> {
        self.raw.wait_matched(count, timeout)
    }

    /// Returns the number of writers that match now.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn matched(&self) -> Result<u32, R::Error> {
        self.raw.matched()
    }

    /// Returns the participants of the writers that match now, one entry for each writer.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn publishers(&self) -> Result<Vec<ParticipantId>, R::Error> {
        self.raw.publishers()
    }

    /// Returns the number of samples lost in transit since the reader was created, as far as the transport knows.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn lost(&self) -> Result<u64, R::Error> {
        self.raw.lost()
    }

    /// Returns the number of samples dropped because their bytes do not match the type, for example because a string is
    /// not UTF-8.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }
}

impl<S: Sample> ReceivedSample<S> {
    /// Decodes the sample into `self`, or only its key if `raw` has no data.
    ///
    /// # Errors
    /// The bytes do not match the type; the sample's contents are then unspecified.
    pub fn load(&mut self, raw: &RawSample<'_>) -> Result<(), SampleDecodeError> {
        self.info = raw.info;
        let mut decoder = raw.decoder();
        match raw.info.has_data {
            true => self.sample.decode_members(&mut decoder),
            false => self.sample.decode_key(&mut decoder),
        }
    }
}

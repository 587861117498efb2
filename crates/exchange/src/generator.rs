//! Generates packets.

use crate::binding::Binding;
use crate::cme::Cme;
use crate::complex::Complex;
use crate::draft::MessageDraft;
use crate::error::ExchangeError;
use crate::options::{FeedKind, Options};
use crate::packer::Packer;
use crate::random_cme::RandomCme;
use crate::shaped::Shaped;
use crate::simple::Simple;
use crate::source::{FeedSource, SourceMessage};
use crate::templates;
use crate::truth::{BookTruth, TrueBook};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use tickwire_fast::{Program, TemplateSet};

/// A packet as sent on the wire, and its contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratedPacket {
    /// Sequence number of the packet; also in the preamble, if there is one.
    pub seq_num: u64,
    /// Preamble and FAST bytes.
    pub bytes: Vec<u8>,
    /// The messages before encoding.
    pub messages: Vec<MessageDraft>,
    /// Securities whose books or RptSeq the packet changed, ascending.
    pub changed: Vec<u32>,
    /// Time of sending by the exchange's simulated clock: milliseconds since midnight.
    pub time_ms: u64,
}

/// Generates the packets of a feed and holds the true books.
///
/// An iterator of packets; it ends after an error.
pub struct Generator {
    source: Box<dyn FeedSource>,
    packer: Packer,
    /// Packs snapshots, which have separate sequence numbers from 1.
    snapshots: Packer,
    /// Maximum length of an entry in bytes.
    entry_bytes: usize,
    /// Packet size in bytes that suffices for every snapshot.
    snapshot_bytes_min: usize,
    first_seq_num: u64,
    truth: BookTruth,
    /// Books changed by messages whose packets are not yet handed out, one element per message.
    pending: VecDeque<Vec<TrueBook>>,
    /// Number of messages to come, including Done.
    left: u64,
    done: Option<MessageDraft>,
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Generator {
    /// Creates a generator with the feed's own templates.
    ///
    /// # Errors
    /// [`ExchangeError`] if the options are invalid.
    pub fn new(options: &Options) -> Result<Self, ExchangeError> {
        let own = own_program(options.feed)?;
        Self::with_programs(options, &own, own.clone())
    }

    /// Creates a generator that encodes with other templates; their fields are matched by name.
    /// They may have other ids, types and operators, omit fields, and have additional optional and
    /// constant fields.
    ///
    /// # Errors
    /// [`ExchangeError`] if the options are invalid, or the templates do not fit the feed.
    pub fn with_templates(options: &Options, set: TemplateSet) -> Result<Self, ExchangeError> {
        let own = own_program(options.feed)?;
        Self::with_programs(options, &own, Arc::new(Program::compile(set)?))
    }

    fn with_programs(
        options: &Options,
        own: &Arc<Program>,
        program: Arc<Program>,
    ) -> Result<Self, ExchangeError> {
        options.check()?;
        let mut source: Box<dyn FeedSource> = match options.feed {
            FeedKind::Cme { shape, mid_session } => {
                Box::new(Cme::new(options.securities, options.seed, shape, mid_session))
            }
            FeedKind::Complex { entries_mean, split } => {
                Box::new(Complex::new(options.securities, options.seed, entries_mean, split))
            }
            FeedKind::RandomCme => Box::new(RandomCme::new(options.seed)),
            FeedKind::Shaped(shape) => Box::new(Shaped::new(
                shape,
                options.securities,
                options.seed,
                options.messages_per_packet_max.max(1),
            )),
            FeedKind::Simple => Box::new(Simple::new(options.securities, options.seed)),
        };
        let bytes = options.packet_bytes_max;
        let binding = Binding::new(own, program)?;
        let snapshots = Packer::new(binding.clone(), options.framing, bytes, 1, 1)?;
        let messages_max = options.messages_per_packet_max.max(1);
        let first = options.first_seq_num;
        let mut packer = Packer::new(binding, options.framing, bytes, messages_max, first)?;
        let bytes_min = longest(&mut packer, &source.largest())?;
        if bytes < bytes_min {
            return Err(ExchangeError::PacketTooSmall { bytes, bytes_min });
        }
        let (first_entry_bytes, entry_bytes) = entry_bytes(&mut packer, &*source)?;
        source.set_entries_sure(1 + bytes.saturating_sub(first_entry_bytes) / entry_bytes);
        let largest_snapshot: Vec<MessageDraft> = source.largest_snapshot().into_iter().collect();
        let snapshot_bytes_min = longest(&mut packer, &largest_snapshot)?;
        let done = if options.done { source.done() } else { None };
        Ok(Self {
            truth: BookTruth::new(source.books().into_iter()),
            source,
            packer,
            snapshots,
            entry_bytes,
            snapshot_bytes_min,
            first_seq_num: options.first_seq_num,
            pending: VecDeque::new(),
            left: options.messages,
            done,
        })
    }

    /// Returns the program that decodes the packets. Dictionaries are reset before every packet, or
    /// as the framing defines.
    pub fn program(&self) -> &Arc<Program> {
        self.binding().program()
    }

    /// Returns the binding that builds messages of [`program`](Self::program) from drafts, and
    /// compares decoded messages with them.
    pub fn binding(&self) -> &Binding {
        self.packer.binding()
    }

    /// Returns the true books after the last packet handed out.
    pub fn truth(&self) -> &BookTruth {
        &self.truth
    }

    /// Returns the next packet; `None` after the last.
    ///
    /// # Errors
    /// [`ExchangeError::Encode`] if a value does not fit a given template.
    pub fn next_packet(&mut self) -> Result<Option<GeneratedPacket>, ExchangeError> {
        while self.left > 0 {
            self.left -= 1;
            let packer = &mut self.packer;
            let (bytes_max, entry_bytes) = (packer.bytes_max(), self.entry_bytes);
            let mut room = |draft: &MessageDraft| {
                let left = bytes_max.checked_sub(packer.len_alone(draft)?);
                // The number of entries may itself take one more byte.
                Ok(left.map(|left| left.saturating_sub(1) / entry_bytes))
            };
            let made = self.source.next(&mut room)?;
            if let Some(packet) = self.push(made)? {
                return Ok(Some(packet));
            }
        }
        if let Some(draft) = self.done.take() {
            let made = SourceMessage { draft, books: Vec::new(), time_ms: self.source.time_ms() };
            if let Some(packet) = self.push(made)? {
                return Ok(Some(packet));
            }
        }
        Ok(self.packer.finish().map(|packet| self.settle(packet)))
    }

    /// Creates a packet for the channel of snapshots: the true book of a security after the last
    /// packet handed out.
    ///
    /// # Errors
    /// [`ExchangeError::NoSnapshots`] if the feed has none; [`ExchangeError::SecurityUnknown`];
    /// [`ExchangeError::PacketTooSmall`] if a book of the feed's depth does not fit in a packet.
    pub fn snapshot(&mut self, security: u32) -> Result<GeneratedPacket, ExchangeError> {
        let book = self.truth.book(security).ok_or(ExchangeError::SecurityUnknown { security })?;
        let last = self.truth.seq_num().unwrap_or(self.first_seq_num.saturating_sub(1));
        let draft = self.source.snapshot(book, last).ok_or(ExchangeError::NoSnapshots)?;
        let (bytes, bytes_min) = (self.snapshots.bytes_max(), self.snapshot_bytes_min);
        if bytes < bytes_min {
            return Err(ExchangeError::PacketTooSmall { bytes, bytes_min });
        }
        let packet = self.snapshots.push(draft, self.source.time_ms())?;
        packet.ok_or(ExchangeError::PacketTooSmall { bytes, bytes_min })
    }

    fn push(&mut self, made: SourceMessage) -> Result<Option<GeneratedPacket>, ExchangeError> {
        self.pending.push_back(made.books);
        let packet = self.packer.push(made.draft, made.time_ms)?;
        Ok(packet.map(|packet| self.settle(packet)))
    }

    /// Applies to the truth the books of a packet that is about to be handed out.
    fn settle(&mut self, mut packet: GeneratedPacket) -> GeneratedPacket {
        for books in self.pending.drain(..packet.messages.len()) {
            packet.changed.extend(books.iter().map(|book| book.security));
            self.truth.apply(books);
        }
        self.truth.end_packet(packet.seq_num);
        packet.changed.sort_unstable();
        packet.changed.dedup();
        packet
    }
}

impl Iterator for Generator {
    type Item = Result<GeneratedPacket, ExchangeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let packet = self.next_packet();
        if packet.is_err() {
            self.left = 0;
            self.done = None;
        }
        packet.transpose()
    }
}

/// Returns the length in bytes of the longest of these messages, each alone in a packet.
fn longest(packer: &mut Packer, drafts: &[MessageDraft]) -> Result<usize, ExchangeError> {
    drafts.iter().try_fold(0, |longest, draft| Ok(packer.len_alone(draft)?.max(longest)))
}

/// Returns two maximum lengths in bytes: of a packet with one entry, and of each further entry.
fn entry_bytes(
    packer: &mut Packer,
    source: &dyn FeedSource,
) -> Result<(usize, usize), ExchangeError> {
    let one = longest(packer, &source.largest_with(1))?;
    let three = longest(packer, &source.largest_with(3))?;
    // The number of entries may itself take one more byte.
    Ok((one + 1, (three - one).div_ceil(2).max(1)))
}

/// Returns the program of a feed's own templates.
fn own_program(feed: FeedKind) -> Result<Arc<Program>, ExchangeError> {
    let set = TemplateSet::parse(feed.templates()).expect("the feeds' own templates are right");
    Ok(Arc::new(Program::compile(set)?))
}

impl FeedKind {
    /// Returns the feed's own template file.
    pub fn templates(self) -> &'static str {
        match self {
            Self::Cme { .. } => templates::CME,
            Self::Complex { .. } => templates::COMPLEX,
            Self::RandomCme => templates::RANDOM_CME,
            Self::Shaped(shape) => shape.templates(),
            Self::Simple => templates::SIMPLE,
        }
    }
}

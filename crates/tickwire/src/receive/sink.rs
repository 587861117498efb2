//! Counting of messages, and detection of the end.

use super::ReceiveArgs;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use tickwire_fast::FieldValue;
use tickwire_fast::generated::Templates;
use tickwire_fast::{FastError, Message, MessageBuilder, Program};
use tickwire_feed::handler::{Delivery, GeneratedMessage, Sink};
use tickwire_net::Stop;

/// Template that ends a generated feed.
const DONE: &str = "Done";
/// SendingTime.
const SENDING_TIME: u32 = 52;

/// The reason why a reception ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceptionEnd {
    /// The Done message arrived.
    Done,
    /// No packet arrived for the time of --idle.
    Idle,
    /// The number of messages of --messages was reached.
    Messages,
    /// The captures ended.
    Captures,
}

/// Ends the reception of all channels. Clones share the state.
#[derive(Clone, Debug)]
pub struct Ending(Arc<ReceptionState>);

#[derive(Debug)]
struct ReceptionState {
    stop: Stop,
    messages_max: Option<u64>,
    idle_ns: Option<u64>,
    minds_done: bool,
    /// Messages of all channels; counted only if they are limited.
    messages: AtomicU64,
    /// Channels that are not done.
    channels: AtomicUsize,
    /// Time of the latest packet of any channel; 0 before the first.
    last_ns: AtomicU64,
    end: OnceLock<ReceptionEnd>,
}

impl Ending {
    /// Creates the shared end of this many channels.
    pub fn new(args: &ReceiveArgs, stop: Stop, channels: usize) -> Self {
        let idle_ns = args.idle().map(|idle| u64::try_from(idle.as_nanos()).unwrap_or(u64::MAX));
        Self(Arc::new(ReceptionState {
            stop,
            messages_max: args.messages,
            idle_ns,
            minds_done: !args.past_done,
            messages: AtomicU64::new(0),
            channels: AtomicUsize::new(channels),
            last_ns: AtomicU64::new(0),
            end: OnceLock::new(),
        }))
    }

    /// The reason for the end, unless it was a signal.
    pub fn end(&self) -> Option<ReceptionEnd> {
        self.0.end.get().copied()
    }

    /// Stops without a reason, because the output is closed.
    pub fn stop(&self) {
        self.0.stop.set();
    }

    fn finish(&self, end: ReceptionEnd) {
        self.0.end.get_or_init(|| end);
        self.0.stop.set();
    }

    fn count_message(&self) {
        let Some(messages_max) = self.0.messages_max else { return };
        if self.0.messages.fetch_add(1, Ordering::Relaxed) + 1 >= messages_max {
            self.finish(ReceptionEnd::Messages);
        }
    }

    fn end_channel(&self) {
        if self.0.channels.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.finish(ReceptionEnd::Done);
        }
    }

    fn note_packet(&self, now_ns: u64) {
        self.0.last_ns.fetch_max(now_ns, Ordering::Relaxed);
    }

    fn observe(&self, now_ns: u64) {
        let Some(idle_ns) = self.0.idle_ns else { return };
        let last_ns = self.0.last_ns.load(Ordering::Relaxed);
        if last_ns > 0 && now_ns.saturating_sub(last_ns) >= idle_ns {
            self.finish(ReceptionEnd::Idle);
        }
    }
}

/// Counts the messages of a channel and detects its end.
pub struct EndWatch {
    ending: Ending,
    /// True if the channel's Done message has arrived.
    is_done: bool,
    has_ended: bool,
    packets: u64,
}

impl EndWatch {
    /// Creates a sink that has counted nothing yet.
    pub const fn new(ending: Ending) -> Self {
        Self { ending, is_done: false, has_ended: false, packets: 0 }
    }

    /// The reason for the end, if reception has ended and not by a signal.
    pub fn end(&self) -> Option<ReceptionEnd> {
        self.ending.end()
    }

    /// Stops without a reason.
    pub fn stop(&self) {
        self.ending.stop();
    }

    /// Ends the reception if it is time to; `packets` is the number received so far.
    pub fn observe(&mut self, now_ns: u64, is_idle: bool, packets: u64) {
        if packets != self.packets {
            self.packets = packets;
            self.ending.note_packet(now_ns);
        }
        if self.is_done && is_idle && !self.has_ended {
            self.has_ended = true;
            self.ending.end_channel();
        }
        self.ending.observe(now_ns);
    }
}

/// A message that has a name.
pub trait NamedMessage {
    /// The name of its template.
    fn name(&self) -> &str;

    /// The program of its template set.
    fn program(&self) -> &Arc<Program>;

    /// SendingTime (52), in the digits of the feed.
    fn sending_time(&self) -> Option<u64>;

    /// The message with names and types, copied into `copy` if it does not have them itself.
    fn to_dynamic<'m>(&'m self, copy: &'m mut MessageBuilder) -> Result<&'m Message, FastError>;
}

impl NamedMessage for Message {
    fn name(&self) -> &str {
        self.template_name()
    }

    fn program(&self) -> &Arc<Program> {
        self.program()
    }

    fn sending_time(&self) -> Option<u64> {
        let root = self.root();
        let index = root.layouts().iter().position(|field| field.id == Some(SENDING_TIME))?;
        match root.value(index) {
            FieldValue::UInt(time) => Some(time),
            FieldValue::Int(time) => u64::try_from(time).ok(),
            _ => None,
        }
    }

    fn to_dynamic<'m>(&'m self, _: &'m mut MessageBuilder) -> Result<&'m Message, FastError> {
        Ok(self)
    }
}

impl<T: Templates> NamedMessage for GeneratedMessage<T> {
    fn name(&self) -> &str {
        self.template_name()
    }

    fn program(&self) -> &Arc<Program> {
        self.program()
    }

    /// Generated code cannot find fields by tag; `--publish` refuses it.
    fn sending_time(&self) -> Option<u64> {
        None
    }

    fn to_dynamic<'m>(&'m self, copy: &'m mut MessageBuilder) -> Result<&'m Message, FastError> {
        GeneratedMessage::to_dynamic(self, copy)
    }
}

impl<M: NamedMessage + ?Sized> Sink<M> for EndWatch {
    fn handle_message(&mut self, _: &Delivery, message: &M) {
        self.is_done |= self.ending.0.minds_done && message.name() == DONE;
        self.ending.count_message();
    }
}

//! Counting messages, and knowing when it is over.

use super::ReceiveArgs;
use tickwire_fast::rt::Templates;
use tickwire_fast::{Error, Message, MessageBuilder};
use tickwire_feed::handler::{Delivery, GeneratedMessage, Sink};
use tickwire_net::Stop;

/// Template that ends a generated feed.
const DONE: &str = "Done";

/// How a reception ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By the Done message.
    Done,
    /// Nothing came for long enough.
    Idle,
    /// As many messages as were wanted.
    Messages,
    /// The captures were read to their ends.
    Captures,
}

/// Counts messages and sets the stop when the end has come.
pub struct Counting {
    stop: Stop,
    messages_max: u64,
    idle_ns: Option<u64>,
    minds_done: bool,
    messages: u64,
    is_done: bool,
    packets: u64,
    last_ns: Option<u64>,
    end: Option<End>,
}

impl Counting {
    /// Nothing counted yet.
    pub fn new(args: &ReceiveArgs, stop: Stop) -> Self {
        let idle_ns = args.idle().map(|idle| u64::try_from(idle.as_nanos()).unwrap_or(u64::MAX));
        Self {
            stop,
            messages_max: args.messages.unwrap_or(u64::MAX),
            idle_ns,
            minds_done: !args.past_done,
            messages: 0,
            is_done: false,
            packets: 0,
            last_ns: None,
            end: None,
        }
    }

    /// How it ended, if not by a signal.
    pub const fn end(&self) -> Option<End> {
        self.end
    }

    /// Ends the reception if it is time to: `packets` is how many have come so far.
    pub fn observe(&mut self, now_ns: u64, is_idle: bool, packets: u64) {
        if packets != self.packets {
            self.packets = packets;
            self.last_ns = Some(now_ns);
        }
        let silent_ns = self.last_ns.map_or(0, |last_ns| now_ns.saturating_sub(last_ns));
        if self.is_done && is_idle {
            self.finish(End::Done);
        } else if self.idle_ns.is_some_and(|idle_ns| self.packets > 0 && silent_ns >= idle_ns) {
            self.finish(End::Idle);
        }
    }

    fn finish(&mut self, end: End) {
        self.end.get_or_insert(end);
        self.stop.set();
    }
}

/// A message that has a name.
pub trait Named {
    /// The name of its template.
    fn name(&self) -> &str;

    /// The message with names and types, copied into `copy` if it has none itself.
    fn to_dynamic<'m>(&'m self, copy: &'m mut MessageBuilder) -> Result<&'m Message, Error>;
}

impl Named for Message {
    fn name(&self) -> &str {
        self.template_name()
    }

    fn to_dynamic<'m>(&'m self, _: &'m mut MessageBuilder) -> Result<&'m Message, Error> {
        Ok(self)
    }
}

impl<T: Templates> Named for GeneratedMessage<T> {
    fn name(&self) -> &str {
        self.template_name()
    }

    fn to_dynamic<'m>(&'m self, copy: &'m mut MessageBuilder) -> Result<&'m Message, Error> {
        GeneratedMessage::to_dynamic(self, copy)
    }
}

impl<M: Named + ?Sized> Sink<M> for Counting {
    fn handle_message(&mut self, _: &Delivery, message: &M) {
        self.messages += 1;
        self.is_done |= self.minds_done && message.name() == DONE;
        if self.messages >= self.messages_max {
            self.finish(End::Messages);
        }
    }
}

//! The session as a state machine.

mod admission;
mod assemble;
mod core;
mod event;
mod gap;
mod head;
mod header_check;
mod hooks;
mod logon;
mod logout;
mod receive;
mod refuse;
mod send;
mod timer;
mod transmit;

pub use admission::{Refusal, admit, check_credentials, invalidity, refusal_logout};
pub use event::{
    DisconnectReason, Event, LogonRequest, MessageDelivery, OutgoingHeader, ResetOrigin,
    SessionCounters, SessionEvent,
};
pub(crate) use head::is_header;
pub use hooks::{AdditionalFields, Hooks, OutgoingMessage, SendDecision};

use self::admission::one_field;
use self::core::Core;
use self::receive::ReceiveOutcome;
use crate::config::Config;
use crate::error::{SendError, StoreError};
use crate::log::{Direction, push_line};
use crate::now::Now;
use crate::store::Store;
use tickwire_fix::{FixFramer, FramerStep, Reader, Writer};

/// Most bytes of handled messages that may precede the unhandled ones in the buffer.
const CONSUMED_MAX: usize = 64 << 10;

/// True if a MsgType is that of an administrative message, which is gap-filled instead of resent.
pub const fn is_admin(msg_type: &[u8]) -> bool {
    matches!(msg_type, b"0" | b"1" | b"2" | b"3" | b"4" | b"5" | b"A")
}

/// Received bytes that are not yet handled.
#[derive(Debug)]
struct Inbox {
    buffer: Vec<u8>,
    start: usize,
    framer: FixFramer,
    limits: tickwire_fix::FixLimits,
    reader: Reader,
    /// The held message that is being handled.
    held: Vec<u8>,
}

impl Inbox {
    /// Drops the bytes of the previous connection.
    fn begin(&mut self) {
        self.buffer.clear();
        self.start = 0;
        self.framer = FixFramer::new(self.limits);
    }
}

/// One session.
///
/// After [`Session::handle_bytes`], call [`Session::poll_event`] until `None`, then
/// [`Session::poll_transmit`] until it is empty; only then are the received messages committed.
#[derive(Debug)]
pub struct Session<S> {
    inbox: Inbox,
    core: Core<S>,
}

impl<S: Store> Session<S> {
    /// Creates a disconnected session that continues with the sequence numbers of the store.
    pub fn new(config: Config, store: S) -> Self {
        let limits = tickwire_fix::FixLimits {
            fields_max: config.limits.fields_max,
            message_len_max: config.limits.message_len_max,
        };
        let reader = config.reader().limits(limits);
        let inbox = Inbox {
            buffer: Vec::new(),
            start: 0,
            framer: FixFramer::new(limits),
            limits,
            reader,
            held: Vec::new(),
        };
        Self { inbox, core: Core::new(config, store) }
    }

    /// Returns the configuration.
    pub const fn config(&self) -> &Config {
        &self.core.config
    }

    /// Returns the store.
    pub const fn store(&self) -> &S {
        &self.core.store
    }

    /// Returns the store for changes. Call it only while the session is not connected.
    pub const fn store_mut(&mut self) -> &mut S {
        &mut self.core.store
    }

    /// Returns the counters.
    pub const fn counters(&self) -> &SessionCounters {
        &self.core.counters
    }

    /// True if both sides have sent Logon on this connection, and this side no Logout.
    pub const fn is_logged_on(&self) -> bool {
        self.core.is_logged_on()
    }

    /// True if this side has sent Logout and waits for the peer's.
    pub const fn is_logging_out(&self) -> bool {
        self.core.is_established() && !self.core.is_logged_on()
    }

    /// True if this side has sent the first Logon on this connection and waits for its answer.
    pub const fn awaits_logon(&self) -> bool {
        self.core.awaits_logon()
    }

    /// True if there is a connection.
    pub const fn is_connected(&self) -> bool {
        self.core.connected_ns.is_some()
    }

    /// Returns the number of messages that wait in the store until the peer has read earlier ones.
    pub fn backlog(&self) -> u64 {
        self.core.transmit.backlog(self.core.store.next_sender())
    }

    /// True if messages that the peer has requested again still wait to be sent.
    pub fn is_resending(&self) -> bool {
        self.core.transmit.is_resending()
    }

    /// The transport is connected. An initiator's Logon is then ready to be sent.
    pub fn handle_connected(&mut self, now: Now) {
        self.inbox.begin();
        self.core.connected(now);
    }

    /// As [`Session::handle_connected`], for a connection whose Logon the application has already
    /// accepted: the session does not ask again.
    pub fn handle_authenticated(&mut self, now: Now) {
        self.handle_connected(now);
        self.core.authenticated = true;
    }

    /// The transport is disconnected. Call [`Session::poll_event`] until `None` afterwards: it
    /// still returns the events of the last bytes, and of a reset.
    pub fn handle_disconnected(&mut self, now: Now) {
        self.inbox.begin();
        self.core.disconnected(now);
        self.core.with_store(Store::commit);
    }

    /// Takes received bytes. Call [`Session::poll_event`] until `None` before the next call: the
    /// session then buffers at most one message and the bytes received with it.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        let inbox = &mut self.inbox;
        if inbox.start == inbox.buffer.len() {
            inbox.buffer.clear();
            inbox.start = 0;
        } else if inbox.start > CONSUMED_MAX {
            inbox.buffer.drain(..inbox.start);
            inbox.start = 0;
        }
        inbox.buffer.extend_from_slice(bytes);
    }

    /// Handles the next received message and returns its event; `None` if there is neither a
    /// message nor an event.
    pub fn poll_event(&mut self, now: Now) -> Option<Event<'_, S>> {
        let Self { inbox, core } = self;
        if core.pending_logon.is_some() {
            core.refuse_logon(now, "");
        }
        if let Some(notice) = core.notices.pop_front() {
            return Some(Event::Session(notice));
        }
        if !core.is_open() {
            return None;
        }
        core.is_held = core.take_held(&mut inbox.held);
        let bytes = match core.is_held {
            true => inbox.held.as_slice(),
            false => {
                let from = inbox.start;
                let rest = inbox.buffer.get(from..).unwrap_or_default();
                match inbox.framer.step(rest) {
                    FramerStep::Message(message) => {
                        inbox.start = from + message.len();
                        message
                    }
                    FramerStep::Garbage(0) | FramerStep::NeedMore(_) => return None,
                    FramerStep::Garbage(len) => {
                        inbox.start = from + len;
                        core.handle_garbage();
                        let Some(len) = inbox.framer.too_long(rest) else {
                            return Some(Event::Session(SessionEvent::Garbage { len }));
                        };
                        core.handle_too_long(now, len);
                        return Some(Event::Session(SessionEvent::TooLong { len }));
                    }
                }
            }
        };
        // Held messages were logged on arrival.
        if let Some(log) = core.transmit.log.as_mut().filter(|_| !core.is_held) {
            push_line(log, now, Direction::In, bytes);
        }
        let started = core.config.codec_clock.map(|clock| clock());
        let Ok(message) = inbox.reader.decode(bytes) else {
            core.handle_garbage();
            return Some(Event::Session(SessionEvent::Garbled));
        };
        core.decoding_from = started;
        Some(match core.handle_message(now, &message) {
            ReceiveOutcome::Authenticate => Event::Logon(LogonRequest { message, core, now }),
            ReceiveOutcome::Deliver { seq_num, poss_dup, poss_resend } => {
                core.counters.delivered += 1;
                Event::Application(MessageDelivery {
                    message,
                    seq_num,
                    poss_dup,
                    poss_resend,
                    core,
                    now,
                })
            }
            ReceiveOutcome::Done => {
                Event::Session(core.notices.pop_front().unwrap_or(SessionEvent::Handled))
            }
        })
    }

    /// Sends an application message and returns its MsgSeqNum. `write` writes the fields of the
    /// body in their final order; if the buffer is too small, it is called again with a larger one.
    ///
    /// While not logged on, and after our Logout, the message is only stored. The peer receives it
    /// after the next Logon, when it finds the number missing and requests it.
    ///
    /// # Errors
    /// [`SendError`]: the message is not accepted, and nothing has changed.
    pub fn send(
        &mut self,
        now: Now,
        head: &OutgoingHeader<'_>,
        mut write: impl FnMut(&mut Writer<'_>),
    ) -> Result<u64, SendError> {
        self.send_fields(now, head, |mut writer| {
            write(&mut writer);
            writer
        })
    }

    /// Sends a message of a generated type and returns its MsgSeqNum. `write` writes the body and
    /// returns the writer, as in `|writer| order.encode_fields(writer)`; if the buffer is too
    /// small, it is called again with a larger one.
    ///
    /// # Errors
    /// As [`Session::send`].
    pub fn send_fields(
        &mut self,
        now: Now,
        head: &OutgoingHeader<'_>,
        write: impl for<'w> FnMut(Writer<'w>) -> Writer<'w>,
    ) -> Result<u64, SendError> {
        self.core.send(now, head, write)
    }

    /// Starts the logout: sends a Logout with `text`.
    pub fn logout(&mut self, now: Now, text: &str) {
        self.core.begin_logout(now, text);
    }

    /// Sends a Test Request with the TestReqID `id`.
    pub fn send_test_request(&mut self, now: Now, id: &str) {
        self.core.send_test_request(now, &one_field(id));
    }

    /// Continues with the higher MsgSeqNum `seq_num` and tells the peer with a Sequence Reset. The
    /// numbers between are abandoned, and the peer does not request them. Returns false, and does
    /// nothing, if the number is not higher, if the session is not logged on, or while messages
    /// wait for a slow peer.
    pub fn skip_to(&mut self, now: Now, seq_num: u64) -> bool {
        self.core.skip_to(now, seq_num)
    }

    /// Resets both sequence numbers to 1. A connected peer is told by a Logon with ResetSeqNumFlag:
    /// at once if it is logged on, otherwise with the next Logon. If the connection ends before the
    /// peer confirms, the Logon is repeated on the next connection while this object exists. New
    /// messages wait until then. If the peer is not connected, the reset must have been agreed with
    /// it.
    pub fn reset(&mut self, now: Now) {
        self.core.reset_by_application(now);
    }

    /// Runs the timers: sends heartbeats and test requests, disconnects silent peers. Early and
    /// late calls are harmless.
    pub fn handle_timeout(&mut self, now: Now) {
        self.core.handle_timeout(now);
    }

    /// Returns when to call [`Session::handle_timeout`], in nanoseconds on the steady clock.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.core.poll_timeout()
    }

    /// Commits the store and returns bytes to write to the connection; empty if there are none.
    ///
    /// Report the number of bytes written with [`Session::handle_transmitted`].
    ///
    /// # Errors
    /// [`StoreError`]: send nothing and disconnect the session.
    pub fn poll_transmit(&mut self, now: Now) -> Result<&[u8], StoreError> {
        self.core.pump(now);
        self.core.go_on_with_logout(now);
        if let Err(error) = self.core.store.commit() {
            self.core.store_failed(&error);
            return Err(error);
        }
        Ok(self.core.transmit.pending())
    }

    /// Reports that the first `len` bytes returned by [`Session::poll_transmit`] were written.
    pub fn handle_transmitted(&mut self, len: usize) {
        self.core.transmit.written(len);
    }

    /// Passes the lines of the message log since the last call to `write`; none if the log is
    /// disabled. Call it after each [`Session::poll_transmit`], because lines are kept in memory
    /// until then.
    pub fn take_log(&mut self, write: impl FnOnce(&[u8])) {
        if let Some(log) = self.core.transmit.log.as_mut().filter(|log| !log.is_empty()) {
            write(log);
            log.clear();
        }
    }

    /// Syncs committed data to the disk, for stores that defer it.
    pub fn sync(&mut self) {
        self.core.with_store(Store::sync);
    }

    /// Ends the connection for a reason of the caller, such as a slow peer or a schedule.
    pub fn disconnect(&mut self, why: DisconnectReason) {
        self.core.close(why);
    }
}

//! The handler of a channel, independent of the engine's type.

use super::doubt::FirstPackets;
use super::showing::Showing;
use super::sink::NamedMessage;
use super::timed::{Timed, TimedBooks};
use hdrhistogram::Histogram;
use std::sync::Arc;
use tickwire_fast::Program;
use tickwire_feed::handler::{
    FeedEngine, FeedLine, Handler, HandlerConfigError, HandlerOptions, HandlerView, PacketHandler,
    Replaced, Replacement, SeqNumField, Sequencing,
};
use tickwire_feed::market::{Adapt, BookAdapter, BookChoice};
use tickwire_feed::recovery::Recovery;
use tickwire_net::log::Logged;
use tickwire_net::reception::Channel;
use tickwire_net::replaying::{DrivenHandler, Replaying};
use tickwire_net::tcp_replay::TcpReplay;

/// Sink of a channel's messages, books and events.
pub type FeedSink = Logged<Showing>;

/// A channel with its sockets.
pub type FeedChannel = Channel<Box<dyn ChannelHandler>, FeedSink>;

/// Settings for building books from a program's messages.
#[derive(Clone, Debug)]
pub struct BookMaker {
    /// The key of book levels.
    pub choice: BookChoice,
    /// FIX tags of the fields that identify an instrument.
    pub instrument_key: Vec<u32>,
    /// One message in this many is measured; 0 measures none.
    pub measure_every: u32,
}

impl BookMaker {
    /// Creates an adapter for the messages of a program.
    pub fn adapter(&self, program: &Arc<Program>) -> BookAdapter {
        BookAdapter::new(program, self.choice, &self.instrument_key)
    }

    fn timed(&self, program: &Arc<Program>) -> TimedBooks<BookAdapter> {
        TimedBooks::new(self.adapter(program), self.measure_every)
    }
}

/// A handler with the type of its engine erased, so that channels with different engines share a loop.
pub trait ChannelHandler: PacketHandler<FeedSink> + Send {
    /// Returns counters, arbiter and books.
    fn view(&self) -> HandlerView<'_>;

    /// Returns the books, for adding instruments.
    fn recovery_mut(&mut self) -> &mut Recovery;

    /// Returns the first packets, for checking the framing.
    fn first_packets(&mut self) -> &mut FirstPackets;

    /// Returns the replay service, if there is one.
    fn replay(&self) -> Option<&TcpReplay>;

    /// Returns the decoding times.
    fn decode_times(&self) -> &Histogram<u64>;

    /// Returns the times to apply messages to books.
    fn book_times(&self) -> &Histogram<u64>;

    /// Begins another session: see [`Handler::begin_session`].
    fn begin_session(&mut self, sink: &mut FeedSink);

    /// Replaces the templates: see [`Handler::replace`].
    fn replace(
        &mut self,
        program: &Arc<Program>,
        sequencing: &Sequencing,
    ) -> Result<Replaced, HandlerConfigError>;
}

/// A handler and the function that creates engines for new templates.
struct ReloadableHandler<E, F> {
    driven: DrivenHandler<Timed<E>, TimedBooks<BookAdapter>>,
    first_packets: FirstPackets,
    engine: F,
    books: BookMaker,
}

/// Creates the handler of a channel. `engine` creates an engine for a program and the field that holds the
/// sequence number. `replay` fills gaps, if there is a service.
pub fn channel_handler<E, F>(
    options: HandlerOptions,
    program: &Arc<Program>,
    seq_num: &SeqNumField,
    engine: F,
    books: BookMaker,
    replay: Option<TcpReplay>,
) -> Result<Box<dyn ChannelHandler>, HandlerConfigError>
where
    E: FeedEngine<Message: NamedMessage> + Send + 'static,
    BookAdapter: Adapt<E::Message>,
    F: Fn(&Arc<Program>, &SeqNumField) -> Timed<E> + Send + 'static,
{
    let first = || engine(program, seq_num);
    let handler = Handler::new(options, first, books.timed(program))?;
    let driven = match replay {
        Some(replay) => DrivenHandler::Replaying(Replaying::new(handler, first(), replay)),
        None => DrivenHandler::Alone(handler),
    };
    let first_packets = FirstPackets::default();
    Ok(Box::new(ReloadableHandler { driven, first_packets, engine, books }))
}

impl<E, F> ChannelHandler for ReloadableHandler<E, F>
where
    E: FeedEngine<Message: NamedMessage> + Send,
    BookAdapter: Adapt<E::Message>,
    F: Fn(&Arc<Program>, &SeqNumField) -> Timed<E> + Send,
{
    fn view(&self) -> HandlerView<'_> {
        self.driven.handler().view()
    }

    fn recovery_mut(&mut self) -> &mut Recovery {
        self.driven.handler_mut().recovery_mut()
    }

    fn first_packets(&mut self) -> &mut FirstPackets {
        &mut self.first_packets
    }

    fn replay(&self) -> Option<&TcpReplay> {
        self.driven.replay()
    }

    fn decode_times(&self) -> &Histogram<u64> {
        self.driven.handler().engine().times()
    }

    fn book_times(&self) -> &Histogram<u64> {
        self.driven.handler().adapter().times()
    }

    fn begin_session(&mut self, sink: &mut FeedSink) {
        self.driven.handler_mut().begin_session(sink);
    }

    fn replace(
        &mut self,
        program: &Arc<Program>,
        sequencing: &Sequencing,
    ) -> Result<Replaced, HandlerConfigError> {
        let engine = || (self.engine)(program, &sequencing.field);
        let books = self.books.timed(program);
        let replacement = Replacement::new(engine, books, sequencing.source.clone());
        self.driven.handler_mut().replace(replacement)
    }
}

impl<E, F> PacketHandler<FeedSink> for ReloadableHandler<E, F>
where
    E: FeedEngine<Message: NamedMessage>,
    BookAdapter: Adapt<E::Message>,
{
    fn handle_packet(
        &mut self,
        received_ns: u64,
        source: FeedLine,
        packet: &[u8],
        sink: &mut FeedSink,
    ) {
        self.first_packets.note(source, packet);
        if let Some(tap) = sink.inner_mut().tap_mut() {
            tap.packet(received_ns, source, packet);
        }
        self.driven.handle_packet(received_ns, source, packet, sink);
    }

    fn handle_timeout(&mut self, now_ns: u64, sink: &mut FeedSink) {
        self.driven.handle_timeout(now_ns, sink);
    }

    fn poll_timeout(&self) -> Option<u64> {
        PacketHandler::<FeedSink>::poll_timeout(&self.driven)
    }

    fn poll_waiting(&self) -> Option<u64> {
        PacketHandler::<FeedSink>::poll_waiting(&self.driven)
    }
}

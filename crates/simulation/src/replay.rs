//! TCP replay: the exchange's replay server, the client, and the connection between them.

use crate::arrivals::Played;
use crate::checker::Checker;
use crate::decodable::Decodable;
use crate::scenario::{MS, ReplaySetup};
use fastrand::Rng;
use std::collections::VecDeque;
use tickwire_exchange::day::DayPacket;
use tickwire_exchange::replay_server::{ReplayConnection, ReplayServer, ReplayServerOptions};
use tickwire_fast::TemplateSet;
use tickwire_feed::handler::{FeedEngine, Handler, Peeked, ReplayLoss, SeqNumField, SeqNumPeek};
use tickwire_feed::market::{Adapt, MarketDataAdapter};
use tickwire_feed::replay::{ReplayClient, ReplayCounters, ReplayEvent, ReplayOptions};

/// Maximum number of consecutive failed connections for one gap.
const ATTEMPTS_MAX: u32 = 6;
const TIMEOUT_NS: u64 = 2_000 * MS;

/// Returns the sequence number of the FAST bytes of a packet.
type SeqNumReader = Box<dyn Fn(&[u8]) -> Option<u64>>;

/// An arrival at one end of the connection.
enum Arriving {
    /// The server accepted the connection.
    Accepted,
    ToServer(Vec<u8>),
    ToClient(Vec<u8>),
    /// The server closed the connection.
    Closed,
}

/// Server, client, and the data in flight between them.
pub(crate) struct ReplayService<'p> {
    /// Packets that the server does not have yet.
    unsent: std::slice::Iter<'p, DayPacket>,
    server_epoch: u32,
    server: ReplayServer,
    client: ReplayClient<SeqNumReader>,
    connection: Option<ReplayConnection>,
    in_flight: VecDeque<(u64, Arriving)>,
    latency_ns: u64,
    random: Rng,
}

impl<'p> ReplayService<'p> {
    pub(crate) fn new(played: &'p Played, setup: &ReplaySetup, seed: u64) -> Self {
        let options = ReplayServerOptions {
            requests_per_day_max: setup.requests_per_day_max,
            messages_per_request_max: setup.messages_per_request_max,
            messages_stored_max: setup.messages_stored_max,
            disconnect: setup.disconnect,
            seed,
            ..ReplayServerOptions::default()
        };
        let password = if setup.knows_password { options.password.clone() } else { String::new() };
        let client = ReplayOptions {
            username: options.username.clone(),
            password,
            // The client does not know the server's request limits; it must adapt.
            messages_max: 100,
            requests_max: u32::MAX,
            attempts_max: ATTEMPTS_MAX,
            backoff_ns: setup.latency_ns,
            backoff_max_ns: 8 * setup.latency_ns,
            timeout_ns: TIMEOUT_NS,
            ..ReplayOptions::default()
        };
        let set = TemplateSet::parse(played.day.templates()).expect("templates of the exchange");
        let peek = SeqNumPeek::new(&set, &SeqNumField::default());
        let number: SeqNumReader = Box::new(move |bytes| match peek.peek(bytes) {
            Peeked::Number(seq_num) => Some(seq_num),
            Peeked::Unnumbered | Peeked::Unknown => None,
        });
        Self {
            unsent: played.updates.iter(),
            server_epoch: 0,
            server: ReplayServer::new(options),
            client: ReplayClient::new(client, number),
            connection: None,
            in_flight: VecDeque::new(),
            latency_ns: setup.latency_ns,
            random: Rng::with_seed(seed),
        }
    }

    pub(crate) fn counters(&self) -> ReplayCounters {
        self.client.counters()
    }

    /// Requests the packets that the handler has lost by `now_ns`.
    pub(crate) fn take_lost<E: FeedEngine<Message: Decodable>>(
        &mut self,
        now_ns: u64,
        handler: &mut Handler<E, MarketDataAdapter>,
        checker: &mut Checker<'_>,
    ) where
        MarketDataAdapter: Adapt<E::Message>,
    {
        while let Some(lost) = handler.poll_lost() {
            match lost {
                ReplayLoss::Gap(gap) => {
                    if self.client.request(now_ns, gap).is_err() {
                        handler.handle_replay_done(gap, checker);
                    }
                }
                ReplayLoss::Reset => self.client.begin_epoch(),
            }
        }
        self.act(now_ns, handler, checker);
    }

    /// Returns the time for the next call of [`handle_timeout`](Self::handle_timeout).
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        let arriving = self.in_flight.front().map(|(at_ns, _)| *at_ns);
        [arriving, self.client.poll_timeout()].into_iter().flatten().min()
    }

    /// Processes everything that is due at `now_ns`.
    pub(crate) fn handle_timeout<E: FeedEngine<Message: Decodable>>(
        &mut self,
        now_ns: u64,
        handler: &mut Handler<E, MarketDataAdapter>,
        checker: &mut Checker<'_>,
    ) where
        MarketDataAdapter: Adapt<E::Message>,
    {
        if self.in_flight.front().is_some_and(|(at_ns, _)| *at_ns <= now_ns)
            && let Some((at_ns, arriving)) = self.in_flight.pop_front()
        {
            self.arrive(at_ns, arriving);
        }
        self.client.handle_timeout(now_ns);
        self.act(now_ns, handler, checker);
    }

    fn arrive(&mut self, now_ns: u64, arriving: Arriving) {
        match arriving {
            Arriving::Accepted => self.client.handle_connected(now_ns, now_ns),
            Arriving::ToServer(bytes) => self.serve(now_ns, &bytes),
            Arriving::ToClient(bytes) => self.client.handle_bytes(now_ns, now_ns, &bytes),
            Arriving::Closed => {
                self.connection = None;
                self.client.handle_disconnected(now_ns);
            }
        }
    }

    /// Passes bytes to the server and sends its answer in pieces of random length.
    fn serve(&mut self, now_ns: u64, bytes: &[u8]) {
        self.publish(now_ns);
        let Some(connection) = &mut self.connection else { return };
        connection.handle_bytes(now_ns, &mut self.server, bytes);
        let (mut answer, is_closed) = (connection.take_bytes(), connection.is_closed());
        while !answer.is_empty() {
            let rest = answer.split_off(self.random.usize(1..=answer.len()));
            self.send(now_ns, Arriving::ToClient(std::mem::replace(&mut answer, rest)));
        }
        if is_closed {
            self.send(now_ns, Arriving::Closed);
        }
    }

    /// Gives the server the packets that the exchange has sent by `now_ns`.
    fn publish(&mut self, now_ns: u64) {
        while let Some(packet) =
            self.unsent.as_slice().first().filter(|packet| packet.sent_ns <= now_ns)
        {
            self.unsent.next();
            if packet.epoch != self.server_epoch {
                self.server_epoch = packet.epoch;
                self.server.begin_session();
            }
            if let Some(seq_num) = packet.seq_num {
                let fast = &packet.bytes[packet.preamble_bytes..];
                assert!(self.server.publish(seq_num, fast), "packets are shorter than frames");
            }
        }
    }

    fn send(&mut self, now_ns: u64, arriving: Arriving) {
        let last_ns = self.in_flight.back().map_or(0, |(at_ns, _)| *at_ns);
        let at_ns = last_ns.max(now_ns + self.latency_ns);
        self.in_flight.push_back((at_ns, arriving));
    }

    /// Handles the client's events, and sends its bytes.
    fn act<E: FeedEngine<Message: Decodable>>(
        &mut self,
        now_ns: u64,
        handler: &mut Handler<E, MarketDataAdapter>,
        checker: &mut Checker<'_>,
    ) where
        MarketDataAdapter: Adapt<E::Message>,
    {
        while let Some(event) = self.client.poll_event() {
            match event {
                ReplayEvent::Connect => {
                    self.connection = Some(self.server.connect());
                    self.send(now_ns, Arriving::Accepted);
                }
                ReplayEvent::Disconnect => {
                    self.connection = None;
                    self.in_flight.clear();
                }
                ReplayEvent::Abandoned { .. } => {}
                ReplayEvent::Done(gap) => handler.handle_replay_done(gap, checker),
                ReplayEvent::Replayed { seq_num, bytes } => {
                    handler.handle_replayed(now_ns, seq_num, &bytes, checker);
                }
            }
        }
        let bytes = self.client.take_bytes();
        if !bytes.is_empty() {
            self.send(now_ns, Arriving::ToServer(bytes));
        }
    }
}

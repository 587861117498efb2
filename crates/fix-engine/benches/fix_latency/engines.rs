//! The engines of an initiator and an acceptor, each on its own thread.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use tickwire_fix_engine::{
    AcceptorOptions, Access, Application, BoxStore, Engine, EngineHandle, EngineOptions,
    InitiatorOptions, SessionKey, Sessions,
};
use tickwire_fix_messages::fix44::{AnyMessage, ExecutionReport, NewOrderSingle, OrdStatus};
use tickwire_fix_session::{
    BeginString, Config, FileStore, FileStoreOptions, Fsync, MemoryStore, MessageDelivery, Now,
    OutgoingHeader, SessionEvent, SessionId, SessionRole, Store,
};
use tickwire_host::affinity::pin_current_thread;
use tickwire_host::clock::{monotonic_ns, unix_ns};
use tickwire_host::{Stop, Wait};

use crate::{CPUS, messages};

/// Longest wait for any step.
const PATIENCE: Duration = Duration::from_secs(30);

/// The stores of the sessions.
#[derive(Clone, Copy)]
pub enum Stores<'a> {
    Memory,
    /// Journals, which are synced to the disk periodically.
    Files(&'a Path),
}

impl Stores<'_> {
    fn open(self, id: &SessionId) -> Result<BoxStore, Box<dyn Error>> {
        Ok(match self {
            Self::Memory => Box::new(MemoryStore::new()),
            Self::Files(folder) => {
                let (folder, name) = (folder.to_owned(), id.file_name());
                let options =
                    FileStoreOptions { folder, name, fsync: Fsync::Batch, archives_max: 0 };
                Box::new(FileStore::open(options, unix_ns())?)
            }
        })
    }
}

pub fn config(role: SessionRole, sender: &str, target: &str) -> Config {
    let mut config = Config::new(role, SessionId::new(BeginString::Fix44, sender, target));
    // No heartbeat disturbs the measurement.
    config.heartbeat_s = 3600;
    config
}

/// Answers orders.
#[derive(Default)]
struct Venue {
    reports: u64,
}

impl Application for Venue {
    fn handle_message(&mut self, _: SessionKey, mut delivery: MessageDelivery<'_, BoxStore>) {
        let AnyMessage::NewOrderSingle(order) =
            AnyMessage::decode(&delivery.message).expect("an order")
        else {
            panic!("something else than an order");
        };
        self.reports += 1;
        let exec_id = self.reports.to_string();
        let report = messages::accepted(&order, &exec_id);
        let sent = delivery
            .send_fields(&OutgoingHeader::new(ExecutionReport::MSG_TYPE), |writer| {
                report.encode_fields(writer)
            });
        sent.expect("sent");
    }
}

/// Lets busy-polling threads run while it is open.
#[derive(Default)]
struct Gate {
    is_open: AtomicBool,
    threads: Mutex<Vec<Thread>>,
}

impl Gate {
    fn open(&self) {
        self.is_open.store(true, Ordering::SeqCst);
        self.threads.lock().expect("no thread panicked").iter().for_each(Thread::unpark);
    }

    fn close(&self) {
        self.is_open.store(false, Ordering::SeqCst);
    }

    /// Waits until the gate is open.
    fn pass(&self) {
        while !self.is_open.load(Ordering::SeqCst) {
            thread::park();
        }
    }

    fn add_current(&self) {
        self.threads.lock().expect("no thread panicked").push(thread::current());
    }
}

/// Sends the next order when the report of the previous one has arrived.
struct Trader {
    session: Option<SessionKey>,
    is_logged_on: bool,
    sent_ns: u64,
    orders: u64,
    times: Vec<u64>,
    /// Orders of this round that have no report yet.
    left: usize,
    /// Requests for rounds, each with its number of orders.
    counts: Receiver<usize>,
    rounds: SyncSender<Vec<u64>>,
    gate: Arc<Gate>,
}

impl Trader {
    /// Returns the ClOrdID of the next order and starts its time.
    fn next(&mut self) -> String {
        self.orders += 1;
        let cl_ord_id = format!("order-{:08}", self.orders);
        self.sent_ns = monotonic_ns();
        cl_ord_id
    }
}

impl Application for Trader {
    fn handle_message(&mut self, _: SessionKey, mut delivery: MessageDelivery<'_, BoxStore>) {
        let message = AnyMessage::decode(&delivery.message);
        let AnyMessage::ExecutionReport(report) = message.expect("a report") else {
            panic!("something else than a report");
        };
        assert_eq!(report.ord_status(), OrdStatus::New);
        self.times.push(monotonic_ns() - self.sent_ns);
        self.left -= 1;
        if self.left == 0 {
            self.gate.close();
            self.rounds.send(std::mem::take(&mut self.times)).expect("somebody waits");
            return;
        }
        let cl_ord_id = self.next();
        let order = messages::order(&cl_ord_id);
        let head = OutgoingHeader::new(NewOrderSingle::MSG_TYPE);
        delivery.send_fields(&head, |writer| order.encode_fields(writer)).expect("sent");
    }

    fn handle_session_event(&mut self, session: SessionKey, notice: &SessionEvent) {
        self.is_logged_on |= *notice == SessionEvent::LoggedOn;
        self.session = Some(session);
    }

    /// Starts a round when one is requested.
    fn handle_turn(&mut self, sessions: &mut Sessions, now: Now) -> Option<u64> {
        if self.left > 0 || !self.is_logged_on {
            return None;
        }
        self.left = self.counts.try_recv().ok()?;
        let cl_ord_id = self.next();
        let order = messages::order(&cl_ord_id);
        let (session, head) = (self.session?, OutgoingHeader::new(NewOrderSingle::MSG_TYPE));
        let sent = sessions.send_fields(session, now, &head, |writer| order.encode_fields(writer));
        sent.expect("sent");
        None
    }
}

/// An engine on a separate thread.
struct Running {
    handle: EngineHandle,
    stop: Stop,
    thread: JoinHandle<()>,
}

impl Running {
    fn start<A: Application + Send + 'static>(
        mut engine: Engine<A>,
        cpu: usize,
        gate: Option<Arc<Gate>>,
    ) -> Self {
        let (handle, stop) = (engine.handle(), Stop::new());
        let until = stop.clone();
        let thread = thread::spawn(move || {
            pin_current_thread(cpu).expect("a CPU");
            if let Some(gate) = gate {
                gate.add_current();
                while !until.is_set() {
                    gate.pass();
                    engine.turn(Duration::ZERO).expect("a turn");
                }
            }
            engine.run(&until).expect("it runs");
        });
        Self { handle, stop, thread }
    }

    fn end(self) -> Result<(), Box<dyn Error>> {
        self.stop.set();
        self.handle.wake()?;
        self.thread.join().map_err(|_| "an engine's thread panicked".into())
    }
}

/// An initiator and an acceptor that are logged on to each other.
pub struct Pair {
    initiator: Running,
    acceptor: Running,
    counts: SyncSender<usize>,
    rounds: Receiver<Vec<u64>>,
    gate: Arc<Gate>,
    keys: [SessionKey; 2],
}

impl Pair {
    pub fn start(stores: Stores<'_>, is_busy: bool) -> Result<Self, Box<dyn Error>> {
        let wait = if is_busy { Wait::Spin } else { Wait::Block };
        let options = EngineOptions { wait, ..EngineOptions::default() };
        let mut acceptor = Engine::new(options, Venue::default())?;
        let listener = acceptor.listen(AcceptorOptions::new("127.0.0.1:0".parse()?))?;
        let accepting = config(SessionRole::Acceptor, "VENUE", "TRADER");
        let store = stores.open(&accepting.id)?;
        let accepted = acceptor.add_acceptor(listener, accepting, store, Access::default())?;
        let address = acceptor.address(listener).ok_or("it listens")?;

        let (counts, wished) = sync_channel(1);
        let (done, rounds) = sync_channel(1);
        let gate = Arc::new(Gate::default());
        let trader = Trader {
            session: None,
            is_logged_on: false,
            sent_ns: 0,
            orders: 0,
            times: Vec::new(),
            left: 0,
            counts: wished,
            rounds: done,
            gate: Arc::clone(&gate),
        };
        let mut initiator = Engine::new(options, trader)?;
        let calling = config(SessionRole::Initiator, "TRADER", "VENUE");
        let store = stores.open(&calling.id)?;
        let called = initiator.add_initiator(calling, store, InitiatorOptions::new(address))?;

        let gated = || is_busy.then(|| Arc::clone(&gate));
        let acceptor = Running::start(acceptor, CPUS[1], gated());
        let initiator = Running::start(initiator, CPUS[0], gated());
        Ok(Self { initiator, acceptor, counts, rounds, gate, keys: [called, accepted] })
    }

    /// Runs a round of `count` orders. Returns the times from order to report in nanoseconds.
    pub fn round(&mut self, count: usize) -> Result<Vec<u64>, Box<dyn Error>> {
        self.counts.send(count)?;
        self.gate.open();
        self.initiator.handle.wake()?;
        Ok(self.rounds.recv_timeout(PATIENCE)?)
    }

    /// Returns the bytes of an order and of its report on the wire.
    pub fn bytes_of_an_exchange(&mut self) -> Result<[Vec<u8>; 2], Box<dyn Error>> {
        self.round(1)?;
        let [called, accepted] = self.keys;
        let newest = |running: &Running, key: SessionKey| -> Result<Vec<u8>, Box<dyn Error>> {
            let read = running.handle.call(move |sessions, _| {
                let store = sessions.session_mut(key).expect("it is there").store_mut();
                let mut bytes = Vec::new();
                let is_there = store.read_next(store.next_sender() - 1, &mut bytes);
                assert!(is_there.expect("it can be read").is_some());
                bytes
            });
            Ok(read?.wait()?)
        };
        Ok([newest(&self.initiator, called)?, newest(&self.acceptor, accepted)?])
    }

    /// Logs out.
    pub fn end(self) -> Result<(), Box<dyn Error>> {
        self.gate.open();
        self.initiator.end()?;
        self.acceptor.end()
    }
}

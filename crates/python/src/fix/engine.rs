//! FIX sessions: the engine; its callbacks are methods of a Python object.

use crate::errors;
use crate::fix::dictionary::{PyFixDictionary, versions};
use crate::fix::encode::{ApplicationMessage, added};
use crate::fix::inner::ParsedMessage;
use crate::fix::message::PyFixMessage;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use std::collections::HashMap;
use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use tickwire_fix::{BusinessRejectReason, SessionRejectReason, Tag};
use tickwire_fix_engine::{
    Answer, Application, BoxStore, Decision, Engine as NetEngine, EngineHandle, EngineOptions,
    HandleError, LogonAttempt, RefusedConnection, SessionKey, Sessions,
};
use tickwire_fix_session::settings::Settings;
use tickwire_fix_session::{
    AdditionalFields, ApplVersion, Config, Dictionaries, Fsync, Hooks, MessageDelivery, Now,
    OutgoingHeader, OutgoingMessage as Leaving, SendDecision, SendError, SessionEvent, SessionId,
    SessionRole,
};
use tickwire_fix_text::Versions;
use tickwire_net::Stop;

/// Returns the dictionaries of a session; those that are part of the package if it has none.
fn versions_of(config: &Config) -> Arc<Versions> {
    let Some(Dictionaries { session, application }) = &config.dictionaries else {
        return versions(None);
    };
    if application.is_empty() {
        return Arc::new(Versions::one(session.clone(), session.clone()));
    }
    let code = |version: ApplVersion| version.code().as_bytes().to_vec();
    let default = config.default_appl_ver_id.as_deref();
    let default = default.and_then(|default| ApplVersion::parse(default.as_bytes()));
    let by_version =
        application.iter().map(|(version, dictionary)| (code(*version), dictionary.clone()));
    Arc::new(Versions::by_version(session.clone(), by_version.collect(), default.map(code)))
}

/// The Python object with the callbacks, and the sessions it knows.
struct CallbackTarget {
    object: Py<PyAny>,
    /// Dictionaries of all sessions, if the caller has named one; else each session has its own.
    named: Option<Arc<Versions>>,
    versions: Mutex<HashMap<usize, Arc<Versions>>>,
    known: Mutex<Vec<SessionId>>,
    keys: Mutex<HashMap<usize, SessionKey>>,
    /// Messages sent by a callback during the delivery of a message, and the thread of the delivery.
    outbox: Mutex<Option<(ThreadId, Vec<Queued>)>>,
}

/// A message to send, and the object to notify of the result.
struct Queued {
    session: usize,
    outgoing: ApplicationMessage,
    sending: Py<PyAny>,
}

/// A pending answer that is waited for.
struct PendingAnswer {
    answer: Answer<Result<u64, SendError>>,
    sending: Py<PyAny>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for CallbackTarget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Host").finish_non_exhaustive()
    }
}

impl CallbackTarget {
    /// Returns the index of a session and notes its dictionaries; tells Python about a new one.
    fn configured(&self, config: &Config) -> usize {
        let (index, is_new) = self.place(&config.id);
        // Python may send as soon as it is told of the session, so the dictionaries are noted
        // before.
        if self.named.is_none() {
            lock(&self.versions).entry(index).or_insert_with(|| versions_of(config));
        }
        if is_new {
            self.tell_created(index, &config.id);
        }
        index
    }

    /// Returns the dictionaries of a session.
    fn versions(&self, index: usize) -> Arc<Versions> {
        let own = || lock(&self.versions).get(&index).cloned();
        self.named.clone().or_else(own).unwrap_or_else(|| versions(None))
    }

    /// Returns the index of a session; tells Python about a new one.
    fn index(&self, id: &SessionId) -> usize {
        let (index, is_new) = self.place(id);
        if is_new {
            self.tell_created(index, id);
        }
        index
    }

    /// Returns the index of a session, and whether the session is new.
    fn place(&self, id: &SessionId) -> (usize, bool) {
        let mut known = lock(&self.known);
        if let Some(index) = known.iter().position(|other| other == id) {
            return (index, false);
        }
        known.push(id.clone());
        (known.len() - 1, true)
    }

    fn tell_created(&self, index: usize, id: &SessionId) {
        let SessionId { begin_string, sender_comp_id, target_comp_id, qualifier } = id;
        let parts = (index, begin_string.as_str(), sender_comp_id, target_comp_id, qualifier);
        self.attached(|_, host| host.call_method1("created", parts).map(drop));
    }

    /// Calls Python. For exceptions that the object does not catch, Python writes a traceback to stderr, and
    /// this returns `None`.
    fn attached<R>(
        &self,
        call: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> PyResult<R>,
    ) -> Option<R> {
        Python::attach(|py| {
            let host = self.object.bind(py);
            call(py, host).map_err(|error| error.write_unraisable(py, Some(host))).ok()
        })
    }

    /// Returns a message of a session for Python.
    fn message(&self, index: usize, message: &tickwire_fix::FixMessage<'_, '_>) -> PyFixMessage {
        PyFixMessage::new(ParsedMessage::new(
            message.bytes().to_vec(),
            Vec::new(),
            self.versions(index),
        ))
    }

    /// Calls the callback `name` for an outgoing message. It returns fields to add, or False to withhold the
    /// message.
    fn leaving(
        &self,
        (method, name): (&str, &str),
        leaving: &Leaving<'_>,
        out: &mut AdditionalFields,
    ) -> SendDecision {
        let index = self.index(leaving.id);
        let message = self.message(index, &leaving.message);
        let fields = self.attached(|py, host| {
            let returned = host.call_method1(method, (index, message, leaving.is_resend))?;
            if returned.cast::<PyBool>().is_ok_and(|verdict| !verdict.is_true()) {
                return Ok(None);
            }
            if returned.is_none() {
                return Ok(Some(Vec::new()));
            }
            let versions = self.versions(index);
            let names = versions.names(&leaving.message);
            match added(py, returned.cast::<PyDict>()?, names) {
                Ok(fields) => Ok(Some(fields)),
                Err(error) => {
                    let text = format!("{name}: {error}");
                    host.call_method1("failed", (index, text)).map(|_| None)
                }
            }
        });
        // If the fields could not be determined, the message must not be sent.
        let Some(fields) = fields.flatten() else { return SendDecision::Withhold };
        for field in fields {
            field.add_to(out);
        }
        SendDecision::Send
    }
}

/// Notifies the sender of a message of its result.
fn settle(sending: Py<PyAny>, result: Result<u64, String>) {
    Python::attach(|py| {
        let (seq_num, error) = match result {
            Ok(seq_num) => (Some(seq_num), None),
            Err(error) => (None, Some(error)),
        };
        // Dropped with the GIL: without it, the error of a message that nobody waits for would be logged only when
        // this module takes the GIL again.
        let sending = sending.into_bound(py);
        if let Err(error) = sending.call_method1("_settle", (seq_num, error)) {
            error.write_unraisable(py, Some(&sending));
        }
    });
}

/// The hooks of all sessions.
#[derive(Debug)]
struct HostHooks(Arc<CallbackTarget>);

impl Hooks for HostHooks {
    fn before_admin(&self, outgoing: &Leaving<'_>, added: &mut AdditionalFields) {
        let _ = self.0.leaving(("to_admin", "toAdmin"), outgoing, added);
    }

    fn before_application(
        &self,
        outgoing: &Leaving<'_>,
        added: &mut AdditionalFields,
    ) -> SendDecision {
        self.0.leaving(("to_app", "toApp"), outgoing, added)
    }

    fn admin_received(
        &self,
        id: &SessionId,
        message: &tickwire_fix::FixMessage<'_, '_>,
    ) -> Result<(), String> {
        let index = self.0.index(id);
        let message = self.0.message(index, message);
        let refused = self.0.attached(|_, host| {
            host.call_method1("from_admin", (index, message))?.extract::<Option<String>>()
        });
        refused.flatten().map_or(Ok(()), Err)
    }
}

/// How the application rejects a message.
#[derive(FromPyObject)]
enum Rejection {
    /// With a Business Message Reject: reason, the application's id of the message, text.
    Business(u32, Option<Vec<u8>>, Option<String>),
    /// With a Reject: reason, tag of the field.
    Session(u32, Option<u32>),
}

/// Receives the engine's events.
struct PyCallbacks {
    host: Arc<CallbackTarget>,
    handle: Option<EngineHandle>,
    waiting: Sender<PendingAnswer>,
    /// Logons and disconnects that were not yet reported to Python.
    events: Vec<(SessionKey, EngineEvent)>,
    ids: HashMap<SessionKey, usize>,
}

enum EngineEvent {
    LoggedOn,
    /// Both sequence numbers were reset: by whom, and the last numbers sent and received before.
    Reset(&'static str, u64, u64),
    Disconnected,
    /// Reason of the disconnect, as text.
    Ends(String),
}

impl PyCallbacks {
    fn know(&mut self, key: SessionKey, config: &Config) -> usize {
        let index = self.host.configured(config);
        self.ids.insert(key, index);
        lock(&self.host.keys).insert(index, key);
        index
    }

    /// Reports all pending events.
    fn tell(&mut self) {
        for (key, event) in std::mem::take(&mut self.events) {
            let Some(index) = self.ids.get(&key).copied() else { continue };
            self.host.attached(|_, host| {
                let called = match event {
                    EngineEvent::LoggedOn => host.call_method1("logged_on", (index,)),
                    EngineEvent::Reset(origin, last_sent, last_received) => {
                        let args = (index, origin, last_sent, last_received);
                        host.call_method1("reset", args)
                    }
                    EngineEvent::Disconnected => host.call_method1("disconnected", (index,)),
                    EngineEvent::Ends(why) => host.call_method1("ended", (index, why)),
                };
                called.map(drop)
            });
        }
    }

    fn deliver(&mut self, index: usize, delivery: &mut MessageDelivery<'_, BoxStore>) {
        let message = self.host.message(index, &delivery.message);
        *lock(&self.host.outbox) = Some((thread::current().id(), Vec::new()));
        let rejection = self.host.attached(|_, host| {
            host.call_method1("from_app", (index, message))?.extract::<Option<Rejection>>()
        });
        if let Some(Some(rejection)) = rejection {
            let sent = match rejection {
                Rejection::Business(reason, ref_id, text) => {
                    let reason = BusinessRejectReason::from_code(reason);
                    delivery.reject_business(reason, ref_id.as_deref(), text.as_deref())
                }
                Rejection::Session(reason, tag) => {
                    delivery.reject(SessionRejectReason::from_code(reason), tag.map(Tag))
                }
            };
            if let Err(error) = sent {
                let text = error.to_string();
                self.host.attached(|_, host| host.call_method1("failed", (index, text)).map(drop));
            }
        }
        let queued = lock(&self.host.outbox).take().map_or_else(Vec::new, |(_, queued)| queued);
        for Queued { session, outgoing, sending } in queued {
            if session != index {
                self.request(session, outgoing, sending);
                continue;
            }
            let head: Vec<_> =
                outgoing.head.iter().map(|(tag, value)| (*tag, &value[..])).collect();
            let head = OutgoingHeader { msg_type: &outgoing.msg_type, fields: &head };
            let sent = delivery.send(&head, |writer| outgoing.write(writer));
            settle(sending, sent.map_err(|error| error.to_string()));
        }
    }

    fn request(&self, session: usize, outgoing: ApplicationMessage, sending: Py<PyAny>) {
        let key = lock(&self.host.keys).get(&session).copied();
        match (key, &self.handle) {
            (Some(key), Some(handle)) => {
                request(handle, &self.waiting, key, outgoing, sending);
            }
            _ => settle(sending, Err("the session is not known to the engine".to_owned())),
        }
    }
}

/// Asks an engine to send a message, and queues the answer to be waited for.
fn request(
    handle: &EngineHandle,
    waiting: &Sender<PendingAnswer>,
    key: SessionKey,
    outgoing: ApplicationMessage,
    sending: Py<PyAny>,
) {
    let asked = handle.call(move |sessions, now| {
        let head: Vec<_> = outgoing.head.iter().map(|(tag, value)| (*tag, &value[..])).collect();
        let head = OutgoingHeader { msg_type: &outgoing.msg_type, fields: &head };
        sessions.send(key, now, &head, |writer| outgoing.write(writer))
    });
    match asked {
        Ok(answer) => {
            // The waiting thread outlives all senders.
            let _ = waiting.send(PendingAnswer { answer, sending });
        }
        Err(error) => settle(sending, Err(error.to_string())),
    }
}

impl Application for PyCallbacks {
    fn handle_message(&mut self, key: SessionKey, mut delivery: MessageDelivery<'_, BoxStore>) {
        let index = match self.ids.get(&key) {
            Some(index) => *index,
            None => self.know(key, delivery.config()),
        };
        self.tell();
        self.deliver(index, &mut delivery);
    }

    fn handle_logon(&mut self, attempt: &LogonAttempt<'_>) -> Decision {
        let index = self.host.configured(attempt.config);
        let message = self.host.message(index, &attempt.message);
        let refused = self.host.attached(|_, host| {
            host.call_method1("from_admin", (index, message))?.extract::<Option<String>>()
        });
        match refused {
            Some(None) => Decision::Accept,
            Some(Some(text)) => Decision::Refuse { text },
            // Peers are refused unless the callback accepts them.
            None => Decision::Refuse { text: String::new() },
        }
    }

    fn handle_refused(&mut self, refused: &RefusedConnection<'_>) {
        let RefusedConnection { peer, id, refusal, text } = refused;
        let session = id.map(|id| format!(" ({id})")).unwrap_or_default();
        let text = format!("{peer}{session} refused: {refusal} {text}").escape_debug().to_string();
        self.host.attached(|_, host| host.call_method1("refused", (text,)).map(drop));
    }

    fn handle_session_event(&mut self, session: SessionKey, notice: &SessionEvent) {
        match notice {
            SessionEvent::LoggedOn => self.events.push((session, EngineEvent::LoggedOn)),
            SessionEvent::Reset { origin, last_sent, last_received } => {
                let event = EngineEvent::Reset(origin.as_str(), *last_sent, *last_received);
                self.events.push((session, event));
            }
            SessionEvent::Disconnect(why) => {
                self.events.push((session, EngineEvent::Ends(format!("{why:?}"))));
            }
            _ => {}
        }
    }

    fn handle_disconnected(&mut self, session: SessionKey) {
        self.events.push((session, EngineEvent::Disconnected));
    }

    fn handle_turn(&mut self, sessions: &mut Sessions, _: Now) -> Option<u64> {
        for at in 0..self.events.len() {
            let key = self.events[at].0;
            if let Some(session) = sessions.session(key)
                && !self.ids.contains_key(&key)
            {
                self.know(key, session.config());
            }
        }
        self.tell();
        None
    }
}

/// An engine for the sessions of a settings file.
#[pyclass(name = "Engine", module = "tickwire.fix", frozen)]
pub struct PyFixEngine {
    host: Arc<CallbackTarget>,
    handle: EngineHandle,
    stop: Stop,
    engine: Mutex<Option<NetEngine<PyCallbacks>>>,
    waiting: Mutex<Option<Sender<PendingAnswer>>>,
    receiver: Mutex<Option<Receiver<PendingAnswer>>>,
    addresses: Vec<(String, u16)>,
    warnings: Vec<String>,
}

#[pymethods]
impl PyFixEngine {
    /// Creates the sessions of a settings file from its text. Events are reported to `host`.
    #[new]
    #[pyo3(signature = (host, settings, is_acceptor, dictionary = None))]
    fn new(
        py: Python<'_>,
        host: Py<PyAny>,
        settings: &str,
        is_acceptor: bool,
        dictionary: Option<Py<PyFixDictionary>>,
    ) -> PyResult<Self> {
        let usage = |text: String| errors::usage(py, &text);
        let mut settings = Settings::parse(settings).map_err(|error| usage(error.to_string()))?;
        let role = if is_acceptor { SessionRole::Acceptor } else { SessionRole::Initiator };
        if let Some(other) = settings.sessions.iter().find(|session| session.config.role != role) {
            let wanted = if is_acceptor { "acceptor" } else { "initiator" };
            let text = format!("session of line {}: expected ConnectionType={wanted}", other.line);
            return Err(usage(text));
        }
        let named = dictionary.as_ref().map(|dictionary| versions(Some(dictionary.get())));
        let host = Arc::new(CallbackTarget {
            object: host,
            named,
            versions: Mutex::default(),
            known: Mutex::default(),
            keys: Mutex::default(),
            outbox: Mutex::default(),
        });
        for session in &mut settings.sessions {
            session.config.hooks = Some(Arc::new(HostHooks(host.clone())));
            session.config.authenticate |= is_acceptor;
        }
        let (sender, receiver) = channel();
        let callbacks = PyCallbacks {
            host: host.clone(),
            handle: None,
            waiting: sender.clone(),
            events: Vec::new(),
            ids: HashMap::new(),
        };
        let engine = NetEngine::new(EngineOptions::default(), callbacks);
        let mut engine = engine.map_err(|error| usage(error.to_string()))?;
        let configured = py.detach(|| engine.configure(&settings, Fsync::Batch));
        let configured = configured.map_err(|error| usage(error.to_string()))?;
        let handle = engine.handle();
        engine.application_mut().handle = Some(handle.clone());
        for key in configured.sessions {
            let config = engine.sessions().session(key).map(|session| session.config().clone());
            if let Some(config) = config {
                engine.application_mut().know(key, &config);
            }
        }
        let addresses = configured.addresses.iter();
        Ok(Self {
            host,
            handle,
            stop: Stop::new(),
            engine: Mutex::new(Some(engine)),
            waiting: Mutex::new(Some(sender)),
            receiver: Mutex::new(Some(receiver)),
            addresses: addresses.map(|at| (at.ip().to_string(), at.port())).collect(),
            warnings: settings
                .warnings
                .iter()
                .map(ToString::to_string)
                .chain(configured.unopened.iter().map(ToString::to_string))
                .collect(),
        })
    }

    /// Addresses on which it listens.
    #[getter]
    fn addresses(&self) -> Vec<(String, u16)> {
        self.addresses.clone()
    }

    /// Unknown keys of the settings, and sessions whose store cannot be opened.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Runs the sessions on this thread until `stop`, then logs them out.
    fn run(&self, py: Python<'_>) -> PyResult<()> {
        let Some(mut engine) = lock(&self.engine).take() else {
            return Err(errors::usage(py, "it has run: make another one"));
        };
        let ran = py.detach(|| {
            let ran = engine.run(&self.stop);
            engine.application_mut().tell();
            // The waiting thread ends when all senders are dropped.
            drop(engine);
            drop(lock(&self.waiting).take());
            ran
        });
        ran.map_err(|error| errors::usage(py, &error.to_string()))
    }

    /// Reports the results of sent messages to their senders, until the engine has ended. Run it on a
    /// separate thread.
    fn answer(&self, py: Python<'_>) {
        let Some(receiver) = lock(&self.receiver).take() else { return };
        py.detach(|| {
            for PendingAnswer { answer, sending } in receiver {
                let result = match answer.wait() {
                    Ok(sent) => sent.map_err(|error| error.to_string()),
                    Err(error) => Err(error.to_string()),
                };
                settle(sending, result);
            }
        });
    }

    /// Stops `run`.
    fn stop(&self) {
        self.stop.set();
        // If waking fails, the engine checks for the stop within a second.
        let _: Result<(), HandleError> = self.handle.wake();
    }

    /// Sends a message; the result is reported to `sending`. In the callback for a received message, the sent
    /// message is stored in one step with the receipt of that message.
    fn send(
        &self,
        py: Python<'_>,
        session: usize,
        message: &Bound<'_, PyDict>,
        sending: Py<PyAny>,
    ) -> PyResult<()> {
        let begin_string = lock(&self.host.known).get(session).map(|id| id.begin_string.as_str());
        let begin_string =
            begin_string.ok_or_else(|| errors::usage(py, "the session is not known"))?;
        let outgoing =
            ApplicationMessage::of(py, message, begin_string, &self.host.versions(session))?;
        if let Some((thread, queued)) = &mut *lock(&self.host.outbox)
            && *thread == thread::current().id()
        {
            queued.push(Queued { session, outgoing, sending });
            return Ok(());
        }
        let key = lock(&self.host.keys).get(&session).copied();
        let waiting = lock(&self.waiting).clone();
        match (key, waiting) {
            (Some(key), Some(waiting)) => {
                request(&self.handle, &waiting, key, outgoing, sending);
                Ok(())
            }
            (_, None) => Err(errors::usage(py, "the engine has ended")),
            (None, _) => Err(errors::usage(py, "the counterparty has not logged on yet")),
        }
    }

    /// Ends a session's connection with a Logout.
    fn logout(&self, py: Python<'_>, session: usize, text: String) -> PyResult<()> {
        let key = lock(&self.host.keys).get(&session).copied();
        let Some(key) = key else { return Ok(()) };
        let asked = self.handle.call(move |sessions, now| {
            if let Some(session) = sessions.session_mut(key) {
                session.logout(now, &text);
            }
        });
        // Does not wait for the answer.
        asked.map(drop).map_err(|error| errors::usage(py, &error.to_string()))
    }
}

//! Working with an engine's sessions from other threads.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use tickwire_fix::Writer;
use tickwire_fix_session::{Head, Now, SendError};

use super::sessions::{SessionKey, Sessions};

/// Why an engine does not do what another thread asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandleError {
    /// The engine was dropped. Of a message it is not known then whether it was stored.
    Ended,
    /// More requests wait than [`super::EngineOptions::requests_max`] allows.
    Full,
    /// The engine cannot be woken; it finds the request when it wakes by itself. The words of the
    /// operating system are logged.
    Asleep,
}

impl fmt::Display for HandleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Ended => "the engine has ended",
            Self::Full => "too many requests wait for the engine",
            Self::Asleep => "the engine cannot be woken",
        })
    }
}

impl std::error::Error for HandleError {}

/// The result of a request. Dropped, the request is done all the same.
#[derive(Debug)]
#[must_use = "the request is done without it, but nobody sees whether it went well"]
pub struct Answer<R>(oneshot::Receiver<R>);

impl<R> Answer<R> {
    /// Waits on this thread.
    ///
    /// # Errors
    /// [`HandleError::Ended`].
    pub fn wait(self) -> Result<R, HandleError> {
        self.0.recv().map_err(|_| HandleError::Ended)
    }

    /// Waits in a task of any async runtime.
    ///
    /// # Errors
    /// [`HandleError::Ended`].
    pub async fn received(self) -> Result<R, HandleError> {
        self.0.await.map_err(|_| HandleError::Ended)
    }
}

/// What is done on the engine's thread.
trait Request: Send {
    fn act(&mut self, sessions: &mut Sessions, now: Now);

    /// Called when what was done is stored, and with the socket as far as the peer reads.
    fn answer(self: Box<Self>, sessions: &Sessions);
}

struct Call<F, R> {
    act: Option<F>,
    result: Option<R>,
    answer: oneshot::Sender<R>,
}

impl<F, R> Request for Call<F, R>
where
    F: FnOnce(&mut Sessions, Now) -> R + Send,
    R: Send,
{
    fn act(&mut self, sessions: &mut Sessions, now: Now) {
        self.result = self.act.take().map(|act| act(sessions, now));
    }

    fn answer(self: Box<Self>, _: &Sessions) {
        if let Some(result) = self.result {
            // Whoever asked need not listen.
            let _ = self.answer.send(result);
        }
    }
}

struct SendFields<F> {
    session: SessionKey,
    msg_type: String,
    write: F,
    result: Result<u64, SendError>,
    answer: oneshot::Sender<Result<u64, SendError>>,
}

impl<F> Request for SendFields<F>
where
    F: for<'w> FnMut(Writer<'w>) -> Writer<'w> + Send,
{
    fn act(&mut self, sessions: &mut Sessions, now: Now) {
        let head = Head::new(&self.msg_type);
        self.result = sessions.send_fields(self.session, now, &head, &mut self.write);
    }

    fn answer(self: Box<Self>, sessions: &Sessions) {
        let result = match sessions.store_failure(self.session) {
            Some(error) if self.result.is_ok() => Err(SendError::Store(error)),
            _ => self.result,
        };
        let _ = self.answer.send(result);
    }
}

/// Works with an engine's sessions from any thread. Clones are handles of the same engine.
///
/// Requests of one thread are done in their order, on the engine's thread, which is woken for them.
#[derive(Clone)]
pub struct EngineHandle {
    requests: SyncSender<Box<dyn Request>>,
    wake: Arc<Wake>,
}

impl fmt::Debug for EngineHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("EngineHandle").finish_non_exhaustive()
    }
}

struct Wake {
    waker: mio::Waker,
    /// Whether the engine was woken and has not looked yet: one wake-up is enough for all requests until
    /// it does.
    is_woken: AtomicBool,
    /// Whether the engine looks all the time.
    is_busy: bool,
}

impl Wake {
    fn wake(&self) -> io::Result<()> {
        if self.is_woken.swap(true, Ordering::AcqRel) || self.is_busy {
            return Ok(());
        }
        self.waker.wake()
    }
}

impl EngineHandle {
    fn request(&self, request: Box<dyn Request>) -> Result<(), HandleError> {
        self.requests.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => HandleError::Full,
            TrySendError::Disconnected(_) => HandleError::Ended,
        })?;
        self.wake()
    }

    /// Ends the sleep of the engine, so that its application's
    /// [`handle_turn`](super::Application::handle_turn) is called.
    ///
    /// # Errors
    /// [`HandleError::Asleep`].
    pub fn wake(&self) -> Result<(), HandleError> {
        self.wake.wake().map_err(|error| {
            tracing::error!("an engine cannot be woken: {error}");
            HandleError::Asleep
        })
    }

    /// Does something with the sessions on the engine's thread. The answer comes when everything that
    /// `act` sent is stored.
    ///
    /// # Errors
    /// [`HandleError`]: nothing is done.
    pub fn call<R: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Sessions, Now) -> R + Send + 'static,
    ) -> Result<Answer<R>, HandleError> {
        let (answer, receiver) = oneshot::channel();
        self.request(Box::new(Call { act: Some(act), result: None, answer }))?;
        Ok(Answer(receiver))
    }

    /// Sends a message of the application, as [`Sessions::send_fields`] does. The answer, its MsgSeqNum,
    /// comes when the message is stored: from then on it is not lost, whatever ends.
    ///
    /// # Errors
    /// [`HandleError`]: nothing is sent. The answer is an error if the session does not take the message
    /// or the store failed.
    pub fn send(
        &self,
        session: SessionKey,
        msg_type: &str,
        write: impl for<'w> FnMut(Writer<'w>) -> Writer<'w> + Send + 'static,
    ) -> Result<Answer<Result<u64, SendError>>, HandleError> {
        let (answer, receiver) = oneshot::channel();
        let result = Err(SendError::NotLoggedOn);
        let msg_type = msg_type.to_owned();
        self.request(Box::new(SendFields { session, msg_type, write, result, answer }))?;
        Ok(Answer(receiver))
    }
}

/// The engine's end of its handles.
pub(super) struct Requests {
    pub handle: EngineHandle,
    receiver: Receiver<Box<dyn Request>>,
    /// Done, but what they sent may not be stored yet.
    done: Vec<Box<dyn Request>>,
}

impl Requests {
    pub fn new(waker: mio::Waker, requests_max: usize, is_busy: bool) -> Self {
        let (requests, receiver) = sync_channel(requests_max);
        let wake = Arc::new(Wake { waker, is_woken: AtomicBool::new(false), is_busy });
        Self { handle: EngineHandle { requests, wake }, receiver, done: Vec::new() }
    }

    /// Does what is asked for, `most` at a time. Returns whether there may be more.
    pub fn act(&mut self, sessions: &mut Sessions, now: Now, most: usize) -> bool {
        if !self.handle.wake.is_woken.swap(false, Ordering::AcqRel) {
            return false;
        }
        for mut request in self.receiver.try_iter().take(most) {
            request.act(sessions, now);
            self.done.push(request);
        }
        let is_more = self.done.len() == most;
        if is_more {
            self.handle.wake.is_woken.store(true, Ordering::Release);
        }
        is_more
    }

    /// Answers those that were done, whose effects are stored now.
    pub fn answer(&mut self, sessions: &Sessions) {
        self.done.drain(..).for_each(|request| request.answer(sessions));
    }
}

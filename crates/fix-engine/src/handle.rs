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
    /// The engine was dropped or has been shut down. It is unknown whether the request was done before.
    Ended,
    /// More requests wait than [`super::EngineOptions::requests_max`] allows; this one is not done.
    Full,
    /// A store could not keep what was done. Of which session is logged.
    Store,
    /// The engine cannot be woken; it looks by itself within a second. The words of the operating system
    /// are logged.
    WakeFailed,
}

impl fmt::Display for HandleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Ended => "the engine has ended",
            Self::Full => "too many requests are pending",
            Self::Store => "a message store failed",
            Self::WakeFailed => "the engine cannot be woken",
        })
    }
}

impl std::error::Error for HandleError {}

/// The result of a request. Dropped, the request is done all the same.
#[derive(Debug)]
#[must_use = "the engine executes the request even if the result is dropped, but errors are then lost"]
pub struct Answer<R>(oneshot::Receiver<Result<R, HandleError>>);

impl<R> Answer<R> {
    /// Waits on this thread, which must not be the engine's: in a callback of the application it would wait
    /// for itself.
    ///
    /// # Errors
    /// [`HandleError::Ended`], [`HandleError::Store`].
    pub fn wait(self) -> Result<R, HandleError> {
        self.0.recv().unwrap_or(Err(HandleError::Ended))
    }

    /// Waits in a task of any async runtime.
    ///
    /// # Errors
    /// [`HandleError::Ended`], [`HandleError::Store`].
    pub async fn received(self) -> Result<R, HandleError> {
        self.0.await.unwrap_or(Err(HandleError::Ended))
    }
}

/// Request that is executed on the engine's thread.
trait Request: Send {
    fn act(&mut self, sessions: &mut Sessions, now: Now);

    /// Called when what was done is stored, and with the socket as far as the peer reads.
    fn answer(self: Box<Self>, sessions: &Sessions);
}

struct Call<F, R> {
    act: Option<F>,
    result: Option<R>,
    answer: oneshot::Sender<Result<R, HandleError>>,
}

impl<F, R> Request for Call<F, R>
where
    F: FnOnce(&mut Sessions, Now) -> R + Send,
    R: Send,
{
    fn act(&mut self, sessions: &mut Sessions, now: Now) {
        self.result = self.act.take().map(|act| act(sessions, now));
    }

    fn answer(self: Box<Self>, sessions: &Sessions) {
        // The sessions it used are unknown, so a failure of any store is reported too.
        let result = match sessions.has_store_failure() {
            true => Err(HandleError::Store),
            false => self.result.ok_or(HandleError::Ended),
        };
        // Whoever asked need not listen.
        let _ = self.answer.send(result);
    }
}

struct SendFields<F> {
    session: SessionKey,
    msg_type: String,
    write: F,
    result: Result<u64, SendError>,
    answer: oneshot::Sender<Result<Result<u64, SendError>, HandleError>>,
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
        let _ = self.answer.send(Ok(result));
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
    /// True if the engine was woken and has not run yet: one wake-up is enough for all requests
    /// until then.
    is_woken: AtomicBool,
    /// True if the engine polls without sleeping.
    is_busy: bool,
    /// True if the engine was shut down.
    has_ended: AtomicBool,
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
        // Looked at after the request is there: either the end finds it, or it finds the end.
        if self.wake.has_ended.load(Ordering::SeqCst) {
            return Err(HandleError::Ended);
        }
        // The request is there: an engine that cannot be woken finds it within a second.
        let _ = self.wake();
        Ok(())
    }

    /// Ends the sleep of the engine, so that its application's
    /// [`handle_turn`](super::Application::handle_turn) is called.
    ///
    /// # Errors
    /// [`HandleError::WakeFailed`].
    pub fn wake(&self) -> Result<(), HandleError> {
        self.wake.wake().map_err(|error| {
            tracing::error!("an engine cannot be woken: {error}");
            HandleError::WakeFailed
        })
    }

    /// Does something with the sessions on the engine's thread. The answer comes when what `act` sent is
    /// committed to the sessions' stores; it is [`HandleError::Store`] if a store failed in the same turn.
    ///
    /// # Errors
    /// [`HandleError::Full`]: nothing is done. [`HandleError::Ended`]: it may have been done before the engine
    /// ended.
    pub fn call<R: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Sessions, Now) -> R + Send + 'static,
    ) -> Result<Answer<R>, HandleError> {
        let (answer, receiver) = oneshot::channel();
        self.request(Box::new(Call { act: Some(act), result: None, answer }))?;
        Ok(Answer(receiver))
    }

    /// Sends a message of the application, as [`Sessions::send_fields`] does. The answer, its MsgSeqNum,
    /// comes when the message is committed to the session's store, and is as safe then as that store makes
    /// it: one in memory ends with the process, one on disk survives it.
    ///
    /// # Errors
    /// [`HandleError::Full`]: nothing is sent. [`HandleError::Ended`]: the message may have been stored before
    /// the engine ended. The answer is an error if the session does not take the message or the store failed.
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
        let (is_woken, has_ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let wake = Arc::new(Wake { waker, is_woken, is_busy, has_ended });
        Self { handle: EngineHandle { requests, wake }, receiver, done: Vec::new() }
    }

    /// Does what is requested, `most` at a time. Returns whether there may be more.
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

    /// Takes requests, again after an end.
    pub fn begin(&self) {
        self.handle.wake.has_ended.store(false, Ordering::SeqCst);
    }

    /// Refuses requests from now on, and those that wait.
    pub fn end(&mut self) {
        self.handle.wake.has_ended.store(true, Ordering::SeqCst);
        self.receiver.try_iter().for_each(drop);
    }

    /// Answers those that were done, whose effects are stored now.
    pub fn answer(&mut self, sessions: &Sessions) {
        self.done.drain(..).for_each(|request| request.answer(sessions));
    }
}

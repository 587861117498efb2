//! Access to an engine's sessions from other threads.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use tickwire_fix::Writer;
use tickwire_fix_session::{Now, OutgoingHeader, SendError};

use super::sessions::{SessionKey, Sessions};
use super::wake::Wake;

/// The reason why a request of another thread failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandleError {
    /// The engine was dropped or shut down. It is unknown whether it executed the request before.
    Ended,
    /// The limit [`super::EngineOptions::requests_max`] is reached; the request is not executed.
    Full,
    /// The request was executed, but a store failed. The event log names the session.
    Store,
    /// The engine cannot be woken; it finds the request by itself within a second. The operating
    /// system's error is logged.
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

/// The pending result of a request. Dropping it does not cancel the request.
#[derive(Debug)]
#[must_use = "the engine executes the request even if the result is dropped, but errors are then lost"]
pub struct Answer<R>(oneshot::Receiver<Result<R, HandleError>>);

impl<R> Answer<R> {
    /// Blocks this thread until the result is there. Do not call it on the engine's thread, such as
    /// in a callback of the application: it would wait for itself.
    ///
    /// # Errors
    /// [`HandleError::Ended`], [`HandleError::Store`].
    pub fn wait(self) -> Result<R, HandleError> {
        self.0.recv().unwrap_or(Err(HandleError::Ended))
    }

    /// Waits for the result in a task of any async runtime.
    ///
    /// # Errors
    /// [`HandleError::Ended`], [`HandleError::Store`].
    pub async fn received(self) -> Result<R, HandleError> {
        self.0.await.unwrap_or(Err(HandleError::Ended))
    }
}

/// A request that is executed on the engine's thread.
trait EngineRequest: Send {
    fn act(&mut self, sessions: &mut Sessions, now: Now);

    /// Called when the effects are stored and the output is written as far as the peer reads.
    fn answer(self: Box<Self>, sessions: &Sessions);
}

struct Call<F, R> {
    act: Option<F>,
    result: Option<R>,
    answer: oneshot::Sender<Result<R, HandleError>>,
}

impl<F, R> EngineRequest for Call<F, R>
where
    F: FnOnce(&mut Sessions, Now) -> R + Send,
    R: Send,
{
    fn act(&mut self, sessions: &mut Sessions, now: Now) {
        self.result = self.act.take().map(|act| act(sessions, now));
    }

    fn answer(self: Box<Self>, sessions: &Sessions) {
        // The sessions that it used are unknown, so a failure of any store is reported.
        let result = match sessions.has_store_failure() {
            true => Err(HandleError::Store),
            false => self.result.ok_or(HandleError::Ended),
        };
        // The caller may have dropped the answer.
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

impl<F> EngineRequest for SendFields<F>
where
    F: for<'w> FnMut(Writer<'w>) -> Writer<'w> + Send,
{
    fn act(&mut self, sessions: &mut Sessions, now: Now) {
        let head = OutgoingHeader::new(&self.msg_type);
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

/// Access to an engine's sessions from any thread. Clones refer to the same engine.
///
/// The engine's thread is woken for requests and executes those of one thread in their order.
#[derive(Clone)]
pub struct EngineHandle {
    requests: SyncSender<QueuedRequest>,
    waker: Arc<EngineWaker>,
}

/// A request with the run of the engine in which it was queued.
struct QueuedRequest {
    run: u64,
    request: Box<dyn EngineRequest>,
}

impl fmt::Debug for EngineHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("EngineHandle").finish_non_exhaustive()
    }
}

struct EngineWaker {
    waker: mio::Waker,
    /// True if the engine polls without sleeping.
    is_busy: bool,
    flags: Wake,
}

impl EngineWaker {
    fn wake(&self) -> io::Result<()> {
        if self.flags.set_woken() && !self.is_busy { self.waker.wake() } else { Ok(()) }
    }
}

impl EngineHandle {
    fn request(&self, request: Box<dyn EngineRequest>) -> Result<(), HandleError> {
        let run = self.waker.flags.run().ok_or(HandleError::Ended)?;
        self.queue(run, request)
    }

    /// Queues a request that belongs to this run.
    fn queue(&self, run: u64, request: Box<dyn EngineRequest>) -> Result<(), HandleError> {
        self.requests.try_send(QueuedRequest { run, request }).map_err(|error| match error {
            TrySendError::Full(_) => HandleError::Full,
            TrySendError::Disconnected(_) => HandleError::Ended,
        })?;
        let is_refused = !self.waker.flags.is_in(run);
        // The request is queued: an engine that cannot be woken finds it within a second. A refused
        // request takes up room until the engine removes it.
        let _ = self.wake();
        if is_refused { Err(HandleError::Ended) } else { Ok(()) }
    }

    /// Wakes the engine, so that it calls [`handle_turn`](super::Application::handle_turn) of its
    /// application.
    ///
    /// # Errors
    /// [`HandleError::WakeFailed`].
    pub fn wake(&self) -> Result<(), HandleError> {
        self.waker.wake().map_err(|error| {
            tracing::error!("an engine cannot be woken: {error}");
            HandleError::WakeFailed
        })
    }

    /// Runs `act` with the sessions on the engine's thread. The answer arrives when the messages
    /// that `act` sent are committed to the sessions' stores; it is [`HandleError::Store`] if a
    /// store failed in the same turn.
    ///
    /// # Errors
    /// [`HandleError::Full`]: `act` is not run. [`HandleError::Ended`]: `act` may have run before
    /// the engine ended.
    pub fn call<R: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Sessions, Now) -> R + Send + 'static,
    ) -> Result<Answer<R>, HandleError> {
        let (answer, receiver) = oneshot::channel();
        self.request(Box::new(Call { act: Some(act), result: None, answer }))?;
        Ok(Answer(receiver))
    }

    /// Sends an application message; see [`Sessions::send_fields`]. The answer is its MsgSeqNum and
    /// arrives when the message is committed to the session's store. A file store then preserves
    /// the message across a restart of the process; a memory store does not.
    ///
    /// # Errors
    /// [`HandleError::Full`]: nothing is sent. [`HandleError::Ended`]: the message may have been
    /// stored before the engine ended. The answer is an error if the session refuses the message or
    /// the store failed.
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
    receiver: Receiver<QueuedRequest>,
    /// Executed requests whose effects may not be stored yet.
    done: Vec<Box<dyn EngineRequest>>,
}

impl Requests {
    pub fn new(waker: mio::Waker, requests_max: usize, is_busy: bool) -> Self {
        let (requests, receiver) = sync_channel(requests_max);
        let waker = Arc::new(EngineWaker { waker, is_busy, flags: Wake::new() });
        Self { handle: EngineHandle { requests, waker }, receiver, done: Vec::new() }
    }

    /// Executes at most `most` requests. Returns true if there may be more.
    pub fn act(&mut self, sessions: &mut Sessions, now: Now, most: usize) -> bool {
        let wake = &self.handle.waker.flags;
        if !wake.take_woken() {
            return false;
        }
        let current = wake.run();
        let mut count = 0;
        for QueuedRequest { run, mut request } in self.receiver.try_iter().take(most) {
            count += 1;
            // The handle refused a request of an earlier run after it was queued.
            if current == Some(run) {
                request.act(sessions, now);
                self.done.push(request);
            }
        }
        let is_more = count == most;
        if is_more {
            wake.set_woken();
        }
        is_more
    }

    /// Accepts requests, also again after [`Requests::end`].
    pub fn begin(&self) {
        self.handle.waker.flags.begin();
    }

    /// Refuses new and pending requests.
    pub fn end(&mut self) {
        self.handle.waker.flags.end();
        self.receiver.try_iter().for_each(drop);
    }

    /// Answers the executed requests, whose effects are now stored.
    pub fn answer(&mut self, sessions: &Sessions) {
        self.done.drain(..).for_each(|request| request.answer(sessions));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request without effects.
    struct Nothing;

    impl EngineRequest for Nothing {
        fn act(&mut self, _: &mut Sessions, _: Now) {}

        fn answer(self: Box<Self>, _: &Sessions) {}
    }

    #[test]
    fn a_refused_request_takes_no_room_in_the_next_run() {
        let poll = mio::Poll::new().expect("a poll");
        let waker = mio::Waker::new(poll.registry(), mio::Token(0)).expect("a waker");
        let mut requests = Requests::new(waker, 1, false);
        let handle = requests.handle.clone();
        // The engine ends while a thread is between reading the run and queueing its request.
        let run = handle.waker.flags.run().expect("runs");
        requests.end();
        assert_eq!(handle.queue(run, Box::new(Nothing)), Err(HandleError::Ended));

        requests.begin();
        requests.act(&mut Sessions::default(), Now { wall_ns: 0, steady_ns: 0 }, 64);
        assert_eq!(handle.request(Box::new(Nothing)), Ok(()));
    }
}

//! One session over one connection as a future, for applications that run on tokio.
//!
//! [`SessionTask`] drives a [`Session`] over any reader and writer: a `TcpStream`, TLS, a pipe. The
//! caller does the listening, connecting, admission, choice of the session and logging.
//! [`Engine`](super::Engine) includes all of these, and serves many sessions on one thread.

use std::fmt;
use std::io;
use std::time::Duration;

use tickwire_fix::Writer;
use tickwire_fix_session::{
    DisconnectReason, Event, Now, OutgoingHeader, SendError, Session, SessionEvent, Store,
    StoreError,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use super::handle::HandleError;
use tickwire_host::clock::{SECOND_NS, monotonic_ns, unix_ns};

/// Bytes read at a time.
const READ_LEN: usize = 64 << 10;
/// Time for the peer to read the last bytes.
const LINGER: Duration = Duration::from_secs(1);
/// Longest wait before the timers are checked, in nanoseconds.
const WAIT_NS: u64 = SECOND_NS;

/// Options of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionTaskOptions {
    /// Seconds after which a peer that reads none of the waiting bytes is disconnected. Default 30.
    pub slow_reader_s: u32,
    /// Time between two syncs of committed data to the disk, for stores that defer them. Default
    /// 100 ms.
    pub sync_interval: Duration,
    /// Capacity of the request queue; senders wait while it is full. Default 1,024.
    pub requests_max: usize,
}

impl Default for SessionTaskOptions {
    fn default() -> Self {
        Self { slow_reader_s: 30, sync_interval: Duration::from_millis(100), requests_max: 1024 }
    }
}

/// The reason why a connection ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum TaskEnd {
    /// The session ended it.
    Session(DisconnectReason),
    /// The peer closed the connection.
    Closed,
    /// The connection failed.
    Connection(io::Error),
}

/// Reports the result of a request once its effects are stored, or storing them failed.
type RequestReply = Box<dyn FnOnce(Result<(), &StoreError>) + Send>;
/// A request to the session.
type SessionRequest<S> = Box<dyn FnOnce(&mut Session<S>, Now) -> RequestReply + Send>;

/// Access to a task's session from other tasks and threads. Clones refer to the same task.
pub struct SessionTaskHandle<S>(mpsc::Sender<SessionRequest<S>>);

impl<S> Clone for SessionTaskHandle<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> fmt::Debug for SessionTaskHandle<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SessionTaskHandle").finish_non_exhaustive()
    }
}

impl<S: Store + 'static> SessionTaskHandle<S> {
    /// Runs `act` with the session in its task. Returns when the messages that it sent are
    /// committed to the store.
    ///
    /// # Errors
    /// [`HandleError::Ended`]: the task has ended; it is unknown whether `act` ran before.
    /// [`HandleError::Store`]: `act` ran, but its effects are not stored.
    pub async fn call<R: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Session<S>, Now) -> R + Send + 'static,
    ) -> Result<R, HandleError> {
        self.ask(act, |done, stored| stored.map(|()| done).map_err(|_| HandleError::Store)).await?
    }

    /// Sends an application message. Returns its MsgSeqNum when it is committed to the store.
    ///
    /// # Errors
    /// [`HandleError::Ended`]: the task has ended; it is unknown whether the message was stored
    /// before. The inner error is that of the session, which refused the message, or of its store.
    pub async fn send(
        &self,
        msg_type: &str,
        write: impl for<'w> FnMut(Writer<'w>) -> Writer<'w> + Send + 'static,
    ) -> Result<Result<u64, SendError>, HandleError> {
        let msg_type = msg_type.to_owned();
        self.ask(
            move |session, now| session.send_fields(now, &OutgoingHeader::new(&msg_type), write),
            |sent, stored| match stored {
                Ok(()) => sent,
                Err(StoreError { doing, source }) => {
                    let source = io::Error::new(source.kind(), source.to_string());
                    sent.and(Err(StoreError::new(doing, source).into()))
                }
            },
        )
        .await
    }

    /// Sends a request to the task. `answer` converts its result when the effects are stored, or
    /// storing them failed.
    async fn ask<D: Send + 'static, R: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Session<S>, Now) -> D + Send + 'static,
        answer: impl FnOnce(D, Result<(), &StoreError>) -> R + Send + 'static,
    ) -> Result<R, HandleError> {
        let (sender, receiver) = oneshot::channel();
        let request: SessionRequest<S> = Box::new(move |session, now| {
            let done = act(session, now);
            // The caller may have stopped waiting.
            Box::new(move |stored| drop(sender.send(answer(done, stored))))
        });
        self.0.send(request).await.map_err(|_| HandleError::Ended)?;
        receiver.await.map_err(|_| HandleError::Ended)
    }
}

/// Receives lines of the message log.
type WriteLog = Box<dyn FnMut(&[u8]) + Send>;

/// Drives a session over a connection.
pub struct SessionTask<S> {
    session: Session<S>,
    options: SessionTaskOptions,
    handle: SessionTaskHandle<S>,
    requests: mpsc::Receiver<SessionRequest<S>>,
    write_log: WriteLog,
}

impl<S: fmt::Debug> fmt::Debug for SessionTask<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut found = out.debug_struct("SessionTask");
        found
            .field("session", &self.session)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// The event that ended a wait.
enum Turn<S> {
    Read(io::Result<usize>),
    Written(io::Result<usize>),
    Request(SessionRequest<S>),
    Time,
}

fn now() -> Now {
    Now { wall_ns: unix_ns(), steady_ns: monotonic_ns() }
}

/// Waits until `at_ns` on the steady clock, at most [`WAIT_NS`].
async fn sleep_until(at_ns: u64) {
    let wait_ns = at_ns.saturating_sub(monotonic_ns()).min(WAIT_NS);
    tokio::time::sleep(Duration::from_nanos(wait_ns)).await;
}

/// Writes some bytes and returns how many; flushes if there are none.
async fn write(writer: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<usize> {
    if bytes.is_empty() {
        return writer.flush().await.map(|()| 0);
    }
    match writer.write(bytes).await? {
        0 => Err(io::ErrorKind::WriteZero.into()),
        len => Ok(len),
    }
}

impl<S: Store + 'static> SessionTask<S> {
    /// Creates a task for a disconnected session.
    pub fn new(session: Session<S>, options: SessionTaskOptions) -> Self {
        let (sender, requests) = mpsc::channel(options.requests_max.max(1));
        let write_log = Box::new(|_: &[u8]| {});
        Self { session, options, handle: SessionTaskHandle(sender), requests, write_log }
    }

    /// Passes the lines of the message log to `write_log`, if the session's configuration enables
    /// the log. Without a function they are dropped.
    #[must_use]
    pub fn log(self, write_log: impl FnMut(&[u8]) + Send + 'static) -> Self {
        Self { write_log: Box::new(write_log), ..self }
    }

    /// Returns a handle for other tasks and threads. While there is no connection, requests wait
    /// for the next one.
    pub fn handle(&self) -> SessionTaskHandle<S> {
        self.handle.clone()
    }

    /// Returns the session.
    pub const fn session(&self) -> &Session<S> {
        &self.session
    }

    /// Runs the session over a connection until that ends. Call it again for the next connection.
    /// `handle_event` receives the events and may answer through them.
    ///
    /// Dropping the future closes the connection without a Logout; the session continues with the
    /// next connection.
    pub async fn run<T: AsyncRead + AsyncWrite>(
        &mut self,
        connection: T,
        mut handle_event: impl FnMut(Event<'_, S>),
    ) -> TaskEnd {
        let (mut reader, mut writer) = tokio::io::split(connection);
        self.session.handle_connected(now());
        let end = self.drive(&mut reader, &mut writer, &mut handle_event).await;
        // Closing must not wait for a peer that does not read.
        let _ = tokio::time::timeout(LINGER, writer.shutdown()).await;
        self.session.handle_disconnected(now());
        while let Some(event) = self.session.poll_event(now()) {
            handle_event(event);
        }
        self.session.sync();
        self.session.take_log(|lines| (self.write_log)(lines));
        end
    }

    async fn drive(
        &mut self,
        reader: &mut (impl AsyncRead + Unpin),
        writer: &mut (impl AsyncWrite + Unpin),
        handle_event: &mut impl FnMut(Event<'_, S>),
    ) -> TaskEnd {
        let slow_ns = u64::from(self.options.slow_reader_s) * SECOND_NS;
        let sync_ns = u64::try_from(self.options.sync_interval.as_nanos()).unwrap_or(u64::MAX);
        let Self { session, requests, write_log, .. } = self;
        let mut buffer = vec![0; READ_LEN];
        let mut replies: Vec<RequestReply> = Vec::new();
        let mut ended = None;
        let mut written_ns = monotonic_ns();
        // True if the connection may buffer written bytes.
        let mut is_unflushed = false;
        // Time of the next sync to the disk; never while nothing new is committed.
        let mut sync_at_ns = u64::MAX;
        loop {
            while let Some(event) = session.poll_event(now()) {
                if let Event::Session(SessionEvent::Disconnect(why)) = &event {
                    // Writing the last bytes has a separate timeout.
                    ended.get_or_insert((why.clone(), monotonic_ns().saturating_add(SECOND_NS)));
                }
                handle_event(event);
            }
            let wakes_ns = session.poll_timeout().unwrap_or(u64::MAX).min(sync_at_ns);
            let pending = match session.poll_transmit(now()) {
                Ok(pending) => {
                    replies.drain(..).for_each(|reply| reply(Ok(())));
                    pending
                }
                Err(error) => {
                    replies.drain(..).for_each(|reply| reply(Err(&error)));
                    return TaskEnd::Session(DisconnectReason::Store(error.to_string()));
                }
            };
            let is_flush = pending.is_empty();
            let is_blocked = !is_flush || is_unflushed;
            let gives_up_ns = match &ended {
                Some((why, _)) if !is_blocked => return TaskEnd::Session(why.clone()),
                Some((_, until_ns)) => *until_ns,
                None if is_blocked => written_ns.saturating_add(slow_ns),
                None => u64::MAX,
            };
            let turn = tokio::select! {
                written = write(writer, pending), if is_blocked => Turn::Written(written),
                read = reader.read(&mut buffer), if ended.is_none() => Turn::Read(read),
                Some(request) = requests.recv(), if ended.is_none() => Turn::Request(request),
                () = sleep_until(wakes_ns.min(gives_up_ns)) => Turn::Time,
            };
            let now = now();
            if !is_blocked {
                written_ns = now.steady_ns;
            }
            if !matches!(turn, Turn::Time) {
                sync_at_ns = sync_at_ns.min(now.steady_ns.saturating_add(sync_ns));
            }
            match turn {
                Turn::Read(Ok(0)) => return TaskEnd::Closed,
                Turn::Read(Ok(len)) => {
                    session.handle_bytes(buffer.get(..len).unwrap_or_default());
                }
                Turn::Written(Ok(len)) => {
                    is_unflushed = !is_flush;
                    session.handle_transmitted(len);
                    written_ns = now.steady_ns;
                }
                Turn::Read(Err(error)) | Turn::Written(Err(error)) => {
                    return TaskEnd::Connection(error);
                }
                Turn::Request(request) => replies.push(request(session, now)),
                Turn::Time => {}
            }
            session.take_log(|lines| write_log(lines));
            session.handle_timeout(now);
            if now.steady_ns >= sync_at_ns {
                session.sync();
                sync_at_ns = u64::MAX;
            }
            if now.steady_ns >= gives_up_ns {
                return TaskEnd::Session(
                    ended.map_or(DisconnectReason::SlowReader, |(why, _)| why),
                );
            }
        }
    }
}

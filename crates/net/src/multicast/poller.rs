//! Waiting for any number of sockets.

use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};

use crate::{HostError, SystemOperation};

/// Waits shorter than this are not rounded up to milliseconds: a hold time of 2 ms must not become 3.
const COARSE_FROM: Duration = Duration::from_millis(10);

/// Waits for sockets to become readable (epoll, level-triggered). The cost depends on the number of
/// ready sockets, not on the number of all sockets.
#[derive(Debug)]
pub struct Poller {
    epoll: Epoll,
    /// Room for one more event than there are sockets, so that one wait reports every readable
    /// socket.
    events: Vec<EpollEvent>,
}

impl Poller {
    /// Creates a poller without sockets.
    ///
    /// # Errors
    /// [`SystemOperation::Open`] with the operating system's error.
    pub fn new() -> Result<Self, HostError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC);
        let epoll = epoll.map_err(|error| HostError::of(SystemOperation::Open, error.into()))?;
        Ok(Self { epoll, events: vec![EpollEvent::empty()] })
    }

    /// Adds a socket, whose events carry `token`. Closing the socket removes it.
    ///
    /// # Errors
    /// [`SystemOperation::Wait`] with the operating system's error, for example if the socket was already
    /// added.
    pub fn add(&mut self, socket: impl AsFd, token: u64) -> Result<(), HostError> {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, token);
        self.epoll.add(socket, event).map_err(failed)?;
        self.events.push(EpollEvent::empty());
        Ok(())
    }

    /// Waits for `timeout` at most, or not at all if it is zero. Returns the tokens of all readable
    /// sockets; none if a signal arrived.
    ///
    /// # Errors
    /// [`SystemOperation::Wait`] with the operating system's error.
    pub fn wait(&mut self, timeout: Duration) -> Result<impl Iterator<Item = u64>, HostError> {
        let millis = if timeout >= COARSE_FROM || timeout.is_zero() {
            PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX)
        } else {
            // epoll_wait counts milliseconds, so this first waits, in nanoseconds, until epoll has
            // an event.
            let mut descriptors = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
            match ppoll(&mut descriptors, Some(timeout.into()), None) {
                Ok(_) | Err(nix::Error::EINTR) => PollTimeout::ZERO,
                Err(error) => return Err(failed(error)),
            }
        };
        let count = match self.epoll.wait(&mut self.events, millis) {
            Err(nix::Error::EINTR) => 0,
            count => count.map_err(failed)?,
        };
        Ok(self.events.iter().take(count).map(EpollEvent::data))
    }
}

fn failed(error: nix::Error) -> HostError {
    HostError::of(SystemOperation::Wait, error.into())
}

//! An interface that receives by AF_XDP, and the endpoints of this process that share it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::super::datagram::DatagramFilter;
use super::bpf::{self, Mode};
use super::queue::{QueueFrames, XdpQueue};
use super::{XdpOptions, program, told};

/// Most queues of an interface.
const QUEUES_MAX: u32 = 64;
/// Most endpoints of an interface. The program compares a packet with one after the other.
const ENDPOINTS_MAX: u32 = 128;

/// An interface with its program, which redirects the packets of the endpoints.
#[derive(Debug)]
pub(super) struct XdpInterface {
    /// Detaches the program when it is closed.
    link: OwnedFd,
    /// Sockets by slot of the endpoint and queue.
    sockets: OwnedFd,
    queues: Vec<Arc<QueueFrames>>,
    options: XdpOptions,
    mode: Mode,
    /// Endpoints by slot.
    endpoints: Mutex<Vec<Option<DatagramFilter>>>,
}

/// The network namespace and the index of an interface.
type InterfaceKey = (PathBuf, u32);

/// The interfaces of this process.
static INTERFACES: Mutex<Vec<(InterfaceKey, Weak<XdpInterface>)>> = Mutex::new(Vec::new());

impl XdpInterface {
    /// Returns the interface with this index; opens it if no endpoint of this process has done so.
    pub(super) fn shared(index: u32, options: XdpOptions) -> io::Result<Arc<Self>> {
        // The namespace of this thread: indexes of others may be equal.
        let key = (fs::read_link("/proc/thread-self/ns/net")?, index);
        let mut interfaces = INTERFACES.lock().unwrap_or_else(PoisonError::into_inner);
        interfaces.retain(|(_, interface)| interface.strong_count() > 0);
        let found = interfaces.iter().find(|(of, _)| *of == key);
        if let Some(interface) = found.and_then(|(_, interface)| interface.upgrade()) {
            if interface.options != options {
                let text = "the interface already receives by AF_XDP with other options";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            return Ok(interface);
        }
        let interface = Arc::new(Self::open(index, options)?);
        interfaces.push((key, Arc::downgrade(&interface)));
        Ok(interface)
    }

    fn open(index: u32, options: XdpOptions) -> io::Result<Self> {
        let XdpOptions { frames, frame_bytes, mode } = options;
        let sockets = bpf::create_socket_map(ENDPOINTS_MAX * QUEUES_MAX)
            .map_err(|error| told("make a BPF map", error))?;
        let program = load(&sockets, &[])?;
        let attach = |mode| bpf::attach(program.as_fd(), index, mode).map(|link| (link, mode));
        let (link, mode) = match mode {
            Some(mode) => attach(mode),
            None => attach(Mode::Driver).or_else(|_| attach(Mode::Generic)),
        }
        .map_err(|error| told(attach_failure(&error), error))?;
        let queues = open_queues(index, (frames, frame_bytes), mode)?;
        tracing::warn!(
            "AF_XDP ({mode:?} mode): other sockets of this host no longer receive the packets of the endpoints"
        );
        let endpoints = Mutex::new(Vec::new());
        Ok(Self { link, sockets, queues, options, mode, endpoints })
    }

    /// Returns the hook of the program.
    pub(super) const fn mode(&self) -> Mode {
        self.mode
    }

    /// Redirects the `wanted` packets to a socket for each queue. Returns these sockets and the slot of the endpoint.
    pub(super) fn add(&self, wanted: DatagramFilter) -> io::Result<(usize, Vec<XdpQueue>)> {
        let mut endpoints = self.endpoints();
        if endpoints.iter().flatten().any(|other| overlaps(other, &wanted)) {
            let text = "another receiver of this process takes the packets of this group and port by AF_XDP";
            return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
        }
        let free = endpoints.iter().position(Option::is_none);
        let slot = free.unwrap_or(endpoints.len());
        if slot >= ENDPOINTS_MAX as usize {
            let text = format!("an interface takes {ENDPOINTS_MAX} endpoints at most");
            return Err(io::Error::other(text));
        }
        let opened = self.queues.iter().map(|frames| XdpQueue::open(frames.clone()));
        let queues: Vec<XdpQueue> = opened
            .collect::<io::Result<_>>()
            .map_err(|error| told("open an AF_XDP socket", error))?;
        for (key, queue) in (first_key(slot)..).zip(&queues) {
            bpf::add_socket(self.sockets.as_fd(), key, queue.as_fd())
                .map_err(|error| told("put a socket into the BPF map", error))?;
        }
        match endpoints.get_mut(slot) {
            Some(free) => *free = Some(wanted),
            None => endpoints.push(Some(wanted)),
        }
        if let Err(error) = self.replace_program(&endpoints) {
            endpoints[slot] = None;
            return Err(error);
        }
        Ok((slot, queues))
    }

    /// Ends the redirection to an endpoint, before its sockets are closed.
    pub(super) fn remove(&self, slot: usize) {
        let mut endpoints = self.endpoints();
        endpoints[slot] = None;
        // If this fails, the old program stays. It then passes the packets to the kernel as well,
        // because closed sockets leave the map.
        let _ = self.replace_program(&endpoints);
    }

    fn endpoints(&self) -> MutexGuard<'_, Vec<Option<DatagramFilter>>> {
        self.endpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace_program(&self, endpoints: &[Option<DatagramFilter>]) -> io::Result<()> {
        let program = load(&self.sockets, endpoints)?;
        bpf::replace(self.link.as_fd(), program.as_fd())
            .map_err(|error| told("replace the XDP program", error))
    }
}

/// True if some packet belongs to both.
fn overlaps(one: &DatagramFilter, other: &DatagramFilter) -> bool {
    let are_sources_apart =
        one.source.is_some() && other.source.is_some() && one.source != other.source;
    one.group == other.group && one.port == other.port && !are_sources_apart
}

/// Returns the key of the endpoint's socket for the first queue.
fn first_key(slot: usize) -> u32 {
    slot as u32 * QUEUES_MAX
}

/// Loads the program for these endpoints.
fn load(sockets: &OwnedFd, endpoints: &[Option<DatagramFilter>]) -> io::Result<OwnedFd> {
    let with_slots = endpoints.iter().enumerate();
    let keyed: Vec<(u32, DatagramFilter)> =
        with_slots.filter_map(|(slot, wanted)| Some((first_key(slot), (*wanted)?))).collect();
    bpf::load(&program::redirect(&keyed, sockets.as_raw_fd(), QUEUES_MAX))
        .map_err(|error| told("load the XDP program", error))
}

/// Returns the action that failed, with the cause if the interface already has a program.
fn attach_failure(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EBUSY | libc::EEXIST) => {
            "attach the XDP program: another process receives by AF_XDP at this interface, or it has another XDP program"
        }
        _ => "attach the XDP program",
    }
}

/// Opens all queues of an interface.
fn open_queues(
    interface: u32,
    frames: (u32, usize),
    mode: Mode,
) -> io::Result<Vec<Arc<QueueFrames>>> {
    let mut queues = Vec::new();
    for number in 0..QUEUES_MAX {
        match QueueFrames::open(interface, number, frames, mode) {
            Ok(queue) => queues.push(Arc::new(queue)),
            // There is no queue of this number.
            Err(error) if number > 0 && error.raw_os_error() == Some(libc::EINVAL) => break,
            Err(error) => return Err(told("open an AF_XDP socket", error)),
        }
    }
    Ok(queues)
}

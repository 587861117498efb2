//! Sending packets to a group.

use std::net::SocketAddrV4;

use socket2::{Domain, Protocol, Socket, Type};

use super::Endpoint;
use crate::{HostError, SystemOperation};

/// How packets are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderOptions {
    /// Routers that multicast packets may pass. Default 1: packets stay on the local network.
    pub hops_max: u32,
    /// Send buffer in bytes; `None` keeps the system's default.
    pub send_buffer_bytes: Option<usize>,
}

impl Default for SenderOptions {
    fn default() -> Self {
        Self { hops_max: 1, send_buffer_bytes: None }
    }
}

/// Sends packets to one endpoint.
#[derive(Debug)]
pub struct Sender {
    socket: Socket,
    endpoint: Endpoint,
}

impl Sender {
    /// Opens a socket that sends to `endpoint` through its interface.
    ///
    /// # Errors
    /// [`SystemOperation::Open`] or [`SystemOperation::Configure`] with the operating system's error, for example if
    /// this host does not have the interface address.
    pub fn open(endpoint: Endpoint, options: SenderOptions) -> Result<Self, HostError> {
        let address = endpoint.address();
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))
            .map_err(|source| HostError::at(SystemOperation::Open, address, source))?;
        configure(&socket, endpoint, options)
            .map_err(|source| HostError::at(SystemOperation::Configure, address, source))?;
        Ok(Self { socket, endpoint })
    }

    /// Returns the destination.
    pub const fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// Sends one packet; waits while the send buffer is full.
    ///
    /// # Errors
    /// [`SystemOperation::Send`] with the operating system's error, for example for a packet longer than UDP
    /// allows.
    pub fn send(&self, packet: &[u8]) -> Result<(), HostError> {
        let address = self.endpoint.address();
        match self.socket.send_to(packet, &address.into()) {
            Ok(_) => Ok(()),
            Err(source) => Err(HostError::at(SystemOperation::Send, address, source)),
        }
    }
}

fn configure(socket: &Socket, endpoint: Endpoint, options: SenderOptions) -> std::io::Result<()> {
    if endpoint.group.is_multicast() {
        socket.set_multicast_if_v4(&endpoint.interface)?;
        socket.set_multicast_loop_v4(true)?;
        socket.set_multicast_ttl_v4(options.hops_max)?;
    }
    socket.bind(&SocketAddrV4::new(endpoint.interface, 0).into())?;
    if !endpoint.group.is_multicast() {
        is_reached(endpoint)?;
    }
    if let Some(len) = options.send_buffer_bytes {
        socket.set_send_buffer_size(len)?;
    }
    Ok(())
}

/// Refuses a host that is unreachable from the endpoint's interface, such as any other host from
/// loopback. Sends nothing: connecting only looks up the route.
fn is_reached(endpoint: Endpoint) -> std::io::Result<()> {
    let probe = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    probe.bind(&SocketAddrV4::new(endpoint.interface, 0).into())?;
    probe.connect(&endpoint.address().into()).map_err(|error| {
        let (host, interface) = (endpoint.group, endpoint.interface);
        let text =
            format!("{host} cannot be reached from {interface} ({error}): name the interface");
        std::io::Error::new(error.kind(), text)
    })
}

//! Resources that no other run on this machine uses: a directory, a domain, a group and ports.

use crate::failure::Failure;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Domains tried, from 1. Their ports lie below the system's ephemeral ports.
const DOMAINS: u32 = 100;
/// Discovery port of the first participant of a domain. Spec: DDSI-RTPS 2.5 §9.6.2.3.
const PORT_BASE: u32 = 7410;
const PORTS_A_DOMAIN: u32 = 250;

/// Directory and ports of one chain.
#[derive(Debug)]
pub struct DemoPlace {
    directory: PathBuf,
    /// Directory of channels in shared memory.
    pub channels: PathBuf,
    /// DDS domain.
    pub domain: u32,
    /// Group of line A; line B uses the next address.
    pub group: Ipv4Addr,
    /// Port of line A; line B uses the next port.
    pub port: u16,
}

impl DemoPlace {
    /// Finds a free domain and free ports, and creates the directory.
    pub fn find() -> Result<Self, Failure> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let process = std::process::id();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("tickwire-demo-{process}-{count}"));
        std::fs::create_dir_all(&directory)
            .map_err(|error| Failure::file("create", directory.display(), &error))?;
        let start = process.wrapping_mul(7).wrapping_add(count);
        let domain = free_domain(start);
        let [_, _, high, low] = start.to_be_bytes();
        Ok(Self {
            channels: Path::new("/dev/shm").join(format!("tickwire-demo-{process}-{count}")),
            directory,
            domain,
            // Organisation-local scope. The last byte is even, so that line B differs in that byte only.
            group: Ipv4Addr::new(239, 192, high, low & !1),
            port: free_port()?,
        })
    }

    /// A file in the directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, content: &str) -> Result<PathBuf, Failure> {
        let path = self.file(name);
        std::fs::write(&path, content)
            .map_err(|error| Failure::file("write", path.display(), &error))?;
        Ok(path)
    }

    /// Reads a process's report; `None` if it has not written one.
    pub fn read_json(&self, path: &Path) -> Option<serde_json::Value> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }
}

impl Drop for DemoPlace {
    fn drop(&mut self) {
        // A directory that cannot be removed stays among the system's temporary files.
        let _ = std::fs::remove_dir_all(&self.directory);
        let _ = std::fs::remove_dir_all(&self.channels);
    }
}

/// Returns a domain that nobody uses, the first from `start` on.
pub fn free_domain(start: u32) -> u32 {
    let mut domains = (0..DOMAINS).map(|step| 1 + start.wrapping_add(step) % DOMAINS);
    domains.find(|&domain| is_free(domain)).unwrap_or(1)
}

/// True if no process on this machine is the first participant of the domain.
fn is_free(domain: u32) -> bool {
    let port = u16::try_from(PORT_BASE + PORTS_A_DOMAIN * domain);
    port.is_ok_and(|port| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok())
}

/// Finds a port that is free and whose successor is free too.
pub fn free_port() -> Result<u16, Failure> {
    let refused = |error: std::io::Error| Failure::Usage(format!("no free UDP port: {error}"));
    for _ in 0..64 {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(refused)?;
        let port = socket.local_addr().map_err(refused)?.port();
        let next = port.checked_add(1);
        if next.is_some_and(|next| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, next)).is_ok()) {
            return Ok(port);
        }
    }
    Err(Failure::Usage("no two free UDP ports in a row: is this machine out of ports?".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_places_have_nothing_in_common() {
        let (one, other) = (DemoPlace::find().unwrap(), DemoPlace::find().unwrap());
        assert_ne!(one.directory, other.directory);
        assert_ne!(one.domain, other.domain);
        assert_ne!((one.group, one.port), (other.group, other.port));
        let directory = one.directory.clone();
        drop(one);
        assert!(!directory.exists());
    }

    #[test]
    fn a_domain_in_use_is_not_free() {
        let Some(domain) = (1..=DOMAINS).find(|&domain| is_free(domain)) else {
            panic!("all domains in use");
        };
        let port = (PORT_BASE + PORTS_A_DOMAIN * domain) as u16;
        let _socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap();
        assert!(!is_free(domain));
    }
}

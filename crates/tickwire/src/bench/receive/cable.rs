//! Two network namespaces with a virtual cable for each line. They are created for the measurement and
//! removed after it.

use crate::failure::Failure;
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::net::Ipv4Addr;
use std::process::{self, Command};

/// Prefix of the names of the sending ends; the number of the cable follows.
const NEAR: &str = "near";
/// Prefix of the names of the receiving ends.
const FAR: &str = "far";

/// The namespaces. Dropping this value removes them and everything in them.
#[derive(Debug)]
pub struct Cables {
    sending: String,
    receiving: String,
}

impl Cables {
    /// Creates the namespaces and `lines` cables with addresses at their receiving ends.
    pub fn new(lines: usize) -> Result<Self, Failure> {
        let name = |what: &str| format!("tickwire-{}-{what}", process::id());
        let cables = Self { sending: name("sending"), receiving: name("receiving") };
        for namespace in [&cables.sending, &cables.receiving] {
            ip(&["netns", "add", namespace])?;
        }
        for line in 0..lines {
            let (near, far) = (format!("{NEAR}{line}"), format!("{FAR}{line}"));
            let Self { sending, receiving } = &cables;
            let pair =
                ["netns", "exec", sending, "ip", "link", "add", "name", &near, "type", "veth"];
            ip(&[&pair[..], &["peer", "name", &far, "netns", receiving]].concat())?;
            ip(&["-n", sending, "link", "set", &near, "up"])?;
            let address = format!("{}/24", address(line));
            ip(&["-n", receiving, "addr", "add", &address, "dev", &far])?;
            ip(&["-n", receiving, "link", "set", &far, "up"])?;
        }
        Ok(cables)
    }

    /// Runs the network stack of the receiving ends on this CPU only, as if the card's interrupts went there.
    pub fn steer(&self, lines: usize, cpu: usize) -> Result<(), Failure> {
        for line in 0..lines {
            let file = format!("/sys/class/net/{FAR}{line}/queues/rx-0/rps_cpus");
            let command = format!("echo {:x} > {file}", 1_u64 << cpu);
            // `ip netns exec` shows the namespace's own /sys.
            ip(&["netns", "exec", &self.receiving, "sh", "-c", &command])?;
        }
        Ok(())
    }

    /// Moves the calling thread to the sending side.
    pub fn enter_sending(&self) -> Result<(), Failure> {
        enter(&self.sending)
    }

    /// Moves the calling thread to the receiving side.
    pub fn enter_receiving(&self) -> Result<(), Failure> {
        enter(&self.receiving)
    }
}

/// Returns the address of the receiving end of a line.
pub fn address(line: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, line as u8, 1)
}

/// Returns the name of the sending end of a line.
pub fn near(line: usize) -> String {
    format!("{NEAR}{line}")
}

impl Drop for Cables {
    fn drop(&mut self) {
        for namespace in [&self.sending, &self.receiving] {
            // Fails if the namespace was not created.
            let _ = Command::new("ip").args(["netns", "del", namespace]).output();
        }
    }
}

fn enter(namespace: &str) -> Result<(), Failure> {
    let path = format!("/run/netns/{namespace}");
    let file = File::open(&path).map_err(|error| Failure::file("open", &path, &error))?;
    setns(file, CloneFlags::CLONE_NEWNET).map_err(|error| {
        Failure::Usage(format!("cannot enter the network namespace {path}: {error}"))
    })
}

fn ip(arguments: &[&str]) -> Result<(), Failure> {
    let said = |text: &str| {
        Failure::Usage(format!(
            "cannot create a network namespace: ip {}: {text}. This needs root and the package iproute2",
            arguments.join(" ")
        ))
    };
    let done =
        Command::new("ip").args(arguments).output().map_err(|error| said(&error.to_string()))?;
    if done.status.success() {
        return Ok(());
    }
    Err(said(String::from_utf8_lossy(&done.stderr).trim()))
}

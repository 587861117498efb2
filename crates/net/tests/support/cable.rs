//! A network namespace for one test, with a cable between two of its interfaces.
#![allow(dead_code, reason = "each test file uses a part")]

use std::net::Ipv4Addr;
use std::process::Command;
use std::thread;

use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};
use tickwire_testing::{Need, skip};

/// The address of the receiving interface.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// The ends of the cable, as indexes of interfaces: frames sent from the first arrive at the
/// second.
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    pub near: u32,
    pub far: u32,
}

fn ip(arguments: &str) -> bool {
    let done = Command::new("ip").args(arguments.split(' ')).output();
    done.is_ok_and(|done| done.status.success())
}

/// Runs `test` on a thread with its own namespace, which ends with the thread. Skips the test if
/// this process is not allowed to create a namespace.
pub fn with_cable(test: impl FnOnce(Cable) + Send) {
    let run = || {
        let made = unshare(CloneFlags::CLONE_NEWNET).is_ok()
            && ip("link set lo up")
            && ip("link add name near type veth peer name far")
            && ip("addr add 10.77.0.1/24 dev far")
            && ip("link set near up")
            && ip("link set far up");
        if !made {
            return skip(
                Need::Machine,
                "a network namespace of its own needs root and the command `ip`",
            );
        }
        let index = |name| if_nametoindex(name).unwrap();
        test(Cable { near: index("near"), far: index("far") });
    };
    let ended = thread::scope(|scope| scope.spawn(run).join());
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

//! `tickwire demo --monitor`: a feed whose lines lose packets, a FIX session, and topics over each transport, as processes that
//! one monitor shows.

use super::live::TRANSPORTS;
use super::restarted::{RestartedProcess, words};
use super::rounds::{FeedRounds, RoundFiles};
use super::sessions::DemoSessions;
use super::topics::DemoTopics;
use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::options::MonitorArgs;
use clap::Parser;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;
use tickwire_monitor::{FleetProcess, MonitorTarget};
use tickwire_net::Stop;
use tickwire_telemetry::http::HttpAddress;

/// Packets a second.
const RATE: u32 = 1_000;
/// Percent of packets that lines A and B lose.
const LOSS: &str = "3,2";
/// Interval at which the demo checks whether the user stopped it.
const TICK: Duration = Duration::from_millis(100);

/// The monitor's options, all at their defaults, so that the page is at the address that the demo
/// chooses.
#[derive(Debug, Parser)]
struct MonitorLine {
    #[command(flatten)]
    args: MonitorArgs,
}

/// Beginning of the names of temporary directories. The id of the process that uses one follows.
const DIRECTORY: &str = "tickwire-demo-";

/// Directory of shared memory.
const SHARED_MEMORY: &str = "/dev/shm";

/// Temporary directories, removed when this value is dropped.
pub struct TemporaryDirectories {
    pub files: PathBuf,
    /// Channels in shared memory; processes create it.
    pub channels: PathBuf,
}

impl TemporaryDirectories {
    fn create() -> Result<Self, Failure> {
        let parents = [std::env::temp_dir(), PathBuf::from(SHARED_MEMORY)];
        parents.iter().for_each(|parent| remove_abandoned(parent));
        let [files, channels] =
            parents.map(|parent| parent.join(format!("{DIRECTORY}{}", std::process::id())));
        std::fs::create_dir(&files)
            .map_err(|error| Failure::file("create", files.display(), &error))?;
        Ok(Self { files, channels })
    }

    /// Returns the path of a file in the directory of files.
    pub fn file(&self, name: &str) -> String {
        self.files.join(name).display().to_string()
    }
}

impl Drop for TemporaryDirectories {
    fn drop(&mut self) {
        // If a directory cannot be removed, it leaves only a few megabytes among the temporary files.
        let _ = std::fs::remove_dir_all(&self.files);
        let _ = std::fs::remove_dir_all(&self.channels);
    }
}

/// Removes the directories of demos that were killed. Those of other users cannot be removed and stay.
fn remove_abandoned(parent: &Path) {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(DIRECTORY)?.parse().ok());
        let is_own = process == Some(std::process::id());
        let is_gone = |id: u32| !Path::new("/proc").join(id.to_string()).exists();
        if is_own || process.is_some_and(is_gone) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Sends the rounds of a feed, each by a process of its own. The next round is written while one is sent.
fn send(program: PathBuf, mut rounds: FeedRounds, options: String, seed: u64) -> RestartedProcess {
    let (written, ready) = sync_channel(0);
    // The thread ends when the receiving end is dropped.
    thread::spawn(move || {
        let mut is_wanted = true;
        while is_wanted {
            match rounds.write() {
                Ok(files) => is_wanted = written.send(files).is_ok(),
                Err(failure) => return tell!("tickwire: {}", failure.text().unwrap_or_default()),
            }
        }
    });
    let mut sent = None::<RoundFiles>;
    RestartedProcess::start(program, move || {
        let files = ready.recv().ok()?;
        let RoundFiles { number, feed, snapshots } = &files;
        // Each round loses other packets.
        let seed = seed.wrapping_add(*number);
        let line = format!(
            "multicast -f {} --snapshots {} {options} --seed {seed} --json -",
            feed.display(),
            snapshots.display(),
        );
        if let Some(sent) = sent.replace(files) {
            sent.remove();
        }
        Some(words(&line))
    })
}

/// Generates a feed, sends it on loopback and receives it in a process with a monitor, beside a FIX session and
/// topics. Serves one page over all these processes at `port` until the user stops it. After every `round` packets, a
/// new sending process starts.
pub fn run(port: u16, seed: u64, round: u32) -> Result<Outcome, Failure> {
    let failed = |error: std::io::Error| Failure::Usage(format!("demo: {error}"));
    let stop = Stop::on_signals().map_err(failed)?;
    let program = std::env::current_exe().map_err(failed)?;
    let directory = TemporaryDirectories::create()?;
    let templates = directory.file("templates.xml");
    let rounds = FeedRounds::create(&directory.files, Path::new(&templates), round, seed)?;
    let [_, _, high, low] = std::process::id().to_be_bytes();
    // Organisation-local scope. The last byte is even, so that line B and the snapshots differ in that byte
    // only.
    let lines =
        format!("-a 239.193.{high}.{} -p {} --line-b", low & !3, 21_000 + u16::from(low) * 4);
    let monitor = free_address()?;
    let receive = words(&format!(
        "receive -t {templates} --framing cme {lines} --snapshots --heartbeat-interval 1s --hold 5ms \
         --past-done --quiet --monitor {}",
        monitor.port()
    ));
    let _handler = RestartedProcess::start(program.clone(), move || Some(receive.clone()));
    let options = format!("{lines} --rate {RATE} --loss {LOSS} --duplicate 1 --reorder 1");
    let _feed = send(program.clone(), rounds, options, seed);
    let sessions = DemoSessions::start(&program, &directory.files, seed)?;
    let topics = DemoTopics::start(&program, &directory, seed)?;
    let mut processes = vec![shown("feed", monitor), shown("orders", sessions.monitor())];
    processes.extend(topics.monitors().map(|(name, address)| shown(name, address)));
    let page = MonitorLine::try_parse_from(["demo"])
        .map_err(|error| Failure::Usage(format!("demo: {error}")))?;
    tell!(
        "A feed of {RATE} packets/s whose lines A and B lose {} percent; a FIX session that loses messages and sends them \
         again (token of its administration: {}); topics over {}. Open the monitor; Ctrl-C ends the demo.",
        LOSS.replace(',', " and "),
        sessions.token().display(),
        TRANSPORTS.join(" and "),
    );
    let address = HttpAddress(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let _page = page.args.serve_fleet(address, processes)?;
    while !stop.is_set() {
        thread::sleep(TICK);
    }
    Ok(Outcome::Clean)
}

/// Returns a process as the page shows it.
fn shown(name: &str, address: SocketAddr) -> FleetProcess {
    FleetProcess {
        name: name.to_owned(),
        target: MonitorTarget { address, token: None, tls: None, process: None },
    }
}

/// Returns a free address of the loopback interface.
pub fn free_address() -> Result<SocketAddr, Failure> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|bound| bound.local_addr());
    bound.map_err(|error| Failure::Usage(format!("demo: no port is free: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_processes_that_are_gone_are_removed() {
        let parent =
            std::env::temp_dir().join(format!("tickwire-abandoned-{}", std::process::id()));
        // Larger than any id of a process.
        let names =
            ["tickwire-demo-4294967295", "tickwire-demo-1", "tickwire-demo-x", "other-4294967295"];
        for name in names {
            std::fs::create_dir_all(parent.join(name)).unwrap();
            std::fs::write(parent.join(name).join("feed.bin"), b"x").unwrap();
        }
        remove_abandoned(&parent);
        let left = names.map(|name| parent.join(name).join("feed.bin").exists());
        assert_eq!(left, [false, true, true, true]);
        std::fs::remove_dir_all(parent).unwrap();
    }
}

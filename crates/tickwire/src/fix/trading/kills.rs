//! `tickwire fix soak --kill-every`: server and clients are separate processes that are killed at random
//! moments and restarted. At the end the records of both sides are compared.

use super::ledger::TradingLedger;
use crate::failure::{Failure, Outcome};
use crate::soak::process::SoakProcess;
use fastrand::Rng;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tickwire_net::Stop;

/// Interval at which the processes are checked.
const TICK: Duration = Duration::from_millis(5);
/// Time that the clients may take in addition to twice the time in which their orders are sent.
const GRACE: Duration = Duration::from_secs(60);
const SERVER: &str = "TEX_DLD";

/// Parameters of a run.
pub struct KillPlan {
    pub clients: u32,
    /// Orders per second of each client.
    pub rate: u32,
    pub time: Duration,
    /// Mean time between two kills.
    pub kill_every: Duration,
    pub seed: u64,
    /// Name of the fsync policy.
    pub fsync: String,
    pub folder: PathBuf,
}

/// A process and the arguments to start it.
struct PeerProcess {
    arguments: Vec<String>,
    output: PathBuf,
    process: SoakProcess,
}

impl PeerProcess {
    fn start(arguments: Vec<String>, output: PathBuf) -> Result<Self, Failure> {
        let process = SoakProcess::start(&arguments, &output)?;
        Ok(Self { arguments, output, process })
    }

    fn kill_and_start(&mut self) -> Result<(), Failure> {
        self.process.kill();
        self.process = SoakProcess::start(&self.arguments, &self.output)?;
        Ok(())
    }
}

impl KillPlan {
    fn orders(&self) -> u64 {
        self.time.as_secs().max(1) * u64::from(self.rate)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn server(&self, port: u16) -> Result<PeerProcess, Failure> {
        let store = self.path("server").display().to_string();
        let arguments = ["fix", "server", "--sender", SERVER, "--port", &port.to_string()]
            .into_iter()
            .chain(["--store", &store, "--fsync", &self.fsync])
            .map(str::to_owned)
            .collect();
        PeerProcess::start(arguments, self.path("server.out"))
    }

    fn client(&self, number: u32, port: u16) -> Result<PeerProcess, Failure> {
        let store = self.path("client").display().to_string();
        let journal = self.journal(number).display().to_string();
        let (rate, orders) = (self.rate.to_string(), self.orders().to_string());
        let arguments = ["fix", "client", &format!("127.0.0.1:{port}"), "--target", SERVER]
            .into_iter()
            .chain(["--sender", &client_name(number), "--reliable", "--reconnect", "10ms"])
            .chain(["--orders", &orders, "--rate", &rate, "--journal", &journal])
            .chain(["--store", &store, "--fsync", &self.fsync])
            .map(str::to_owned)
            .collect();
        PeerProcess::start(arguments, self.path(&format!("client{number}.out")))
    }

    fn journal(&self, number: u32) -> PathBuf {
        self.path(&format!("reports{number}"))
    }

    /// Runs all processes until every client is done. Returns the number of kills of the server and of the
    /// clients.
    fn play(&self, stop: &Stop) -> Result<[u64; 2], Failure> {
        let port = free_port()?;
        let mut server = self.server(port)?;
        let mut clients = (0..self.clients)
            .map(|number| self.client(number, port))
            .collect::<Result<Vec<_>, _>>()?;
        let (mut random, mut kills) = (Rng::with_seed(self.seed), [0, 0]);
        let begun = Instant::now();
        let mut next_kill = self.pause(&mut random);
        loop {
            if stop.is_set() {
                return Err(Failure::Data("interrupted: nothing was compared".to_owned()));
            }
            if begun.elapsed() > 2 * self.time + GRACE {
                return Err(Failure::Data("the clients did not finish in time".to_owned()));
            }
            if server.process.has_ended()? {
                return Err(server.process.failure());
            }
            let mut running = Vec::new();
            for client in &mut clients {
                match client.process.has_ended()? {
                    false => running.push(client),
                    true if client.process.is_success() => {}
                    true => return Err(client.process.failure()),
                }
            }
            if running.is_empty() {
                break;
            }
            if begun.elapsed() >= next_kill && begun.elapsed() < self.time {
                next_kill += self.pause(&mut random);
                let side = usize::from(random.bool());
                kills[side] += 1;
                match side {
                    0 => server.kill_and_start()?,
                    _ => {
                        let drawn = random.usize(..running.len());
                        running[drawn].kill_and_start()?;
                    }
                }
            }
            sleep(TICK);
        }
        server.process.kill();
        Ok(kills)
    }

    /// Returns the time to the next kill: 0.5 to 1.5 times the mean.
    fn pause(&self, random: &mut Rng) -> Duration {
        self.kill_every.mul_f64(0.5 + random.f64())
    }

    /// Compares the records of both sides of every session. Returns the number of reports.
    fn compare(&self) -> Result<usize, Failure> {
        (0..self.clients).try_fold(0, |sum, number| {
            let (server_folder, client_folder) = (&self.path("server"), &self.path("client"));
            let (journal, client) = (self.journal(number), &client_name(number));
            let ledger =
                TradingLedger { server_folder, client_folder, journal, server: SERVER, client };
            Ok(sum + ledger.check(self.orders())?)
        })
    }
}

fn client_name(number: u32) -> String {
    format!("CLIENT{number}")
}

fn free_port() -> Result<u16, Failure> {
    let found = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr());
    let address = found.map_err(|error| Failure::Usage(format!("no free port: {error}")))?;
    Ok(address.port())
}

fn make_empty(folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::file("make", folder.display(), &error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    match std::fs::read_dir(folder).map_err(failed)?.next() {
        None => Ok(()),
        Some(_) => Err(Failure::Usage(format!("{} is not empty", folder.display()))),
    }
}

/// Runs the soak. If it fails, its files are kept.
pub fn run(plan: &KillPlan, stop: &Stop) -> Result<Outcome, Failure> {
    make_empty(&plan.folder)?;
    let begun = Instant::now();
    let kept = |failure| match failure {
        Failure::Data(text) => Failure::Data(format!("{text}; see {}", plan.folder.display())),
        other => other,
    };
    let [server, clients] = plan.play(stop).map_err(kept)?;
    let reports = plan.compare().map_err(kept)?;
    let orders = plan.orders() * u64::from(plan.clients);
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{orders} orders and {reports} reports in {:.1} s: each delivered once; server killed {server} times, clients {clients} times",
        begun.elapsed().as_secs_f64()
    )?;
    std::fs::remove_dir_all(&plan.folder)
        .map_err(|error| Failure::file("remove", plan.folder.display(), &error))?;
    // A run without a kill has tested nothing.
    Ok(Outcome::flawed_if(server + clients == 0))
}

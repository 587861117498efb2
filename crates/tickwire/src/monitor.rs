//! `tickwire monitor`: one page over several processes.

use crate::failure::{Failure, Outcome};
use crate::options::MonitorArgs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tickwire_monitor::read_fleet;
use tickwire_net::Stop;
use tickwire_telemetry::http::HttpAddress;

/// Interval at which the command checks whether the user stopped it.
const TICK: Duration = Duration::from_millis(100);
/// Default port.
const PORT: u16 = 9_100;

/// Show several processes on one page.
///
/// Reads the APIs of processes that run with --monitor, and serves one page for all of them: an overview, and
/// the views of each process. The file lists the processes in an array of tables named process:
/// name, address, and token_file if the process needs a token.
#[derive(Debug, clap::Args)]
pub struct MonitorCommandArgs {
    /// File with the processes (TOML).
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    #[command(flatten)]
    monitor: MonitorArgs,
}

/// Runs the command until it is stopped.
pub fn run(args: &MonitorCommandArgs) -> Result<Outcome, Failure> {
    let stop = Stop::on_signals()
        .map_err(|error| Failure::Usage(format!("cannot catch signals: {error}")))?;
    let path = &args.config;
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::file("read", path.display(), &error))?;
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    let processes = read_fleet(&text, directory)
        .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
    let address = HttpAddress(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
    let _server = args.monitor.serve_fleet(address, processes)?;
    while !stop.is_set() {
        std::thread::sleep(TICK);
    }
    Ok(Outcome::Clean)
}

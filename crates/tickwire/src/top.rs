//! `tickwire top`: the monitor's views in a terminal.

use crate::console::tell;
use crate::failure::{Failure, Outcome};
use std::path::PathBuf;
use tickwire_monitor::MonitorTarget;
use tickwire_telemetry::http::{BearerToken, HttpAddress, HttpTlsClient};

/// Show a running process in the terminal.
///
/// Reads the API of a process that runs with --monitor, on this machine or, through an SSH tunnel, on another. If it
/// is a monitor of several processes, lists these first. Keys: 1 to 5 choose a view, up and down choose a line, m
/// shows gaps, events and times of the last minutes, h charts of the last hour, Enter opens a process or explains a
/// packet, / searches instruments, Esc goes back, q leaves.
#[derive(Debug, clap::Args)]
pub struct TopArgs {
    /// Port of its monitor on the loopback interface, or ADDRESS:PORT.
    #[arg(value_name = "PORT", default_value = "9100")]
    address: HttpAddress,
    /// Name of the process to show first, if the monitor shows several (`tickwire monitor`, `tickwire demo
    /// --monitor`).
    #[arg(long, value_name = "NAME")]
    process: Option<String>,
    /// File with the token of its monitor, if it has one.
    #[arg(long, value_name = "FILE")]
    monitor_token: Option<PathBuf>,
    /// Connect over TLS; the monitor's certificate must be from these authorities (PEM).
    #[arg(long, value_name = "FILE")]
    monitor_tls_authorities: Option<PathBuf>,
    /// Name in the monitor's certificate. Default: its IP address.
    #[arg(long, value_name = "NAME", requires = "monitor_tls_authorities")]
    monitor_tls_name: Option<String>,
    /// Certificate chain of this client (PEM), for a monitor with --monitor-tls-clients.
    #[arg(long, value_name = "FILE", requires_all = ["monitor_tls_authorities", "monitor_tls_key"])]
    monitor_tls_cert: Option<PathBuf>,
    /// Private key of --monitor-tls-cert (PEM).
    #[arg(long, value_name = "FILE", requires = "monitor_tls_cert")]
    monitor_tls_key: Option<PathBuf>,
}

impl TopArgs {
    fn tls(&self) -> Result<Option<HttpTlsClient>, Failure> {
        let Some(authorities) = &self.monitor_tls_authorities else { return Ok(None) };
        let ip = || self.address.0.ip().to_string();
        let name = self.monitor_tls_name.clone().unwrap_or_else(ip);
        let own = self.monitor_tls_cert.as_deref().zip(self.monitor_tls_key.as_deref());
        HttpTlsClient::from_files(authorities, &name, own).map(Some).map_err(Failure::Usage)
    }
}

/// Runs the command until the user leaves.
pub fn run(args: &TopArgs) -> Result<Outcome, Failure> {
    let of_file = |path: &PathBuf| {
        BearerToken::of_file(path)
            .map_err(|error| Failure::file("use the token of", path.display(), &error))
    };
    let token = args.monitor_token.as_ref().map(of_file).transpose()?;
    let (address, process) = (args.address.0, args.process.clone());
    let target = MonitorTarget { address, token, tls: args.tls()?, process };
    if target.token.is_some() && target.is_exposed() {
        tell!(
            "warning: the token travels in plain text to {address}; see --monitor-tls-authorities"
        );
    }
    tickwire_top::run(target).map_err(|error| Failure::Usage(format!("the terminal: {error}")))?;
    Ok(Outcome::Clean)
}

//! Serving metrics.

use super::MonitorArgs;
use crate::failure::Failure;
use tickwire_telemetry::COMMIT;
use tickwire_telemetry::http::{HttpAddress, HttpServer};
use tickwire_telemetry::metrics::Metrics;

/// The metrics server.
#[derive(Clone, Debug, clap::Args)]
pub struct MetricsArgs {
    /// Serve counters and histograms as Prometheus text at /metrics on this port of the loopback
    /// interface, or on ADDRESS:PORT.
    #[arg(long, value_name = "PORT")]
    metrics: Option<HttpAddress>,
}

/// Creates the metrics of a command. They begin with its build.
pub fn metrics_of(command: &str) -> Metrics {
    let metrics = Metrics::new();
    let labels = [("version", env!("CARGO_PKG_VERSION")), ("commit", COMMIT), ("command", command)];
    let help = "Version, commit and command of the process; always 1";
    metrics.gauge("build_info", help, &labels).set(1);
    metrics
}

impl MetricsArgs {
    /// Refuses the address of the monitor.
    pub fn check_beside(&self, monitor: &MonitorArgs) -> Result<(), Failure> {
        match self.metrics {
            Some(address) if address.0.port() != 0 && monitor.address() == Some(address) => {
                Err(Failure::Usage(format!(
                    "--metrics and --monitor are both at {}: the monitor serves /metrics too, leave --metrics \
                     out",
                    address.0
                )))
            }
            _ => Ok(()),
        }
    }

    /// Serves `metrics`, if requested, until the returned value is dropped.
    pub fn serve(&self, metrics: &Metrics) -> Result<Option<HttpServer>, Failure> {
        let Some(address) = self.metrics else { return Ok(None) };
        let server = metrics
            .serve(address)
            .map_err(|error| Failure::Usage(format!("--metrics: {error}")))?;
        tracing::info!("metrics at http://{}/metrics", server.address());
        Ok(Some(server))
    }
}

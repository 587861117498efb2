//! Serving the monitor.

use crate::console::tell;
use crate::failure::Failure;
use std::path::PathBuf;
use tickwire_monitor::{Monitor, MonitorBuilder, Router};
use tickwire_telemetry::http::{HttpAddress, HttpServer, Token};

/// The monitor server.
#[derive(Clone, Debug, clap::Args)]
pub struct MonitorArgs {
    /// Serve a live view for the browser: the monitor's page and API on this port of the loopback
    /// interface, or on ADDRESS:PORT. An address outside loopback needs --monitor-token.
    #[arg(long, value_name = "PORT", help_heading = "Monitor")]
    monitor: Option<HttpAddress>,
    /// Answer only requests with the token in this file, which is created if it does not exist.
    #[arg(long, value_name = "FILE", requires = "monitor", help_heading = "Monitor")]
    monitor_token: Option<PathBuf>,
}

/// A served monitor; dropping this value ends it.
pub struct ServedMonitor {
    // Dropped first, because the server queries the monitor.
    _server: HttpServer,
    _monitor: Monitor,
}

impl MonitorArgs {
    /// Creates the builder of a command's monitor, if requested.
    pub fn builder(&self, command: &str) -> Option<MonitorBuilder> {
        self.monitor.map(|_| MonitorBuilder::new(command, env!("CARGO_PKG_VERSION")))
    }

    /// Reads the token of the file, if one is named.
    fn token(&self) -> Result<Option<Token>, Failure> {
        let of_file = |path: &PathBuf| {
            Token::of_file(path)
                .map_err(|error| Failure::file("use the token of", path.display(), &error))
        };
        self.monitor_token.as_ref().map(of_file).transpose()
    }

    /// The token for changes through the monitor: that of the file, else a new one, which is printed.
    pub fn administration_token(&self) -> Result<Token, Failure> {
        if let Some(token) = self.token()? {
            return Ok(token);
        }
        let token =
            Token::random().map_err(|error| Failure::Usage(format!("--monitor: {error}")))?;
        tell!("administration in the monitor: token {}", token.expose());
        Ok(token)
    }

    /// Starts the monitor and serves it together with `others`, such as the metrics.
    pub fn serve(
        &self,
        builder: Option<MonitorBuilder>,
        others: Router,
    ) -> Result<Option<ServedMonitor>, Failure> {
        let (Some(address), Some(builder)) = (self.monitor, builder) else { return Ok(None) };
        let failed = |text: String| Failure::Usage(format!("--monitor {}: {text}", address.0));
        let token = match self.token()? {
            Some(token) => Some(token),
            None if address.0.ip().is_loopback() => None,
            None => {
                return Err(failed(
                    "the address is reachable from other hosts: protect it with --monitor-token FILE"
                        .to_owned(),
                ));
            }
        };
        if !address.0.ip().is_loopback() {
            tracing::warn!("--monitor {}: the token is sent in plain text", address.0);
        }
        let fragment = if token.is_some() { "#token=TOKEN" } else { "" };
        let monitor = builder.start().map_err(|error| failed(error.to_string()))?;
        let routes = monitor.routes(token, others);
        let server =
            HttpServer::serve(address, routes).map_err(|error| failed(error.to_string()))?;
        tell!("monitor at http://{}/{fragment}", server.address());
        Ok(Some(ServedMonitor { _server: server, _monitor: monitor }))
    }
}

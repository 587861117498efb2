//! Serving the monitor.

use crate::console::tell;
use crate::failure::Failure;
use crate::options::{AdminToken, Spans, metrics_of};
use std::fmt::Display;
use std::path::PathBuf;
use tickwire_monitor::{FleetProcess, Monitor, MonitorBuilder, Router, fleet_routes};
use tickwire_telemetry::http::{BearerToken, HttpAddress, HttpServer, HttpTls};

/// The monitor server.
#[derive(Clone, Debug, clap::Args)]
pub struct MonitorArgs {
    /// Serve a live view for the browser: the monitor's page and API on this port of the loopback
    /// interface, or on ADDRESS:PORT. An address outside loopback needs --monitor-token or --monitor-tls-clients.
    #[arg(long, value_name = "PORT", help_heading = "Monitor")]
    monitor: Option<HttpAddress>,
    /// Answer only requests with the token in this file, which is created if it does not exist. Its holder can read everything;
    /// FIX sessions are administered with --admin-token.
    #[arg(long, value_name = "FILE", requires = "monitor", help_heading = "Monitor")]
    monitor_token: Option<PathBuf>,
    /// Serve over TLS with this certificate chain (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["monitor", "monitor_tls_key"], help_heading = "Monitor")]
    monitor_tls_cert: Option<PathBuf>,
    /// Private key of --monitor-tls-cert (PEM).
    #[arg(long, value_name = "FILE", requires = "monitor_tls_cert", help_heading = "Monitor")]
    monitor_tls_key: Option<PathBuf>,
    /// Answer only clients with a certificate from these authorities (PEM). No token is needed then.
    #[arg(long, value_name = "FILE", requires = "monitor_tls_cert", help_heading = "Monitor")]
    monitor_tls_clients: Option<PathBuf>,
}

/// A monitor and its server, if it is served. Dropping this value ends both.
pub struct ServedMonitor {
    // Dropped first, because the server reads from the monitor.
    server: Option<HttpServer>,
    _monitor: Monitor,
}

impl ServedMonitor {
    /// Returns true if the monitor is served.
    pub const fn is_served(&self) -> bool {
        self.server.is_some()
    }
}

impl MonitorArgs {
    /// Returns the builder of a command's monitor; `None` if no monitor is requested.
    pub fn builder(&self, command: &str) -> Option<MonitorBuilder> {
        self.monitor.map(|_| MonitorBuilder::new(command, env!("CARGO_PKG_VERSION")))
    }

    /// Returns the builder of a command's monitor; `None` if neither a monitor nor spans are requested. Spans come from the
    /// monitor's thread, also if the monitor is not served.
    pub fn builder_with(&self, command: &str, spans: Option<&Spans>) -> Option<MonitorBuilder> {
        let Some(spans) = spans else { return self.builder(command) };
        let mut builder = MonitorBuilder::new(command, env!("CARGO_PKG_VERSION"));
        builder.set_spans(spans.sink().clone());
        Some(builder)
    }

    /// Returns the address of the monitor, if one is requested.
    pub const fn address(&self) -> Option<HttpAddress> {
        self.monitor
    }

    /// Returns true if a monitor is requested.
    pub const fn is_wanted(&self) -> bool {
        self.monitor.is_some()
    }

    /// Reads the token from the file, if a file is named.
    fn token(&self) -> Result<Option<BearerToken>, Failure> {
        let of_file = |path: &PathBuf| {
            BearerToken::of_file(path)
                .map_err(|error| Failure::file("use the token of", path.display(), &error))
        };
        self.monitor_token.as_ref().map(of_file).transpose()
    }

    /// Adds routes that make changes. They require `token`, which must differ from the token of viewers.
    pub fn administer(
        &self,
        builder: &mut MonitorBuilder,
        routes: Router,
        token: &AdminToken,
    ) -> Result<(), Failure> {
        let viewing = self.token()?;
        if viewing.is_some_and(|viewing| viewing.expose() == token.token().expose()) {
            let text = "--monitor-token and --admin-token are the same, so viewers could change sessions: \
                        use different tokens";
            return Err(Failure::Usage(text.to_owned()));
        }
        builder.set_administration(routes);
        tell!("administration in the monitor: {}", token.place());
        Ok(())
    }

    /// Starts the monitor, and serves it together with `others`, such as the metrics, if that is requested.
    pub fn serve(
        &self,
        builder: Option<MonitorBuilder>,
        others: Router,
    ) -> Result<Option<ServedMonitor>, Failure> {
        let Some(builder) = builder else { return Ok(None) };
        let Some(address) = self.monitor else {
            let monitor = builder.start();
            let monitor = monitor.map_err(|error| Failure::Usage(format!("--otlp: {error}")))?;
            return Ok(Some(ServedMonitor { server: None, _monitor: monitor }));
        };
        let token = self.token_for(address)?;
        let monitor = builder.start().map_err(|error| failed(address, &error))?;
        let server = self.serve_at(address, token.is_some(), monitor.routes(token, others))?;
        Ok(Some(ServedMonitor { server: Some(server), _monitor: monitor }))
    }

    /// Serves the page over several processes; at `default` if no address is named.
    pub fn serve_fleet(
        &self,
        default: HttpAddress,
        processes: Vec<FleetProcess>,
    ) -> Result<HttpServer, Failure> {
        let address = self.monitor.unwrap_or(default);
        let token = self.token_for(address)?;
        let routes = fleet_routes(processes, token.clone(), metrics_of("monitor").routes());
        self.serve_at(address, token.is_some(), routes)
    }

    /// Returns the token of viewers. An address that other machines can reach requires a token or client certificates.
    fn token_for(&self, address: HttpAddress) -> Result<Option<BearerToken>, Failure> {
        let token = self.token()?;
        let is_open = token.is_none() && self.monitor_tls_clients.is_none();
        if is_open && !address.0.ip().is_loopback() {
            let text = "the address is reachable from other hosts: protect it with --monitor-token FILE or \
                        --monitor-tls-clients FILE";
            return Err(failed(address, &text));
        }
        Ok(token)
    }

    /// Starts to serve and prints the address.
    fn serve_at(
        &self,
        address: HttpAddress,
        has_token: bool,
        routes: Router,
    ) -> Result<HttpServer, Failure> {
        let files = self.monitor_tls_cert.as_ref().zip(self.monitor_tls_key.as_ref());
        let clients = self.monitor_tls_clients.as_deref();
        let tls = files.map(|(own, key)| HttpTls::from_files(own, key, clients)).transpose();
        let tls = tls.map_err(|text| failed(address, &text))?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        if tls.is_none() && !address.0.ip().is_loopback() {
            tracing::warn!("--monitor {}: the token is sent in plain text", address.0);
        }
        let served = match tls {
            Some(tls) => HttpServer::serve_tls(address, routes, tls),
            None => HttpServer::serve(address, routes),
        };
        let server = served.map_err(|error| failed(address, &error))?;
        let fragment = if has_token { "#token=TOKEN" } else { "" };
        tell!("monitor at {scheme}://{}/{fragment}", server.address());
        Ok(server)
    }
}

fn failed(address: HttpAddress, error: &dyn Display) -> Failure {
    Failure::Usage(format!("--monitor {}: {error}", address.0))
}

//! Serves the administration of FIX sessions over HTTP.

use crate::console::tell;
use crate::failure::Failure;
use std::path::PathBuf;
use tickwire_fix_engine::EngineHandle;
use tickwire_telemetry::http::{HttpAddress, HttpServer, Token};

/// Administration of sessions over HTTP.
#[derive(Clone, Debug, clap::Args)]
pub struct AdminArgs {
    /// Serve an administration interface over HTTP on this port of the loopback interface, or on
    /// ADDRESS:PORT. GET /sessions lists the sessions with their numbers, queues and states. POST
    /// /sessions/NAME/logout, reset, enable, disable and numbers change them. Requests need the
    /// token: Authorization: Bearer TOKEN
    #[arg(long, value_name = "PORT")]
    admin: Option<HttpAddress>,
    /// File with the token, created if it does not exist. Default: a new token is printed at each
    /// start
    #[arg(long, value_name = "FILE", requires = "admin")]
    admin_token: Option<PathBuf>,
}

impl AdminArgs {
    /// Serves the administration, if requested, until the returned value is dropped.
    pub fn serve(&self, handle: &EngineHandle) -> Result<Option<HttpServer>, Failure> {
        let Some(address) = self.admin else { return Ok(None) };
        let token = match &self.admin_token {
            Some(path) => Token::of_file(path)
                .map_err(|error| Failure::file("use the token of", path.display(), &error))?,
            None => Token::random().map_err(|error| Failure::Usage(format!("--admin: {error}")))?,
        };
        if !address.0.ip().is_loopback() {
            tracing::warn!("--admin {}: the token is sent in plain text", address.0);
        }
        let server = HttpServer::serve(address, handle.admin_routes(token.clone()))
            .map_err(|error| Failure::Usage(format!("--admin: {error}")))?;
        let place = format!("administration at http://{}/sessions", server.address());
        match &self.admin_token {
            Some(path) => tell!("{place}, token in {}", path.display()),
            None => tell!("{place}, token {}", token.expose()),
        }
        Ok(Some(server))
    }
}

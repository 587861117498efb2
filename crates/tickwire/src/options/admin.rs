//! Serves the administration of FIX sessions over HTTP.

use crate::console::tell;
use crate::failure::Failure;
use std::path::PathBuf;
use tickwire_fix_engine::EngineHandle;
use tickwire_telemetry::http::{BearerToken, HttpAddress, HttpServer};

/// Administration of sessions over HTTP.
#[derive(Clone, Debug, clap::Args)]
pub struct AdminArgs {
    /// Serve an administration interface over HTTP on this port of the loopback interface, or on
    /// ADDRESS:PORT. GET /sessions lists the sessions with their numbers, queues and states. POST
    /// /sessions/NAME/logout, reset, enable, disable and numbers change them. Requests need the
    /// token: Authorization: Bearer TOKEN
    #[arg(long, value_name = "PORT")]
    admin: Option<HttpAddress>,
    /// File with the token for --admin and for administration in the monitor's page, created if it does not exist.
    /// Default: a new token is printed at each start
    #[arg(long, value_name = "FILE")]
    admin_token: Option<PathBuf>,
}

/// The token for changes, and the file that it is from.
pub struct AdminToken {
    token: BearerToken,
    file: Option<PathBuf>,
}

impl AdminToken {
    /// The token.
    pub const fn token(&self) -> &BearerToken {
        &self.token
    }

    /// Returns a text that tells the user where the token is, or the token itself if it is in no file.
    pub fn place(&self) -> String {
        match &self.file {
            Some(path) => format!("token in {}", path.display()),
            None => format!("token {}", self.token.expose()),
        }
    }
}

impl AdminArgs {
    /// The token of the file, else a new one; `None` if neither --admin nor the monitor administers sessions.
    pub fn token(&self, is_monitored: bool) -> Result<Option<AdminToken>, Failure> {
        if self.admin.is_none() && !is_monitored {
            return match self.admin_token {
                Some(_) => Err(Failure::Usage(
                    "--admin-token is for --admin or --monitor: name one of them".to_owned(),
                )),
                None => Ok(None),
            };
        }
        let token = match &self.admin_token {
            Some(path) => BearerToken::of_file(path)
                .map_err(|error| Failure::file("use the token of", path.display(), &error))?,
            None => BearerToken::random()
                .map_err(|error| Failure::Usage(format!("the administration token: {error}")))?,
        };
        Ok(Some(AdminToken { token, file: self.admin_token.clone() }))
    }

    /// Serves the administration, if requested, until the returned value is dropped.
    pub fn serve(
        &self,
        handle: &EngineHandle,
        token: Option<&AdminToken>,
    ) -> Result<Option<HttpServer>, Failure> {
        let (Some(address), Some(token)) = (self.admin, token) else { return Ok(None) };
        if !address.0.ip().is_loopback() {
            tracing::warn!("--admin {}: the token is sent in plain text", address.0);
        }
        let server = HttpServer::serve(address, handle.admin_routes(token.token().clone()))
            .map_err(|error| Failure::Usage(format!("--admin: {error}")))?;
        tell!("administration at http://{}/sessions, {}", server.address(), token.place());
        Ok(Some(server))
    }
}

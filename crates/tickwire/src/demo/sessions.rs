//! The FIX session of the monitored demo: orders and reports. At intervals, messages are lost and resent.

use super::monitored::free_address;
use super::restarted::{RestartedProcess, words};
use crate::failure::Failure;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tickwire_monitor::MonitorTarget;
use tickwire_telemetry::http::BearerToken;

/// Orders per second.
const RATE: u32 = 20;
/// Interval between losses.
const LOSS_EVERY: Duration = Duration::from_secs(20);
/// Number of messages lost at a time.
const LOST: u64 = 5;
/// Time limit for a session to end.
const PAUSE: Duration = Duration::from_secs(1);

/// A server and a client, which run until this value is dropped.
pub struct DemoSessions {
    monitor: SocketAddr,
    token: PathBuf,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _processes: [RestartedProcess; 2],
}

impl DemoSessions {
    /// Starts both processes, with their files in `directory`.
    pub fn start(program: &Path, directory: &Path, seed: u64) -> Result<Self, Failure> {
        let (orders, monitor) = (free_address()?, free_address()?);
        let file = |name: &str| directory.join(name).display().to_string();
        let token = directory.join("admin-token");
        let server = words(&format!(
            "fix server --port {} --store {} --monitor {} --admin-token {} --seed {seed}",
            orders.port(),
            file("server"),
            monitor.port(),
            token.display(),
        ));
        let client = words(&format!(
            "fix client {orders} --store {} --reliable --orders 100000000 --rate {RATE} --seed {seed}",
            file("client"),
        ));
        let processes = [server, client].map(|arguments| {
            RestartedProcess::start(program.to_owned(), move || Some(arguments.clone()))
        });
        let (stop, stopped) = channel::<()>();
        let token_file = token.clone();
        let thread = thread::spawn(move || {
            // The loop ends when the other end of the channel is dropped.
            while stopped.recv_timeout(LOSS_EVERY) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = lose(monitor, &token_file) {
                    tracing::debug!("demo: {error}");
                }
            }
        });
        Ok(Self { monitor, token, stop: Some(stop), thread: Some(thread), _processes: processes })
    }

    /// Returns the address of the server's monitor.
    pub const fn monitor(&self) -> SocketAddr {
        self.monitor
    }

    /// Returns the file with the token of the session's administration.
    pub fn token(&self) -> &Path {
        &self.token
    }
}

impl Drop for DemoSessions {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Fails only if the thread panicked, which has been printed.
            let _ = thread.join();
        }
    }
}

/// Simulates lost messages: makes the server expect messages that it already has, so that it requests a resend.
fn lose(monitor: SocketAddr, token: &Path) -> Result<(), String> {
    let token = BearerToken::of_file(token).map_err(|error| error.to_string())?;
    let target = MonitorTarget { address: monitor, token: Some(token), tls: None, process: None };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let failed = |error: tickwire_monitor::Unanswered| error.to_string();
        let all = target.get("/sessions").await.map_err(failed)?;
        let name = all["sessions"][0]["name"].as_str().ok_or("no session yet")?.to_owned();
        let act = |act: &str, body: Value| {
            let (target, path) = (target.clone(), format!("/sessions/{name}/{act}"));
            async move { target.post(&path, &body).await.map_err(failed) }
        };
        act("disable", json!({})).await?;
        tokio::time::sleep(PAUSE).await;
        let all = target.get("/sessions").await.map_err(failed)?;
        let next = all["sessions"][0]["next_target"].as_u64().unwrap_or(1);
        let numbers = json!({"next_target": next.saturating_sub(LOST).max(1)});
        let is_set = act("numbers", numbers).await;
        // Enable the session again whatever the result.
        act("enable", json!({})).await?;
        is_set.map(|_| ())
    })
}

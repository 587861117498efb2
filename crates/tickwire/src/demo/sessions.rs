//! The FIX session of the monitored demo: orders and reports, and now and then messages that are lost and sent again.

use super::monitored::{RestartedProcess, words};
use crate::console::tell;
use crate::failure::Failure;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tickwire_monitor::MonitorTarget;
use tickwire_telemetry::http::Token;

/// Orders a second.
const RATE: u32 = 20;
/// How often messages are lost.
const LOSS_EVERY: Duration = Duration::from_secs(20);
/// Messages lost at a time.
const LOST: u64 = 5;
/// How long a session takes to end.
const PAUSE: Duration = Duration::from_secs(1);

/// A server and a client, which run until this is dropped.
pub struct DemoSessions {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _processes: [RestartedProcess; 2],
}

/// An address of the loopback interface that is free now.
fn free() -> Result<SocketAddr, Failure> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|bound| bound.local_addr());
    bound.map_err(|error| Failure::Usage(format!("demo: no port is free: {error}")))
}

impl DemoSessions {
    /// Starts both, with their files in `directory`.
    pub fn start(program: &Path, directory: &Path, seed: u64) -> Result<Self, Failure> {
        let (orders, monitor) = (free()?, free()?);
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
        let processes = [server, client]
            .map(|arguments| RestartedProcess::start(program.to_owned(), arguments));
        tell!("A FIX session that loses messages and sends them again: http://{monitor}/#fix");
        let (stop, stopped) = channel::<()>();
        let thread = thread::spawn(move || {
            // Dropping the other end ends it.
            while stopped.recv_timeout(LOSS_EVERY) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = lose(monitor, &token) {
                    tracing::debug!("demo: {error}");
                }
            }
        });
        Ok(Self { stop: Some(stop), thread: Some(thread), _processes: processes })
    }
}

impl Drop for DemoSessions {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It panicked at worst; that was printed.
            let _ = thread.join();
        }
    }
}

/// Has the server expect messages that it had already, as if they had been lost: it asks for them again.
fn lose(monitor: SocketAddr, token: &Path) -> Result<(), String> {
    let token = Token::of_file(token).map_err(|error| error.to_string())?;
    let target = MonitorTarget { address: monitor, token: Some(token) };
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
        // Whatever came of that, the session goes on.
        act("enable", json!({})).await?;
        is_set.map(|_| ())
    })
}

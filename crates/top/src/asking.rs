//! The thread that sends requests to the API, so that a slow answer does not delay keys.

use std::io;
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tickwire_monitor::MonitorTarget;

use crate::app::{ApiAnswer, ApiQuery, SECONDS_MAX};
use crate::fields::list;

/// Interval between requests.
const EVERY: Duration = Duration::from_millis(250);
/// Interval between requests for the history.
const HISTORY_EVERY: Duration = Duration::from_secs(2);
/// Seconds that are requested again, so that none is missed.
const OVERLAP: u64 = 10;

pub(crate) struct Asking {
    wanted: Arc<Mutex<ApiQuery>>,
    answers: Receiver<ApiAnswer>,
}

impl Asking {
    pub(crate) fn start(target: MonitorTarget, wanted: ApiQuery) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let wanted = Arc::new(Mutex::new(wanted));
        let (sender, answers) = channel();
        let asked = wanted.clone();
        let requests = ApiRequests { target, sender, is_of_several: None, history: None };
        // The thread ends with the process, or when its answers are no longer received.
        thread::Builder::new()
            .name("asking".to_owned())
            .spawn(move || runtime.block_on(ask(requests, &asked)))?;
        Ok(Self { wanted, answers })
    }

    pub(crate) fn want(&self, wanted: ApiQuery) {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
    }

    pub(crate) fn answer(&self) -> Option<ApiAnswer> {
        self.answers.try_recv().ok()
    }
}

async fn ask(mut requests: ApiRequests, wanted: &Mutex<ApiQuery>) {
    loop {
        let query = wanted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if requests.send(query).await.is_err() {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
}

struct ApiRequests {
    /// The monitor itself; [`ApiQuery::process`] names a process of it.
    target: MonitorTarget,
    sender: Sender<ApiAnswer>,
    /// True for a monitor of several processes; `None` before its first answer.
    is_of_several: Option<bool>,
    /// Process and path of the last answered request for a history, and when the answer came.
    history: Option<(Option<String>, String, Instant)>,
}

impl ApiRequests {
    /// Sends the requests of a query, and their answers to the screen.
    async fn send(&mut self, query: ApiQuery) -> Result<(), SendError<ApiAnswer>> {
        let ApiQuery { process, detail, history } = query;
        if history.is_none() {
            self.history = None;
        }
        if process.is_none() && self.is_of_several != Some(false) {
            let answer = get(&self.target, "/api/v1/processes").await;
            if let Ok(all) = &answer {
                self.is_of_several = Some(!list(&all["processes"]).is_empty());
            }
            self.sender.send(ApiAnswer::Processes(answer))?;
            if self.is_of_several != Some(false) {
                return Ok(());
            }
        }
        let target = MonitorTarget { process: process.clone(), ..self.target.clone() };
        let answer = get(&target, "/api/v1/state").await;
        let now_ms = answer.as_ref().ok().and_then(|state| state["at_ms"].as_u64());
        self.sender.send(ApiAnswer::State { process: process.clone(), answer })?;
        if let Some(path) = detail {
            let answer = get(&target, &path).await;
            self.sender.send(ApiAnswer::Detail { process: process.clone(), path, answer })?;
        }
        if let Some(query) = history
            && self.is_history_due(&process, &query.path)
        {
            let count = seconds_after(query.after, now_ms);
            let answer = get(&target, &format!("{}&seconds={count}", query.path)).await;
            if answer.is_ok() {
                self.history = Some((process.clone(), query.path.clone(), Instant::now()));
            }
            self.sender.send(ApiAnswer::History { process, query, answer })?;
        }
        Ok(())
    }

    /// Returns false shortly after an answer with the same history.
    fn is_history_due(&self, process: &Option<String>, path: &str) -> bool {
        !self.history.as_ref().is_some_and(|(known, known_path, at)| {
            known == process && known_path == path && at.elapsed() < HISTORY_EVERY
        })
    }
}

/// Returns how many of the newest seconds of a history to request, so that none after `after` is missed. `now_ms` is the time of the
/// process. Without these times: all.
fn seconds_after(after: Option<u64>, now_ms: Option<u64>) -> usize {
    let missed = after.zip(now_ms).map(|(after, now_ms)| (now_ms / 1000).saturating_sub(after));
    let count = missed.and_then(|missed| usize::try_from(missed + OVERLAP).ok());
    count.unwrap_or(SECONDS_MAX).min(SECONDS_MAX)
}

async fn get(target: &MonitorTarget, path: &str) -> Result<Value, String> {
    target.get(path).await.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seconds_since_the_newest_one_are_requested_or_all() {
        assert_eq!(seconds_after(None, Some(5_000_000)), SECONDS_MAX);
        assert_eq!(seconds_after(Some(4990), None), SECONDS_MAX);
        assert_eq!(seconds_after(Some(4990), Some(5_000_999)), 20);
        assert_eq!(seconds_after(Some(1), Some(5_000_000)), SECONDS_MAX);
        // The clock was set back.
        assert_eq!(seconds_after(Some(6000), Some(5_000_000)), 10);
    }
}

//! The thread that sends requests to the API, so that a slow answer does not delay keys.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tickwire_monitor::MonitorTarget;

use crate::app::{ApiAnswer, ApiQuery};

/// Interval between requests.
const EVERY: Duration = Duration::from_millis(250);

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
        // The thread ends with the process, or when its answers are no longer received.
        thread::Builder::new()
            .name("asking".to_owned())
            .spawn(move || runtime.block_on(ask(&target, &asked, &sender)))?;
        Ok(Self { wanted, answers })
    }

    pub(crate) fn want(&self, wanted: ApiQuery) {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
    }

    pub(crate) fn answer(&self) -> Option<ApiAnswer> {
        self.answers.try_recv().ok()
    }
}

async fn ask(target: &MonitorTarget, wanted: &Mutex<ApiQuery>, sender: &Sender<ApiAnswer>) {
    loop {
        let state = target.get("/api/v1/state").await.map_err(|error| error.to_string());
        let is_taken = sender.send(ApiAnswer::State(state)).is_ok();
        let ApiQuery { detail } = wanted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(path) = detail {
            let answer = target.get(&path).await.map_err(|error| error.to_string());
            // If this fails, so does sending the next state, which ends the thread.
            let _ = sender.send(ApiAnswer::Detail { path, answer });
        }
        if !is_taken {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
}

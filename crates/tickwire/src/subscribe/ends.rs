//! How publishers end: with their feed, stopped, or without a word.

use super::ledger::{Ledger, Standing};
use crate::distribution::DdsArgs;
use std::time::{Duration, Instant};
use tickwire_dds::{CycloneParticipant, CycloneReader, Done, Error, Participant, Received, Sample};

/// How often to look who is there.
const WATCH_EVERY: Duration = Duration::from_millis(100);

/// Readers of what publishers say when they end, which also know which publishers are there.
pub struct Ends {
    done: CycloneReader<Done>,
    stopped: CycloneReader<Done>,
    watched: Instant,
}

impl Ends {
    /// Makes the readers.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn new(participant: &CycloneParticipant, args: &DdsArgs) -> Result<Self, Error> {
        let qos = args.done_qos();
        Ok(Self {
            done: participant.reader(Done::TOPIC, &qos)?,
            stopped: participant.reader(Done::STOPPED_TOPIC, &qos)?,
            watched: Instant::now(),
        })
    }

    /// Enters what publishers have said.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn take(&mut self, ledger: &mut Ledger) -> Result<(), Error> {
        let mut take = |reader: &mut CycloneReader<Done>, standing: fn(u64) -> Standing| {
            let mut received = Received::default();
            while reader.take(&mut received)? {
                if received.has_data {
                    ledger.end(received.participant, standing(received.sample.samples));
                }
            }
            Ok(())
        };
        take(&mut self.stopped, |written| Standing::Stopped { written })?;
        take(&mut self.done, |written| Standing::Done { written })
    }

    /// Looks from time to time who is there, and logs who has gone without a word.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn watch(&mut self, ledger: &mut Ledger) -> Result<(), Error> {
        if self.watched.elapsed() < WATCH_EVERY {
            return Ok(());
        }
        self.watched = Instant::now();
        let present = self.done.publishers()?;
        // What one said before it went comes first.
        self.take(ledger)?;
        for id in ledger.note_present(&present) {
            tracing::warn!(
                "publisher {id} has gone without a word: what it wrote last may be lost"
            );
        }
        Ok(())
    }
}

//! The sink of `receive`: counts, and shows what is asked for.

use super::show::Printer;
use super::sink::{Counting, Named};
use crate::failure::Failure;
use tickwire_feed::arbiter::{Gap, LineEvent};
use tickwire_feed::handler::{Delivery, Sink};
use tickwire_feed::market::MarketEvent;
use tickwire_feed::recovery::{BookChange, Recovery};

/// Counts messages and shows what comes until the end has come.
pub struct Showing {
    counting: Counting,
    printer: Option<Printer>,
}

impl Showing {
    /// Counts and, with a printer, shows; stops if the output takes no more.
    pub const fn new(counting: Counting, printer: Option<Printer>) -> Self {
        Self { counting, printer }
    }

    /// What counts.
    pub const fn counting_mut(&mut self) -> &mut Counting {
        &mut self.counting
    }

    /// Writes what was gathered, as nothing more comes at the moment, at `now_ns` of the handler's clock.
    pub fn rest(&mut self, now_ns: u64) {
        self.print(|printer| printer.rest(now_ns));
    }

    /// Writes the rest at the end.
    pub fn finish(&mut self, recovery: &Recovery) -> Result<(), Failure> {
        let Some(printer) = &mut self.printer else { return Ok(()) };
        if !printer.has_failed() {
            printer.finish(recovery);
        }
        printer.take_failure().map_or(Ok(()), Err)
    }

    fn print(&mut self, print: impl FnOnce(&mut Printer)) {
        let Some(printer) = &mut self.printer else { return };
        if self.counting.end().is_none() && !printer.has_failed() {
            print(printer);
            if printer.has_failed() {
                self.counting.stop();
            }
        }
    }
}

impl<M: Named + ?Sized> Sink<M> for Showing {
    fn handle_message(&mut self, delivery: &Delivery, message: &M) {
        self.print(|printer| printer.message(delivery, message));
        Sink::<M>::handle_message(&mut self.counting, delivery, message);
    }

    fn handle_replayed(&mut self, delivery: &Delivery, message: &M) {
        self.print(|printer| printer.replayed(delivery, message));
    }

    fn handle_replay_begun(&mut self, gap: Gap) {
        self.print(|printer| printer.replay_begun(gap));
    }

    fn handle_replay_done(&mut self, gap: Gap) {
        self.print(|printer| printer.replay_done(gap));
    }

    fn handle_gap(&mut self, gap: Gap) {
        self.print(|printer| printer.gap(gap));
    }

    fn handle_reset(&mut self, seq_num: u64) {
        self.print(|printer| printer.reset(seq_num));
    }

    fn handle_silence(&mut self, is_silent: bool, since_ns: u64) {
        self.print(|printer| printer.silence(is_silent, since_ns));
    }

    fn handle_line(&mut self, event: &LineEvent) {
        self.print(|printer| printer.line(event));
    }

    fn handle_book(&mut self, change: &BookChange, recovery: &Recovery) {
        self.print(|printer| printer.book(change, recovery));
    }

    fn handle_event(&mut self, delivery: &Delivery, event: &MarketEvent<'_>, recovery: &Recovery) {
        self.print(|printer| printer.event(delivery, event, recovery));
    }
}

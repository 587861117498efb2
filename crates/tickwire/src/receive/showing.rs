//! The sink of `receive`: counts, and shows the requested output.

use super::bus::BusChannel;
use super::show::ChannelPrinter;
use super::sink::{EndWatch, NamedMessage};
use crate::failure::Failure;
use hdrhistogram::Histogram;
use tickwire_feed::arbiter::{Gap, LineEvent};
use tickwire_feed::handler::{Delivery, Fault, Sink};
use tickwire_feed::market::MarketEvent;
use tickwire_feed::recovery::{BookChange, Recovery};
use tickwire_feed::replay::ReplayFailure;
use tickwire_monitor::Tap;

/// Counts messages and shows the output until the end is reached.
pub struct Showing {
    counting: EndWatch,
    printer: Option<ChannelPrinter>,
    /// Passes books and events to the monitor, if there is one.
    tap: Option<Tap>,
    publishing: Option<BusChannel>,
}

impl Showing {
    /// Creates a sink that counts messages and, with a printer, shows the output. It stops if the
    /// output is closed.
    pub const fn new(counting: EndWatch, printer: Option<ChannelPrinter>) -> Self {
        Self { counting, printer, tap: None, publishing: None }
    }

    /// Also passes books and events to a monitor.
    #[must_use]
    pub fn with_tap(self, tap: Option<Tap>) -> Self {
        Self { tap, ..self }
    }

    /// The connection to the monitor.
    pub const fn tap_mut(&mut self) -> Option<&mut Tap> {
        self.tap.as_mut()
    }

    fn tap(&mut self, hand_over: impl FnOnce(&mut Tap)) {
        if let Some(tap) = &mut self.tap {
            hand_over(tap);
        }
    }

    /// Also publishes books and events.
    pub fn publishing(mut self, publishing: Option<BusChannel>) -> Self {
        self.publishing = publishing;
        self
    }

    fn publish(&mut self, publish: impl FnOnce(&mut BusChannel)) {
        let Some(publishing) = &mut self.publishing else { return };
        if self.counting.end().is_none() && !publishing.has_failed() {
            publish(publishing);
            if publishing.has_failed() {
                self.counting.stop();
            }
        }
    }

    /// Returns the times to write samples, if books and events are published.
    pub fn publish_times(&self) -> Option<&Histogram<u64>> {
        self.publishing.as_ref().map(BusChannel::times)
    }

    /// Returns the counting sink.
    pub const fn counting_mut(&mut self) -> &mut EndWatch {
        &mut self.counting
    }

    /// Writes the buffered output in an idle moment, at `now_ns` of the handler's clock.
    pub fn rest(&mut self, now_ns: u64) {
        self.print(|printer| printer.rest(now_ns));
    }

    /// Writes the remaining output at the end.
    pub fn finish(&mut self, recovery: &Recovery) -> Result<(), Failure> {
        if let Some(failure) = self.publishing.as_mut().and_then(BusChannel::take_failure) {
            return Err(failure);
        }
        let Some(printer) = &mut self.printer else { return Ok(()) };
        if !printer.has_failed() {
            printer.finish(recovery);
        }
        printer.take_failure().map_or(Ok(()), Err)
    }

    fn print(&mut self, print: impl FnOnce(&mut ChannelPrinter)) {
        let Some(printer) = &mut self.printer else { return };
        if self.counting.end().is_none() && !printer.has_failed() {
            print(printer);
            if printer.has_failed() {
                self.counting.stop();
            }
        }
    }
}

impl<M: NamedMessage + ?Sized> Sink<M> for Showing {
    fn handle_message(&mut self, delivery: &Delivery, message: &M) {
        self.publish(|publishing| publishing.note(delivery.seq_num, message.sending_time()));
        self.print(|printer| printer.message(delivery, message));
        Sink::<M>::handle_message(&mut self.counting, delivery, message);
    }

    fn handle_replayed(&mut self, delivery: &Delivery, message: &M) {
        self.print(|printer| printer.replayed(delivery, message));
    }

    fn handle_replay_begun(&mut self, gap: Gap) {
        self.tap(|tap| tap.replay_begun(gap));
        self.print(|printer| printer.replay_begun(gap));
    }

    fn handle_replay_abandoned(&mut self, gap: Gap, reason: ReplayFailure) {
        self.tap(|tap| tap.replay_abandoned(gap, reason));
    }

    fn handle_replay_done(&mut self, gap: Gap) {
        self.tap(|tap| tap.replay_done(gap));
        self.print(|printer| printer.replay_done(gap));
    }

    fn handle_gap(&mut self, gap: Gap) {
        self.tap(|tap| tap.gap(gap));
        self.print(|printer| printer.gap(gap));
    }

    fn handle_reset(&mut self, seq_num: u64) {
        self.tap(|tap| tap.reset(seq_num));
        self.print(|printer| printer.reset(seq_num));
    }

    fn handle_silence(&mut self, is_silent: bool, since_ns: u64) {
        self.tap(|tap| tap.silence(is_silent));
        self.print(|printer| printer.silence(is_silent, since_ns));
    }

    fn handle_line(&mut self, event: &LineEvent) {
        self.tap(|tap| tap.line(event));
        self.print(|printer| printer.line(event));
    }

    fn handle_book(&mut self, change: &BookChange, recovery: &Recovery) {
        self.publish(|publishing| publishing.book(change, recovery));
        self.print(|printer| printer.book(change, recovery));
    }

    fn handle_event(&mut self, delivery: &Delivery, event: &MarketEvent<'_>, recovery: &Recovery) {
        self.tap(|tap| tap.market(event));
        self.publish(|publishing| publishing.event(delivery.received_ns, event, recovery));
        self.print(|printer| printer.event(delivery, event, recovery));
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        self.tap(|tap| tap.fault(fault));
    }
}

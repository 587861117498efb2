//! Receiving from captures, by their times.

use super::captures::Lines;
use super::faults::FaultLog;
use super::report::{Inputs, Report};
use super::showing::Showing;
use super::sink::{End, Named};
use super::{Described, Feed};
use crate::failure::{Failure, Outcome};
use tickwire_feed::capture::CaptureDriver;
use tickwire_feed::handler::{Engine, Handler};
use tickwire_feed::market::{Adapt, BookAdapter};
use tickwire_net::process::resident_bytes;

/// What came of reading the captures once.
struct Pass<E> {
    handler: Feed<E>,
    sink: FaultLog<Showing>,
    driver: CaptureDriver,
    /// Whether a capture could not be read to its end.
    is_broken: bool,
}

impl<E: Engine<Message: Named>> Pass<E>
where
    BookAdapter: Adapt<E::Message>,
{
    /// Lets time go on behind the last packet: by the hold time, and on to later timers while
    /// packets are held.
    fn finish(&mut self, hold_ns: u64) {
        let Self { handler, sink, driver, .. } = self;
        driver.finish(hold_ns, handler, sink);
        let held = |handler: &Feed<E>| (handler.arbiter().packets_held(), handler.poll_timeout());
        while let (1.., Some(due_ns)) = held(handler) {
            let before = held(handler);
            driver.finish(due_ns.saturating_sub(driver.now_ns()), handler, sink);
            if held(handler) == before {
                break;
            }
        }
    }
}

impl Described<'_> {
    /// Receives the feed from captures.
    pub(super) fn receive_captures<E: Engine<Message: Named>>(
        &self,
        mut engine: impl FnMut() -> E,
    ) -> Result<Outcome, Failure>
    where
        BookAdapter: Adapt<E::Message>,
    {
        let resident_at_start = resident_bytes();
        let mut pass = self.pass(Lines::new(self.args)?, &mut engine)?;
        if !pass.driver.has_matched() && !self.stop.is_set() {
            let lines = Lines::instead(self.args, pass.driver.others())?;
            pass = self.pass(lines, &mut engine)?;
        }
        pass.sink.inner_mut().finish(pass.handler.recovery())?;
        let inputs = Inputs::Captures(&pass.driver);
        let end =
            pass.sink.inner().counting().end().or((!self.stop.is_set()).then_some(End::Captures));
        let report = Report::new(inputs, &pass.handler, end, resident_at_start);
        self.write(&report)?;
        Ok(Outcome::flawed_if(pass.is_broken || report.is_flawed()))
    }

    /// Reads the captures once.
    fn pass<E: Engine<Message: Named>>(
        &self,
        lines: Lines,
        engine: &mut impl FnMut() -> E,
    ) -> Result<Pass<E>, Failure>
    where
        BookAdapter: Adapt<E::Message>,
    {
        if let Some(remark) = lines.remark.filter(|_| !self.args.quiet) {
            anstream::eprintln!("tickwire: {remark}");
        }
        let captures = &self.args.captures;
        let mut merge = captures.open()?;
        let mut pass = Pass {
            handler: Handler::new(self.options.clone(), engine, self.books(&self.program))
                .map_err(|error| Failure::Usage(error.to_string()))?,
            sink: FaultLog::new(self.sink(0)?),
            driver: CaptureDriver::new(lines.map),
            is_broken: false,
        };
        while !self.stop.is_set() {
            match merge.next_packet() {
                Ok(Some(merged)) => {
                    pass.driver.handle_packet(&merged, &mut pass.handler, &mut pass.sink);
                }
                Ok(None) => {
                    pass.finish(self.options.arbiter.hold_ns);
                    break;
                }
                Err(broken) => {
                    let name = captures.name_of(broken.input);
                    anstream::eprintln!("tickwire: {name}: {}", broken.error);
                    pass.is_broken = true;
                }
            }
        }
        Ok(pass)
    }
}

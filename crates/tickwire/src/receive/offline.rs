//! Receiving from captures, by their times.

use super::captures::{self, Lines, open_all};
use super::handler::{ChannelHandler, FeedSink};
use super::report::{ChannelReport, Inputs, Report};
use super::sink::End;
use super::{Described, Session, pin};
use crate::failure::{Failure, Outcome};
use tickwire_feed::capture::{CaptureDriver, MergedPacket};
use tickwire_feed::handler::HandlerView;
use tickwire_net::log::{LogLimit, Logged};
use tickwire_net::process::resident_bytes;

/// Faults, gaps and resets of each kind that are logged.
const LOGGED_MAX: u32 = 10;

/// What came of reading the captures once.
struct Pass {
    channels: Vec<Driven>,
    /// Whether a capture could not be read to its end.
    is_broken: bool,
}

/// A channel that captures drive.
struct Driven {
    handler: Box<dyn ChannelHandler>,
    sink: FeedSink,
    driver: CaptureDriver,
    hold_ns: u64,
}

impl Pass {
    /// Hands a packet to the channels that it belongs to. The others learn the time, so that what
    /// channels show comes in the order of time.
    fn handle_packet(&mut self, merged: &MergedPacket<'_>) {
        if let [only] = &mut self.channels[..] {
            return only.handle_packet(merged);
        }
        let is_taken = self.channels.iter().any(|channel| channel.driver.takes(merged));
        if is_taken {
            for channel in &mut self.channels {
                match channel.driver.takes(merged) {
                    true => channel.handle_packet(merged),
                    false => channel.advance(merged.time_ns),
                }
            }
        } else if let Some(first) = self.channels.first_mut() {
            // It counts what belongs to nobody.
            first.handle_packet(merged);
        }
    }

    fn has_matched(&self) -> bool {
        self.channels.iter().any(|channel| channel.driver.has_matched())
    }
}

impl Driven {
    fn handle_packet(&mut self, merged: &MergedPacket<'_>) {
        self.driver.handle_packet(merged, &mut self.handler, &mut self.sink);
    }

    fn advance(&mut self, to_ns: u64) {
        self.driver.advance_to(to_ns, &mut self.handler, &mut self.sink);
    }

    /// Lets time go on behind the last packet: by the hold time, and on to later timers while
    /// packets are held or snapshots wait for the lines.
    fn finish(&mut self) {
        self.advance(self.driver.now_ns().saturating_add(self.hold_ns));
        while let Some(due_ns) = self.waits_until() {
            self.advance(due_ns);
            if self.waits_until() == Some(due_ns) {
                break;
            }
        }
    }

    /// When the next thing that waits is let go.
    fn waits_until(&self) -> Option<u64> {
        let HandlerView { arbiter, recovery, .. } = self.handler.view();
        let held = arbiter.poll_timeout().filter(|_| arbiter.packets_held() > 0);
        held.into_iter().chain(recovery.poll_timeout()).min()
    }
}

impl Session<'_> {
    /// Receives all channels from captures.
    pub(super) fn receive_captures(&self) -> Result<Outcome, Failure> {
        pin(self.args, 0)?;
        let resident_at_start = resident_bytes();
        let mut pass = self.pass(self.lines()?)?;
        if !pass.has_matched() && !self.stop.is_set() {
            pass = self.pass_instead(&pass)?;
        }
        for (Driven { handler, sink, .. }, described) in
            pass.channels.iter_mut().zip(&self.channels)
        {
            sink.inner_mut().finish(handler.view().recovery)?;
            described.warn_of_doubt(&handler.first_packets().take());
        }
        let end = self.ending.end().or((!self.stop.is_set()).then_some(End::Captures));
        let channels = pass.channels.iter().zip(&self.channels).map(|(driven, described)| {
            let inputs = Inputs::Captures(&driven.driver);
            ChannelReport::new(described.args.label(), inputs, driven.handler.view(), None)
        });
        let mut report = Report::new(channels.collect(), end, resident_at_start);
        if let Some(first) = pass.channels.first() {
            report.set_others(first.driver.others());
        }
        self.write(&report)?;
        Ok(Outcome::flawed_if(pass.is_broken || report.is_flawed()))
    }

    /// Reads the captures again with lines that were found in them, where no packet belonged to any.
    fn pass_instead(&self, pass: &Pass) -> Result<Pass, Failure> {
        let others = pass.channels.first().map(|channel| channel.driver.others());
        match (&self.channels[..], others) {
            ([only], Some(others)) => self.pass(vec![Lines::instead(&only.args, others)?]),
            (_, others) => {
                let packets = others.map_or_else(String::new, captures::others_text);
                Err(Failure::Usage(format!("no packet belongs to a line of a channel. {packets}")))
            }
        }
    }

    /// The lines of each channel.
    fn lines(&self) -> Result<Vec<Lines>, Failure> {
        let mut first_input = 0;
        let lines = self.channels.iter().map(|channel| {
            let lines = Lines::new(&channel.args, first_input);
            first_input += channel.args.captures.lines_len();
            lines
        });
        lines.collect()
    }

    /// Reads the captures once.
    fn pass(&self, lines: Vec<Lines>) -> Result<Pass, Failure> {
        let captures: Vec<_> = self.channels.iter().map(|channel| &channel.args.captures).collect();
        let mut merge = open_all(&captures)?;
        let driven = |(described, lines): (&Described, Lines)| {
            if let Some(remark) = lines.remark.filter(|_| !self.args.quiet) {
                anstream::eprintln!("tickwire: {remark}");
            }
            let sink = Logged::new(self.sink(described, 0)?).limit(LogLimit::First(LOGGED_MAX));
            Ok(Driven {
                handler: described.handler(None)?,
                sink: sink.channel(described.args.label()),
                driver: CaptureDriver::new(lines.map),
                hold_ns: described.options.arbiter.hold_ns,
            })
        };
        let channels: Result<Vec<Driven>, Failure> =
            self.channels.iter().zip(lines).map(driven).collect();
        let mut pass = Pass { channels: channels?, is_broken: false };
        while !self.stop.is_set() {
            match merge.next_packet() {
                Ok(Some(merged)) => pass.handle_packet(&merged),
                Ok(None) => {
                    pass.channels.iter_mut().for_each(Driven::finish);
                    break;
                }
                Err(broken) => {
                    let name = captures::name_of(&captures, broken.input);
                    anstream::eprintln!("tickwire: {name}: {}", broken.error);
                    pass.is_broken = true;
                }
            }
        }
        Ok(pass)
    }
}

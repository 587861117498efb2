//! Reception from captures, with capture times as the clock.

use super::captures::{self, CaptureLines, open_all};
use super::handler::{ChannelHandler, FeedSink};
use super::report::{ChannelReport, Inputs, ReceiveReport};
use super::sink::ReceptionEnd;
use super::{DescribedChannel, ReceiveSession, pin};
use crate::console::tell;
use crate::failure::{Failure, Outcome};
use tickwire_captures::SessionStarts;
use tickwire_feed::capture::{CaptureDriver, MergedPacket};
use tickwire_feed::handler::PacketHandler;
use tickwire_net::log::{LogLimit, Logged};
use tickwire_net::process::resident_bytes;

/// Maximum number of faults, gaps and resets logged, per kind.
const LOGGED_MAX: u32 = 10;

/// Result of reading the captures once.
struct CapturePass {
    channels: Vec<OfflineChannel>,
    /// Packets before which another session begins.
    sessions: SessionStarts,
    /// True if a capture could not be read to its end.
    is_broken: bool,
    /// Parts of captures that could not be read, one sentence each.
    missing: Vec<String>,
}

/// A channel driven by captures.
struct OfflineChannel {
    handler: Box<dyn ChannelHandler>,
    sink: FeedSink,
    driver: CaptureDriver,
    hold_ns: u64,
    /// End of the hold time after the last packet.
    end_ns: u64,
}

impl CapturePass {
    /// Passes a packet to the channels to which it belongs. The others only learn the time, so that the
    /// output of all channels is ordered by time.
    fn handle_packet(&mut self, merged: &MergedPacket<'_>) {
        if self.sessions.begins_before(merged.packet.index) {
            for OfflineChannel { handler, sink, .. } in &mut self.channels {
                handler.begin_session(sink);
            }
        }
        if let [only] = &mut self.channels[..] {
            return only.handle_packet(merged);
        }
        let is_taken = self.channels.iter().any(|channel| channel.driver.takes(merged));
        if !is_taken {
            // The first channel counts the packets that belong to no line.
            if let Some(first) = self.channels.first_mut() {
                first.handle_packet(merged);
            }
            return;
        }
        self.fire(|channel| channel.handler.poll_timeout().filter(|ns| *ns <= merged.time_ns));
        for channel in &mut self.channels {
            match channel.driver.takes(merged) {
                true => channel.handle_packet(merged),
                false => channel.advance(merged.time_ns),
            }
        }
    }

    /// Fires the timers that `due` returns for the channels, the earliest first.
    fn fire(&mut self, due: impl Fn(&OfflineChannel) -> Option<u64>) {
        let mut is_over = vec![false; self.channels.len()];
        loop {
            let waiting = self.channels.iter().zip(&is_over).enumerate();
            let waiting = waiting.filter(|(_, (_, is_over))| !**is_over);
            let next =
                waiting.filter_map(|(index, (channel, _))| Some((due(channel)?, index))).min();
            let Some((due_ns, index)) = next else { return };
            self.channels[index].advance(due_ns);
            // A timer whose due time does not advance fires only once.
            is_over[index] = due(&self.channels[index]) == Some(due_ns);
        }
    }

    /// Advances the time after the last packets by the hold time, and on to later timers while packets are
    /// held or snapshots wait for the lines.
    fn finish(&mut self) {
        for channel in &mut self.channels {
            channel.end_ns = channel.driver.now_ns().saturating_add(channel.hold_ns);
        }
        self.fire(|channel| {
            let due_ns = channel.handler.poll_timeout().filter(|ns| *ns <= channel.end_ns);
            due_ns.into_iter().chain(channel.waits_until()).min()
        });
        for channel in &mut self.channels {
            channel.advance(channel.end_ns);
        }
    }

    fn has_matched(&self) -> bool {
        self.channels.iter().any(|channel| channel.driver.has_matched())
    }
}

impl OfflineChannel {
    fn handle_packet(&mut self, merged: &MergedPacket<'_>) {
        self.driver.handle_packet(merged, &mut self.handler, &mut self.sink);
    }

    fn advance(&mut self, to_ns: u64) {
        self.driver.advance_to(to_ns, &mut self.handler, &mut self.sink);
    }

    /// Time at which the next held packet or snapshot is released.
    fn waits_until(&self) -> Option<u64> {
        self.handler.poll_waiting()
    }
}

/// Result of reading captures.
struct CaptureOutcome {
    /// True if a capture could not be read to its end or lacks packets.
    lacks_data: bool,
    /// True if there were other errors.
    is_flawed: bool,
}

impl ReceiveSession<'_> {
    /// Receives all channels from captures.
    pub(super) fn receive_captures(&self) -> Result<Outcome, Failure> {
        let read = self.read_captures();
        let failed = read.as_ref().map_or(true, |read| read.lacks_data);
        // Subscribers are told how the feed ended even if an output failed.
        let is_dropped = self.finish_publishing(failed)?;
        let CaptureOutcome { lacks_data, is_flawed } = read?;
        Ok(Outcome::flawed_if(is_dropped || lacks_data || is_flawed))
    }

    fn read_captures(&self) -> Result<CaptureOutcome, Failure> {
        self.check_cpus(1)?;
        pin(self.args, 0)?;
        let resident_at_start = resident_bytes();
        let mut pass = self.pass(self.lines()?)?;
        for text in &pass.missing {
            tell!("tickwire: {text}");
        }
        if !pass.has_matched() && !self.stop.is_set() {
            pass = self.pass_instead(&pass)?;
        }
        for (OfflineChannel { handler, sink, .. }, described) in
            pass.channels.iter_mut().zip(&self.channels)
        {
            sink.inner_mut().finish(handler.view().recovery)?;
            described.warn_of_doubt(&handler.first_packets().take());
        }
        let end = self.ending.end().or((!self.stop.is_set()).then_some(ReceptionEnd::Captures));
        let channels = pass.channels.iter().zip(&self.channels).map(|(driven, described)| {
            let inputs = Inputs::Captures(&driven.driver);
            let (view, events) = (driven.handler.view(), driven.sink.events());
            ChannelReport::new(described.args.label(), inputs, view, events, None)
        });
        let mut report = ReceiveReport::new(channels.collect(), end, resident_at_start);
        if let Some(first) = pass.channels.first() {
            report.set_others(first.driver.others());
        }
        self.out.finish_tables()?;
        self.write(&report)?;
        let lacks_data = pass.is_broken || !pass.missing.is_empty();
        Ok(CaptureOutcome { lacks_data, is_flawed: report.is_flawed() })
    }

    /// Reads the captures again with detected lines if no packet belonged to a line.
    fn pass_instead(&self, pass: &CapturePass) -> Result<CapturePass, Failure> {
        let others = pass.channels.first().map(|channel| channel.driver.others());
        match (&self.channels[..], others) {
            ([only], Some(others)) => self.pass(vec![CaptureLines::instead(&only.args, others)?]),
            (_, others) => {
                let text = "no packet belongs to a line of a channel".to_owned();
                Err(Failure::Usage(match others {
                    Some(others) => captures::with_others(text, others),
                    None => text,
                }))
            }
        }
    }

    /// The lines of each channel.
    fn lines(&self) -> Result<Vec<CaptureLines>, Failure> {
        let mut first_input = 0;
        let lines = self.channels.iter().map(|channel| {
            let lines = CaptureLines::new(&channel.args, first_input);
            first_input += channel.args.captures.lines_len();
            lines
        });
        lines.collect()
    }

    /// Reads the captures once.
    fn pass(&self, lines: Vec<CaptureLines>) -> Result<CapturePass, Failure> {
        let captures: Vec<_> = self.channels.iter().map(|channel| &channel.args.captures).collect();
        let mut merge = open_all(&captures)?;
        let driven = |(described, lines): (&DescribedChannel, CaptureLines)| {
            if let Some(remark) = lines.remark.filter(|_| !self.args.quiet) {
                tell!("tickwire: {remark}");
            }
            let sink = Logged::new(self.sink(described, 0)?).limit(LogLimit::First(LOGGED_MAX));
            Ok(OfflineChannel {
                handler: described.handler(None)?,
                sink: sink.channel(described.args.label()),
                driver: CaptureDriver::new(lines.map),
                hold_ns: described.options.arbiter.hold_ns,
                end_ns: 0,
            })
        };
        let channels: Result<Vec<OfflineChannel>, Failure> =
            self.channels.iter().zip(lines).map(driven).collect();
        let mut pass = CapturePass {
            channels: channels?,
            sessions: SessionStarts::new(self.args.sessions.reset_at.clone()),
            is_broken: false,
            missing: Vec::new(),
        };
        while !self.stop.is_set() {
            match merge.next_packet() {
                Ok(Some(merged)) => pass.handle_packet(&merged),
                Ok(None) => {
                    pass.finish();
                    break;
                }
                Err(broken) => {
                    let name = captures::name_of(&captures, broken.input);
                    tell!("tickwire: {name}: {}", broken.error);
                    pass.is_broken = true;
                }
            }
        }
        for (input, reader) in merge.readers().enumerate() {
            let name = captures::name_of(&captures, input);
            let missing = reader.statistics().missing();
            pass.missing.extend(missing.map(|text| format!("{name}: {text}")));
            if let Some(text) = reader.statistics().times_back() {
                tell!("tickwire: {name}: {text}");
            }
        }
        Ok(pass)
    }
}

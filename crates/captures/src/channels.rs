//! The channels of a capture: datagrams to one address and port form one feed.

use crate::recent::RecentValues;
use crate::session_check::SessionCheck;
use crate::session_starts::SessionStarts;
use std::net::SocketAddr;
use std::ops::Add;
use std::sync::Arc;
use tickwire_fast::{Decoder, DecoderOptions, Findings, Program};
use tickwire_feed::framing::{Framer, Framing};

/// Most channels followed at the same time; a further one replaces the channel that is silent
/// longest.
const CHANNELS_MAX: usize = 256;

/// State of one channel between packets.
pub struct CaptureChannel {
    /// Its dictionaries.
    pub decoder: Decoder,
    /// The chunks of its messages.
    pub framer: Framer,
    pub(crate) check: SessionCheck,
    /// True once an explained packet ended inside a message or had a message that failed. Later
    /// segments of the TCP stream may then begin inside a message.
    pub(crate) ended_inside: bool,
}

impl CaptureChannel {
    /// Creates a channel before its first packet.
    pub fn new(program: Arc<Program>, options: DecoderOptions, framing: Framing) -> Self {
        let decoder = Decoder::with_options(program, options);
        let check = SessionCheck::None;
        Self { decoder, framer: Framer::new(framing), check, ended_inside: false }
    }

    /// True if an [`Explainer`](crate::explain::Explainer) found a packet that did not end at the end of a message,
    /// so that later segments of a TCP stream may begin inside one.
    pub const fn has_ended_inside(&self) -> bool {
        self.ended_inside
    }
}

/// The channels of a capture, by destination. In files without destinations there is one channel.
pub struct Channels {
    program: Arc<Program>,
    options: DecoderOptions,
    framing: Framing,
    by_destination: RecentValues<Option<SocketAddr>, CaptureChannel>,
    /// Findings of the dropped channels.
    findings: Findings,
    let_go: u64,
    /// The check of each new channel.
    check: SessionCheck,
    /// Packets before which dictionaries are reset.
    starts: SessionStarts,
}

impl Channels {
    /// Creates an empty set of channels.
    pub fn new(program: Arc<Program>, options: DecoderOptions, framing: Framing) -> Self {
        Self {
            program,
            options,
            framing,
            by_destination: RecentValues::new(CHANNELS_MAX),
            findings: Findings::default(),
            let_go: 0,
            check: SessionCheck::None,
            starts: SessionStarts::default(),
        }
    }

    /// Also resets the dictionaries of all channels before each of these packets, by index: for
    /// captures of several sessions. Does not affect TCP streams and raw files.
    #[must_use]
    pub fn reset_at(mut self, packets: Vec<u64>) -> Self {
        self.starts = SessionStarts::new(packets);
        self
    }

    /// Checks each channel with a copy of this check.
    pub(crate) fn check_with(&mut self, check: SessionCheck) {
        self.check = check;
    }

    /// Resets the dictionaries of all channels if a session begins before this packet, or before a
    /// packet that was skipped since the last call.
    pub(crate) fn begin_packet(&mut self, index: u64) {
        if !self.starts.begins_before(index) {
            return;
        }
        for (_, channel) in self.by_destination.iter_mut() {
            channel.decoder.reset();
            channel.check.reset();
        }
    }

    /// Returns the channel of packets to this destination. Calls `remark` the first time that
    /// another channel is dropped to make room.
    pub fn channel(
        &mut self,
        destination: Option<SocketAddr>,
        remark: impl FnOnce(&str),
    ) -> &mut CaptureChannel {
        let Self { program, options, framing, by_destination, findings, let_go, check, .. } = self;
        by_destination.find_or_begin(destination, |old| {
            if let Some((destination, old)) = old {
                *findings = *findings + *old.decoder.findings();
                *let_go += 1;
                if let (1, Some(destination)) = (*let_go, destination) {
                    remark(&let_go_text(destination));
                }
            }
            let mut channel = CaptureChannel::new(program.clone(), *options, *framing);
            channel.check.clone_from(check);
            if *let_go > 0 {
                // The channel may have been dropped before, so its dictionaries are unknown.
                lose_dictionaries(&mut channel.decoder);
                channel.check.lose_dictionaries();
            }
            channel
        })
    }

    /// Returns the findings of the decoders of all channels.
    pub fn findings(&self) -> Findings {
        let channels = self.by_destination.values().map(|channel| *channel.decoder.findings());
        channels.fold(self.findings, Findings::add)
    }
}

fn let_go_text(destination: SocketAddr) -> String {
    format!(
        "more than {CHANNELS_MAX} channels: that of {destination} is dropped, further ones silently; channels that start from here on wait for a reset; select channels with --address and --port"
    )
}

/// Makes a decoder wait for a reset, as after a failed message, because bytes of its feed are lost.
pub fn lose_dictionaries(decoder: &mut Decoder) {
    // No message is empty, so this decoding fails; after a failure the decoder waits for a reset.
    let _ = decoder.decode(&[]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_fast::TemplateSet;

    const XML: &str = r#"<templates><template name="T" id="1"><uInt32 name="a"><increment/></uInt32></template></templates>"#;

    fn address(number: usize) -> Option<SocketAddr> {
        Some(SocketAddr::from(([239, 0, (number >> 8) as u8, number as u8], 1000)))
    }

    #[test]
    fn a_channel_let_go_waits_for_a_reset_and_one_remark_says_so() {
        let set = TemplateSet::parse(XML).expect("templates");
        let program = Program::compile(set).expect("a program");
        let (options, framing) = (DecoderOptions::default(), Framing::default());
        let mut channels = Channels::new(Arc::new(program), options, framing);
        let mut remarks = Vec::new();
        for number in 0..CHANNELS_MAX + 2 {
            let channel = channels.channel(address(number), |text| remarks.push(text.to_owned()));
            assert_eq!(channel.decoder.needs_reset(), number >= CHANNELS_MAX);
        }
        assert_eq!(remarks.len(), 1);
        assert!(remarks[0].contains("that of 239.0.0.0:1000 is dropped"), "{}", remarks[0]);
        let again = channels.channel(address(0), |_| {});
        assert!(again.decoder.needs_reset());
        assert!(!channels.channel(address(3), |_| {}).decoder.needs_reset());
    }
}

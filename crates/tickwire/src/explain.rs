//! `tickwire explain`: one packet, byte by byte.

use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{
    DecoderArgs, FramingArgs, InputArgs, InputReplay, ResetAtArgs, TemplateArgs, reset_policy,
    with_reset_template,
};
use crate::packet_range::PacketRange;
use crate::progress::Progress;
use anstyle::{AnsiColor, Style};
use std::io::Write;
use std::sync::Arc;
use tickwire_captures::explain::{Emphasis, Explainer, PacketPart, write_text};
use tickwire_captures::{CaptureChannel, Channels};
use tickwire_fast::CompileOptions;
use tickwire_feed::capture::{CaptureKind, Packet};
use tickwire_feed::counted;
use tickwire_feed::framing::Framing;
use tickwire_text::json::parse_hex;

/// Explain packets byte by byte.
///
/// Prints for each message the presence map with the meaning of each bit, and the template id. For
/// each field it prints the offset, bytes, type (? is optional), operator, presence-map bit
/// (index:value), value, and the dictionary entry before and after. Earlier packets to the same
/// address and port are decoded first to restore the dictionaries. An error is shown at its
/// position.
///
/// A segment of a TCP stream is explained as a packet. It fails at a message that continues in the
/// next segment, and the segments after it are refused; pass the bytes of a message with --hex.
#[derive(Debug, clap::Args)]
#[command(mut_arg("templates", |arg| arg.required(true)))]
pub struct ExplainArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    templates: TemplateArgs,
    /// Index of the packet in the file, from 0.
    #[arg(long, value_name = "INDEX", default_value_t = 0)]
    packet: u64,
    /// Explain these packets, by index from 0: 100..200 (without 200), 100.. or 100.
    #[arg(long, value_name = "FROM..TO", conflicts_with = "packet")]
    packets: Option<PacketRange>,
    /// Explain these bytes, in hexadecimal, and read no file.
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["input", "file", "packet", "packets", "reset_at"])]
    hex: Option<String>,
    /// Explain at most this many messages.
    #[arg(short = 'n', long, visible_alias = "head", value_name = "COUNT")]
    limit: Option<u64>,
    #[command(flatten)]
    sessions: ResetAtArgs,
    #[command(flatten)]
    framing: FramingArgs,
    #[command(flatten)]
    decoder: DecoderArgs,
}

/// Runs the command.
pub fn run(args: &ExplainArgs) -> Result<Outcome, Failure> {
    let set = args.templates.read()?;
    let (framing, replay) = match (args.framing.is_auto(), args.input.path()) {
        (true, Some(path)) => {
            let (sample, replay) = args.input.sample()?;
            let name = files::name_of(path);
            (args.framing.find_without_checks(&sample, &set, &name, Some(&args.sessions))?, replay)
        }
        _ => (args.framing.framing()?, InputReplay::default()),
    };
    let set = with_reset_template(set, &framing);
    let options = CompileOptions::default().constants(true);
    let program = Arc::new(files::compile(set, &options)?);
    let options = args.decoder.checked_options(reset_policy(&framing), &program)?;
    let mut explaining = ExplanationRun {
        explainer: Explainer::new(&program, framing),
        framing,
        out: anstream::stdout().lock(),
        left: args.limit.unwrap_or(u64::MAX),
    };
    match &args.hex {
        Some(digits) => {
            let bytes = parse_hex(digits).map_err(|e| Failure::Usage(format!("--hex: {e}")))?;
            let ExplanationRun { explainer, out, left, .. } = &mut explaining;
            let title = format!("packet of {}", counted(bytes.len(), "byte"));
            writeln!(out, "{}", paint(Emphasis::Heading, &title))?;
            let mut channel = CaptureChannel::new(program.clone(), options, framing);
            packet_of(explainer, &mut channel, &bytes, left, out)
        }
        None if args.input.path().is_none() => {
            Err(Failure::Usage("name a capture file, or give the bytes with --hex".to_owned()))
        }
        None => {
            let channels = Channels::new(program.clone(), options, framing);
            let channels = channels.reset_at(args.sessions.reset_at.clone());
            let wanted = args.packets.clone().unwrap_or_else(|| PacketRange::one(args.packet));
            explaining.file(&args.input, replay, &wanted, channels)
        }
    }
}

/// Explanation in progress, and its output.
struct ExplanationRun<'e, W> {
    explainer: Explainer<'e>,
    framing: Framing,
    out: W,
    /// Number of messages still to be explained.
    left: u64,
}

impl<W: Write> ExplanationRun<'_, W> {
    fn file(
        &mut self,
        input: &InputArgs,
        replay: InputReplay,
        wanted: &PacketRange,
        mut channels: Channels,
    ) -> Result<Outcome, Failure> {
        let name = files::name_of(input.required_path()?);
        let progress = Progress::none();
        let mut reader = input.open_replayed(&progress, replay)?;
        let is_whole = reader.kind() == CaptureKind::Stream;
        let remark = |text: &str| progress.print(&format!("{name}: {text}"));
        let Self { explainer, framing, out, left } = self;
        let mut outcome = None;
        let mut next = wanted.start();
        // A raw file is one packet.
        while !(wanted.is_before(next) || outcome.is_some() && (is_whole || *left == 0)) {
            let explained = explainer.find(
                &mut reader,
                &mut channels,
                next,
                remark,
                |channel, packet| -> Result<_, Failure> {
                    // With --port or --address the next packet may be beyond the range.
                    if wanted.is_before(packet.index) && !is_whole {
                        return Ok((packet.index, None));
                    }
                    // With --reset message the decoder never waits for a reset, so it does not show a
                    // message that continues in this segment.
                    let is_later = packet.stream.is_some_and(|stream| stream.offset > 0);
                    let begins_inside = framing.has_packet_headers()
                        || channel.decoder.needs_reset()
                        || is_later && channel.has_ended_inside();
                    if packet.stream.is_some() && !is_whole && begins_inside {
                        return Err(Failure::Usage(format!(
                            "{name}: packet {} is a segment of a TCP stream and may begin inside a message: streams cannot be explained; extract a message and pass it with --hex",
                            packet.index
                        )));
                    }
                    begin_packet(&name, packet, channel, out)?;
                    let explained = packet_of(explainer, channel, packet.bytes, left, out)?;
                    Ok((packet.index, Some(explained)))
                },
            );
            let explained = explained.map_err(|error| Failure::Data(format!("{name}: {error}")))?;
            let Some((index, Some(of_packet))) = explained.transpose()? else { break };
            let is_flawed = outcome == Some(Outcome::Flawed) || of_packet == Outcome::Flawed;
            outcome = Some(Outcome::flawed_if(is_flawed));
            next = index + 1;
        }
        if let Some(text) = reader.statistics().times_back() {
            tell!("tickwire: {name}: {text}");
        }
        outcome.ok_or_else(|| {
            if let Some(text) = input.none_selected(reader.statistics()) {
                return Failure::Data(format!("{name}: {text}"));
            }
            let missing: String =
                reader.statistics().missing().map(|text| format!("; {text}")).collect();
            let packets = counted(reader.statistics().packets, "packet");
            Failure::Usage(format!("{name} has no packet {wanted}: it has {packets}{missing}"))
        })
    }
}

/// Writes the heading of a packet of the file `name`.
fn begin_packet(
    name: &str,
    packet: &Packet<'_>,
    channel: &CaptureChannel,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let title = format!(
        "packet {} of {name}: {} at file offset {}",
        packet.index,
        counted(packet.bytes.len(), "byte"),
        packet.file_offset
    );
    writeln!(out, "{}", paint(Emphasis::Heading, &title))?;
    if channel.decoder.needs_reset() {
        writeln!(out, "an earlier packet failed: dictionaries are lost until a reset")?;
    }
    Ok(())
}

/// Writes a packet, at most `left` messages; the outcome shows whether all of them were decoded.
fn packet_of(
    explainer: &Explainer<'_>,
    channel: &mut CaptureChannel,
    bytes: &[u8],
    left: &mut u64,
    out: &mut impl Write,
) -> Result<Outcome, Failure> {
    let mut write = |part: PacketPart<'_>| write_text(out, &part, &paint);
    let is_right = explainer.packet(channel, bytes, left, &mut write)?;
    out.flush()?;
    Ok(Outcome::flawed_if(!is_right))
}

/// Colours a text; the output drops the colours if it does not support them.
fn paint(emphasis: Emphasis, text: &str) -> String {
    let style = match emphasis {
        Emphasis::Plain => Style::new(),
        Emphasis::Heading => Style::new().bold(),
        Emphasis::Quiet => Style::new().dimmed(),
        Emphasis::Bytes => AnsiColor::Cyan.on_default(),
        Emphasis::Value => AnsiColor::Green.on_default(),
        Emphasis::Changed => AnsiColor::Yellow.on_default(),
        Emphasis::Error => AnsiColor::Red.on_default().bold(),
    };
    format!("{style}{text}{style:#}")
}

//! The complete description of a channel: templates, framing, options and decoding.

use super::ReceiveArgs;
use super::args::EngineChoice;
use super::captures::CaptureLines;
use super::doubt;
use super::handler::{BookMaker, ChannelHandler, channel_handler};
use super::timed::Timed;
use crate::failure::Failure;
use crate::files;
use crate::options::{reset_policy, with_reset_template};
use std::sync::Arc;
use std::thread::JoinHandle;
use tickwire_fast::generated::{self, Templates};
use tickwire_fast::template::Signature;
use tickwire_fast::{
    CompileOptions, Decoder, DecoderOptions, EngineSelection as DynamicEngine, Program, TemplateSet,
};
use tickwire_fast_generated::{WithModule, with_module};
use tickwire_feed::framing::Framing;
use tickwire_feed::handler::{
    Dynamic, Generated, HandlerConfigError, HandlerOptions, Peeked, SeqNumField, SeqNumPeek,
};
use tickwire_net::affinity;
use tickwire_net::channel_settings::{define, key_tags};
use tickwire_net::tcp_replay::TcpReplay;

/// A channel and its decoding options.
pub struct DescribedChannel {
    /// The command line, completed by the channel's settings in a feed file.
    pub args: ReceiveArgs,
    /// The compiled templates.
    pub program: Arc<Program>,
    /// Options of the handler.
    pub options: HandlerOptions,
    /// Options of the decoders.
    pub decoding: DecoderOptions,
    books: BookMaker,
    seq_num: SeqNumField,
    signature: Signature,
}

impl DescribedChannel {
    /// Reads and compiles the templates of a channel; `captures` is the number of captures of all channels.
    pub fn new(args: ReceiveArgs, captures: usize) -> Result<Self, Failure> {
        let set = args.templates.read()?;
        let framing = framing(&args, &set, captures)?;
        let signature = set.signature();
        let set = with_reset_template(set, &framing);
        let sequencing = args.sequencing(&framing, &set)?;
        let program = Arc::new(files::compile(set, &CompileOptions::default())?);
        let dynamic = match args.engine {
            EngineChoice::Portable => DynamicEngine::Portable,
            EngineChoice::Automatic | EngineChoice::Generated => DynamicEngine::Automatic,
        };
        let decoding = args
            .decoder
            .checked_options(reset_policy(&framing), &program)?
            .engine(dynamic)
            .tier_up(args.tier_up());
        if decoding.implied_template.is_some() && args.engine == EngineChoice::Generated {
            return Err(Failure::Usage(
                "--template-id is for the dynamic engine: omit --engine generated".to_owned(),
            ));
        }
        if args.bus.publishing.publish && args.engine == EngineChoice::Generated {
            let text = "--publish is for the dynamic engine: omit --engine generated";
            return Err(Failure::Usage(text.to_owned()));
        }
        let instrument_key = key_tags(&args.instrument_key, &program)
            .map_err(|error| Failure::Usage(error.to_string()))?;
        let books = BookMaker {
            choice: args.book_choice(),
            instrument_key,
            measure_every: args.measure_every,
        };
        let options = args.options(framing, &sequencing, &books.adapter(&program))?;
        let seq_num = sequencing.field;
        Ok(Self { args, program, options, decoding, books, seq_num, signature })
    }

    /// Logs a warning if the first packets do not fit the framing or its reset policy.
    pub fn warn_of_doubt(&self, packets: &[Vec<u8>]) {
        doubt::warn(self.args.label(), packets, &self.program, &self.options.framing);
    }

    /// Runs [`Self::warn_of_doubt`] on a separate thread.
    pub fn warn_of_doubt_beside(&self, packets: Vec<Vec<u8>>) -> JoinHandle<()> {
        let label = self.args.label().map(str::to_owned);
        let (program, framing) = (self.program.clone(), self.options.framing);
        std::thread::spawn(move || {
            affinity::unpin_current_thread();
            doubt::warn(label.as_deref(), &packets, &program, &framing);
        })
    }

    /// True if lost messages are requested from a replay service: the reception is live and the feed file
    /// names one.
    pub fn replays(&self) -> bool {
        let has_service = self.args.replay_service().is_ok_and(|service| service.is_some());
        has_service && !self.args.captures.is_any()
    }

    /// The replay service of the channel, if it has one.
    pub fn replay(&self) -> Result<Option<TcpReplay>, Failure> {
        let Some((options, servers)) = self.args.replay_service()? else { return Ok(None) };
        let peek = SeqNumPeek::new(self.program.set(), &self.seq_num);
        if !peek.can_find() {
            return Err(Failure::Usage(
                "replay: replayed messages need a sequence number in the message itself: name its field \
                 with --seq-num"
                    .to_owned(),
            ));
        }
        let number = move |bytes: &[u8]| match peek.peek(bytes) {
            Peeked::Number(number) => Some(number),
            Peeked::Unknown | Peeked::Unnumbered => None,
        };
        let replay = TcpReplay::start(options, servers, number);
        replay.map(Some).map_err(|error| Failure::Usage(error.to_string()))
    }

    /// Creates a handler in its initial state.
    pub fn handler(&self, replay: Option<TcpReplay>) -> Result<Box<dyn ChannelHandler>, Failure> {
        let made = match self.args.engine {
            EngineChoice::Generated => {
                let maker = Maker { described: self, replay };
                with_module(&self.signature, maker).ok_or_else(|| self.not_built_in())?
            }
            _ => self.dynamic(replay),
        };
        let mut handler = made.map_err(|error| Failure::Usage(error.to_string()))?;
        define(self.args.instruments(), handler.recovery_mut());
        Ok(handler)
    }

    fn not_built_in(&self) -> Failure {
        let name = self.args.templates.names();
        let signature = &self.signature;
        Failure::Usage(format!(
            "--engine generated: no code is built in for {name}, template set {signature}; receive it \
             without --engine, or generate code with `tickwire templates generate` for a program \
             of your own"
        ))
    }

    fn dynamic(
        &self,
        replay: Option<TcpReplay>,
    ) -> Result<Box<dyn ChannelHandler>, HandlerConfigError> {
        let (decoding, every) = (self.decoding, self.args.measure_every);
        let engine = move |program: &Arc<Program>, seq_num: &SeqNumField| {
            let decoder = Decoder::with_options(program.clone(), decoding);
            Timed::new(Dynamic::new(decoder, seq_num), every)
        };
        let (options, books) = (self.options.clone(), self.books.clone());
        channel_handler(options, &self.program, &self.seq_num, engine, books, replay)
    }
}

/// The named framing, or the one detected in captures.
fn framing(args: &ReceiveArgs, set: &TemplateSet, captures: usize) -> Result<Framing, Failure> {
    if !args.framing.is_auto() || !args.captures.is_any() {
        return args.framing.framing();
    }
    // A named channel's captures contain only its own packets.
    let lines = args.label().map(|_| CaptureLines::new(args, 0)).transpose()?;
    let sample = args.captures.sample(lines.as_ref().map(|lines| &lines.map))?;
    let name = args.label().unwrap_or("captures");
    let sessions = (captures == 1).then_some(&args.sessions);
    args.framing.find_without_checks(&sample, set, name, sessions)
}

/// Creates a handler for a generated module.
struct Maker<'d> {
    described: &'d DescribedChannel,
    replay: Option<TcpReplay>,
}

impl WithModule for Maker<'_> {
    type Output = Result<Box<dyn ChannelHandler>, HandlerConfigError>;

    fn with<T: Templates>(self) -> Self::Output {
        let Self { described: of, replay } = self;
        let (decoding, every) = (of.decoding, of.args.measure_every);
        // Templates outside the module are decoded dynamically: a reset template that the framing needs, and
        // those of a reloaded file.
        let engine = move |program: &Arc<Program>, seq_num: &SeqNumField| {
            let decoder = generated::ModuleDecoder::<T>::adopting(program.clone(), decoding);
            let decoder = decoder.expect("the program has all fields");
            Timed::new(Generated::new(decoder, seq_num), every)
        };
        let (options, books) = (of.options.clone(), of.books.clone());
        channel_handler(options, &of.program, &of.seq_num, engine, books, replay)
    }
}

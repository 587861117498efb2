//! The command line as a whole; each command's own arguments are in its module.

use crate::bench::BenchArgs;
use crate::decode::FastDecodeArgs;
use crate::demo::DemoArgs;
use crate::doctor::DoctorArgs;
use crate::encode::FastEncodeArgs;
use crate::explain::ExplainArgs;
use crate::export::ExportArgs;
use crate::feed::FeedArgs;
use crate::fix::FixArgs;
use crate::generate::FeedGenerateArgs;
use crate::grammar::GrammarArgs;
use crate::logs::LogFormat;
use crate::monitor::MonitorCommandArgs;
use crate::multicast::MulticastArgs;
use crate::opra::OpraArgs;
use crate::publish::PublishArgs;
use crate::receive::ReceiveArgs;
use crate::shell::{CompletionsArgs, ManArgs};
use crate::soak::SoakArgs;
use crate::subscribe::SubscribeArgs;
use crate::templates::TemplatesArgs;
use crate::top::TopArgs;
use crate::vectors::VectorsArgs;
use clap::{Parser, Subcommand};

/// Decodes, encodes, receives and publishes market data; runs FIX sessions.
///
/// Exit status: 0 on success, 1 if the data has errors, 2 if the command line is wrong or a file
/// cannot be opened. -? prints the help, as --help does.
#[derive(Debug, Parser)]
#[command(name = "tickwire", version, arg_required_else_help = true)]
pub struct CommandLine {
    /// Log level on standard error: off, error, warn, info, debug or trace; per module:
    /// warn,tickwire_net=debug. Default: the environment variable TICKWIRE_LOG, else warn.
    #[arg(long, global = true, value_name = "LEVEL", help_heading = "Logs")]
    pub log: Option<String>,
    /// Form of logs: text, or json, one object per line, for journald and log collectors.
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORM",
        default_value = "text",
        help_heading = "Logs"
    )]
    pub log_format: LogFormat,
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands; their help is the doc comment of their arguments.
#[derive(Debug, Subcommand)]
pub enum Command {
    Bench(BenchArgs),
    Completions(CompletionsArgs),
    Decode(Box<FastDecodeArgs>),
    Demo(DemoArgs),
    Doctor(DoctorArgs),
    Encode(Box<FastEncodeArgs>),
    Explain(Box<ExplainArgs>),
    Export(Box<ExportArgs>),
    Feed(FeedArgs),
    Fix(FixArgs),
    Generate(FeedGenerateArgs),
    Grammar(GrammarArgs),
    Man(ManArgs),
    Monitor(MonitorCommandArgs),
    Multicast(Box<MulticastArgs>),
    Opra(OpraArgs),
    Publish(Box<PublishArgs>),
    Receive(Box<ReceiveArgs>),
    Soak(SoakArgs),
    Subscribe(Box<SubscribeArgs>),
    Templates(TemplatesArgs),
    Top(TopArgs),
    Vectors(VectorsArgs),
}

//! The `tickwire` command: decodes, encodes and explains market-data feeds.
//!
//! One module per command. A command returns an [`Outcome`], or a [`Failure`] that stopped it. Exit status 0:
//! no errors; 1: errors in the data; 2: a wrong command line or a file that cannot be opened.
#![forbid(unsafe_code)]

mod arguments;
#[cfg(feature = "bench")]
mod bench;
mod console;
mod decode;
mod demo;
mod destinations;
mod distribution;
mod doctor;
mod encode;
mod examples;
mod explain;
#[cfg(feature = "columns")]
mod export;
mod failure;
mod feed;
mod files;
mod fix;
mod generate;
mod grammar;
mod journal;
mod left_out;
mod logs;
mod monitor;
mod multicast;
mod old_options;
#[cfg(test)]
mod operations;
mod opra;
mod options;
mod output;
mod output_file;
mod packet_file;
mod packet_range;
mod progress;
mod publish;
mod receive;
mod shell;
mod soak;
mod subscribe;
mod table;
mod templates;
#[cfg(feature = "top")]
mod top;
mod units;
mod vectors;

use arguments::{Command, CommandLine};
use clap::FromArgMatches;
use failure::{Failure, Outcome};
#[cfg(not(feature = "bench"))]
use left_out::bench;
#[cfg(not(feature = "columns"))]
use left_out::export;
#[cfg(not(feature = "top"))]
use left_out::top;
use std::process::ExitCode;
use tickwire_fast::TierUp;
use tickwire_host::affinity::unpin_current_thread;

fn main() -> ExitCode {
    let arguments = match old_options::rewrite(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(text) => {
            console::remark("ERROR", format_args!("tickwire: {text}"));
            return Failure::Usage(text).status();
        }
    };
    let matches = examples::command_line().try_get_matches_from(arguments);
    let command_line = matches
        .and_then(|matches| CommandLine::from_arg_matches(&matches))
        .unwrap_or_else(|error| console::end_by(&error));
    let begun = logs::begin(command_line.log.as_deref(), command_line.log_format);
    // A compile thread does not stay on the CPU to which `--cpu` has pinned the decoding thread.
    TierUp::on_thread_start(unpin_current_thread);
    match begun.and_then(|()| run(command_line.command)) {
        Ok(outcome) => outcome.into(),
        Err(failure) => {
            if let Some(text) = failure.text() {
                console::remark("ERROR", format_args!("tickwire: {text}"));
            }
            failure.status()
        }
    }
}

fn run(command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Bench(args) => bench::run(&args),
        Command::Completions(args) => shell::completions(&args),
        Command::Decode(args) => decode::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Encode(args) => encode::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Feed(args) => feed::run(&args),
        Command::Fix(args) => fix::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Grammar(args) => grammar::run(&args),
        Command::Man(args) => shell::man(&args),
        Command::Monitor(args) => monitor::run(&args),
        Command::Multicast(args) => multicast::run(&args),
        Command::Opra(args) => opra::run(&args),
        Command::Publish(args) => publish::run(&args),
        Command::Receive(args) => receive::run(&args),
        Command::Soak(args) => soak::run(&args),
        Command::Subscribe(args) => subscribe::run(&args),
        Command::Templates(args) => templates::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Vectors(args) => vectors::run(&args),
    }
}

//! `tickwire grammar`: checks, shows, runs and generates packet grammars.

use crate::failure::{Failure, Outcome};
use crate::files;
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};
use tickwire_dsparser::{ActionError, ActionId, ActionNames, ActionValue, Host, Program, generate};
use tickwire_text::json::push_hex;

/// Longest grammar or packet read.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Check, show, run and generate packet grammars
#[derive(Debug, Args)]
pub struct GrammarArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check a grammar; everything wrong in it is reported at once
    Check {
        /// The grammar
        grammar: PathBuf,
    },
    /// Show the automaton of a grammar
    Show {
        /// The grammar
        grammar: PathBuf,
        /// As a Graphviz graph instead of text
        #[arg(long)]
        dot: bool,
    },
    /// Run a grammar over one packet and print every action with its bytes
    ///
    /// Actions do nothing but print here, and the value of each is 0.
    Run {
        /// The grammar
        grammar: PathBuf,
        /// The packet; - is standard input
        packet: PathBuf,
    },
    /// Write the grammar as Rust source to standard output
    Generate {
        /// The grammar
        grammar: PathBuf,
    },
}

/// Runs `tickwire grammar`.
pub fn run(args: &GrammarArgs) -> Result<Outcome, Failure> {
    let mut out = files::create(None)?;
    match &args.action {
        Action::Check { grammar } => {
            let program = program(grammar)?;
            let statements = program.statements().len();
            let actions = program.actions().join(" ");
            writeln!(out, "{}: {statements} statements, actions: {actions}", grammar.display())?;
        }
        Action::Show { grammar, dot } => {
            let machine = program(grammar)?.machine();
            out.write_all(if *dot { machine.dot() } else { machine.show() }.as_bytes())?;
        }
        Action::Run { grammar, packet } => {
            let program = program(grammar)?;
            run_packet(&program, packet, &mut out)?;
        }
        Action::Generate { grammar } => {
            let program = program(grammar)?;
            let name = grammar.file_name().map_or_else(String::new, |n| n.display().to_string());
            let command = format!("tickwire grammar generate {name}");
            out.write_all(generate(&program, &command).as_bytes())?;
        }
    }
    out.flush()?;
    Ok(Outcome::Clean)
}

/// Prints what the grammar hands out, a line an action.
struct Print<'p> {
    actions: &'p [String],
    lines: Vec<u8>,
}

impl Host for Print<'_> {
    fn execute(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
    ) -> Result<ActionValue, ActionError> {
        let name = self.actions.get(usize::from(action.0)).map_or("", String::as_str);
        let text = bytes.escape_ascii();
        self.lines.extend_from_slice(format!("{offset:>8}  {name}  ").as_bytes());
        push_hex(&mut self.lines, bytes);
        self.lines.extend_from_slice(format!("  \"{text}\"\n").as_bytes());
        Ok(ActionValue::default())
    }

    fn send(&mut self, code: u32, value: u64) {
        self.lines.extend_from_slice(format!("          SEND {code:#x} {value}\n").as_bytes());
    }
}

fn run_packet(program: &Program, path: &Path, out: &mut impl Write) -> Result<(), Failure> {
    let packet = read(path)?;
    let name = files::name_of(path);
    let mut host = Print { actions: program.actions(), lines: Vec::new() };
    let outcome = program.machine().run(&packet, &mut host);
    out.write_all(&host.lines)?;
    out.flush()?;
    match outcome {
        Ok(used) if used == packet.len() => Ok(()),
        Ok(used) => Err(Failure::Data(format!(
            "{name}: the grammar ends at offset {used}, but the packet has {} bytes",
            packet.len()
        ))),
        Err(error) => {
            Err(Failure::Data(format!("{name}: {}", error.describe(program.statements()))))
        }
    }
}

fn program(path: &Path) -> Result<Program, Failure> {
    let text = String::from_utf8(read(path)?).map_err(|_| {
        Failure::Data(format!("{} is not UTF-8: is it a grammar?", files::name_of(path)))
    })?;
    Program::parse(&text, &ActionNames::any()).map_err(|errors| {
        let name = files::name_of(path);
        let place = |d: &tickwire_dsparser::Diagnostic| {
            format!("{name}:{}:{}: {}; {}", d.span.line, d.span.column, d.message, d.help)
        };
        let lines: Vec<String> = errors.diagnostics().iter().map(place).collect();
        Failure::Data(format!("the grammar cannot be used:\n{}", lines.join("\n")))
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    files::read_whole(path, INPUT_BYTES_MAX, "")
}

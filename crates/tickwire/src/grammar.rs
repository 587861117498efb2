//! `tickwire grammar`: checks, shows, runs and generates packet grammars.

use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::files;
use clap::{Args, Subcommand};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use tickwire_dsparser::{
    ActionError, ActionId, ActionNames, ActionValue, Diagnostic, GrammarLimits, GrammarProgram,
    Host, NameId, RunError, RunErrorKind, StreamProgress, generate, rt,
};
use tickwire_text::json::{ObjectWriter, push_hex, push_string, push_unsigned};

/// Longest grammar or packet read.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Bytes of a stream read at once.
const PIECE_BYTES: usize = 64 << 10;

/// Check, show, run and generate code from packet grammars
#[derive(Debug, Args)]
pub struct GrammarArgs {
    #[command(subcommand)]
    action: GrammarCommand,
}

#[derive(Debug, Subcommand)]
enum GrammarCommand {
    /// Check a grammar; everything wrong in it is reported at once
    ///
    /// Warns of patterns in loops that can take quadratic time.
    Check {
        /// The grammar
        grammar: PathBuf,
    },
    /// Show the automaton of a grammar
    Show {
        /// The grammar
        grammar: PathBuf,
        /// Print a Graphviz graph, not text
        #[arg(long)]
        dot: bool,
        /// Print the compilation stages of each pattern, not the automaton
        #[arg(long, conflicts_with = "dot")]
        stages: bool,
    },
    /// Run a grammar over one packet and print every named field as a JSON line
    ///
    /// An action is {"offset": .., "name": .., "hex": its bytes, "text": the same}, a number that READ
    /// binds {"offset": .., "name": .., "value": ..}, an event {"send": code, "value": ..}. Actions do
    /// nothing but print here; the value of each is 0 unless --value says how to read its bytes.
    Run {
        /// The grammar
        grammar: PathBuf,
        /// The packet; - is standard input
        packet: PathBuf,
        /// How the value of an action is read from its bytes: be (big-endian), le (little-endian)
        /// or decimal
        #[arg(long, value_name = "ACTION=HOW", value_parser = value_of)]
        value: Vec<(String, ValueEncoding)>,
        /// Read the input as a stream and print each action as soon as it is certain
        #[arg(long)]
        stream: bool,
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
        GrammarCommand::Check { grammar } => {
            let program = program(grammar)?;
            let statements = program.statements().len();
            let actions = match program.actions() {
                [] => "none".to_owned(),
                actions => actions.join(" "),
            };
            let names = match program.names() {
                [] => String::new(),
                names => format!(", numbers: {}", names.join(" ")),
            };
            let name = grammar.display();
            writeln!(out, "{name}: {statements} statements, actions: {actions}{names}")?;
            out.flush()?;
            for warning in program.warnings() {
                tell!("warning: {}", describe(grammar, warning));
            }
        }
        GrammarCommand::Show { grammar, stages: true, .. } => {
            out.write_all(stages(&program(grammar)?).as_bytes())?;
        }
        GrammarCommand::Show { grammar, dot, .. } => {
            let machine = program(grammar)?.machine();
            out.write_all(if *dot { machine.dot() } else { machine.show() }.as_bytes())?;
        }
        GrammarCommand::Run { grammar, packet, value, stream } => {
            let program = program(grammar)?;
            let host = Print::new(&program, value)?;
            match stream {
                true => run_stream(&program, host, packet, &mut out)?,
                false => run_packet(&program, host, packet, &mut out)?,
            }
        }
        GrammarCommand::Generate { grammar } => {
            let program = program(grammar)?;
            let name = grammar.file_name().map_or_else(String::new, |n| n.display().to_string());
            let command = format!("tickwire grammar generate {name}");
            out.write_all(generate(&program, &command).as_bytes())?;
        }
    }
    out.flush()?;
    Ok(Outcome::Clean)
}

/// How the bytes of an action are read as its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueEncoding {
    BigEndian,
    LittleEndian,
    Decimal,
}

fn value_of(text: &str) -> Result<(String, ValueEncoding), String> {
    let (action, how) =
        text.split_once('=').ok_or("write ACTION=be, ACTION=le or ACTION=decimal")?;
    let reading = match how {
        "be" => ValueEncoding::BigEndian,
        "le" => ValueEncoding::LittleEndian,
        "decimal" => ValueEncoding::Decimal,
        _ => return Err(format!("\"{how}\" is not be, le or decimal")),
    };
    Ok((action.to_owned(), reading))
}

/// Prints the output of the grammar, one line per action.
struct Print<'p> {
    program: &'p GrammarProgram,
    /// Reading of the action's bytes, by action.
    readings: Vec<Option<ValueEncoding>>,
    lines: Vec<u8>,
}

impl<'p> Print<'p> {
    fn new(
        program: &'p GrammarProgram,
        values: &[(String, ValueEncoding)],
    ) -> Result<Self, Failure> {
        let actions = program.actions();
        let mut readings = vec![None; actions.len()];
        for (name, reading) in values {
            let index = actions.iter().position(|action| action == name).ok_or_else(|| {
                let actions = actions.join(", ");
                Failure::Usage(format!(
                    "--value: there is no action \"{name}\"; there are {actions}"
                ))
            })?;
            readings[index] = Some(*reading);
        }
        Ok(Self { program, readings, lines: Vec::new() })
    }

    fn value(&self, action: ActionId, bytes: &[u8]) -> Result<Option<u64>, RunErrorKind> {
        let reading = self.readings.get(usize::from(action.0)).copied().flatten();
        reading
            .map(|reading| match reading {
                ValueEncoding::BigEndian => rt::big_endian(bytes),
                ValueEncoding::LittleEndian => rt::little_endian(bytes),
                ValueEncoding::Decimal => rt::decimal(bytes),
            })
            .transpose()
    }

    /// Describes why an action failed: its bytes are not a number.
    fn describe(&self, error: &RunError) -> String {
        let text = error.describe(self.program.statements());
        let RunErrorKind::ActionFailed { action, .. } = error.kind else { return text };
        let name = self.program.actions().get(usize::from(action.0)).map_or("", String::as_str);
        format!("{text}: the bytes of `{name}` are not a number in the form given by --value")
    }
}

impl Host for Print<'_> {
    fn execute(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
    ) -> Result<ActionValue, ActionError> {
        let value = self.value(action, bytes);
        let name = self.program.actions().get(usize::from(action.0)).map_or("", String::as_str);
        let mut members = ObjectWriter::begin(&mut self.lines);
        push_unsigned(members.member("offset"), offset as u64);
        push_string(members.member("name"), name);
        let hex = members.member("hex");
        hex.push(b'"');
        push_hex(hex, bytes);
        hex.push(b'"');
        push_string(members.member("text"), &bytes.escape_ascii().to_string());
        if let Ok(Some(value)) = value {
            push_unsigned(members.member("value"), value);
        }
        members.end();
        self.lines.push(b'\n');
        match value {
            Ok(value) => Ok(ActionValue(value.unwrap_or_default())),
            Err(_) => Err(ActionError(1)),
        }
    }

    fn number(&mut self, name: NameId, number: i128, offset: usize) {
        let name = self.program.names().get(usize::from(name.0)).map_or("", String::as_str);
        let mut members = ObjectWriter::begin(&mut self.lines);
        push_unsigned(members.member("offset"), offset as u64);
        push_string(members.member("name"), name);
        members.member("value").extend_from_slice(number.to_string().as_bytes());
        members.end();
        self.lines.push(b'\n');
    }

    fn send(&mut self, code: u32, value: u64) {
        let mut members = ObjectWriter::begin(&mut self.lines);
        push_unsigned(members.member("send"), code.into());
        push_unsigned(members.member("value"), value);
        members.end();
        self.lines.push(b'\n');
    }
}

fn run_packet(
    program: &GrammarProgram,
    mut host: Print<'_>,
    path: &Path,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let packet = read(path)?;
    let name = files::name_of(path);
    let outcome = program.machine().run(&packet, &mut host);
    out.write_all(&host.lines)?;
    out.flush()?;
    match outcome {
        Ok(used) if used == packet.len() => Ok(()),
        Ok(used) => Err(Failure::Data(format!(
            "{name}: the grammar ends at offset {used}, but the packet has {} bytes",
            packet.len()
        ))),
        Err(error) => Err(Failure::Data(format!("{name}: {}", host.describe(&error)))),
    }
}

/// Runs a program over an input that arrives in pieces.
fn run_stream(
    program: &GrammarProgram,
    mut host: Print<'_>,
    path: &Path,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let name = files::name_of(path);
    let mut input = files::open(path)?;
    let machine = program.machine();
    let mut stream = machine.stream();
    let mut piece = vec![0; PIECE_BYTES];
    let mut taken = 0;
    let outcome = loop {
        let len = input.read(&mut piece).map_err(|error| Failure::file("read", &name, &error))?;
        if len == 0 {
            break stream.finish(&mut host).map(|_| ());
        }
        taken += len;
        let pushed = stream.push(&piece[..len], &mut host);
        out.write_all(&host.lines)?;
        out.flush()?;
        host.lines.clear();
        match pushed {
            Ok(StreamProgress::More) => {}
            Ok(StreamProgress::Ended(used)) => {
                let read = if used == taken { input.read(&mut piece) } else { Ok(1) };
                if read.map_err(|error| Failure::file("read", &name, &error))? == 0 {
                    break Ok(());
                }
                let text = format!(
                    "{name}: the grammar ends at offset {used}, before the end of the stream"
                );
                return Err(Failure::Data(text));
            }
            Err(error) => break Err(error),
        }
    };
    out.write_all(&host.lines)?;
    out.flush()?;
    outcome.map_err(|error| Failure::Data(format!("{name}: {}", host.describe(&error))))
}

/// Compilation stages of each pattern.
fn stages(program: &GrammarProgram) -> String {
    let mut text = String::new();
    for stage in program.stages() {
        text.push_str(&format!(
            "\"{}\"\n  simplified  {}\n  NFA         {} states\n  DFA         {} states\n  \
             smallest    {} states\n  run as      {}\n",
            stage.pattern,
            stage.simplified,
            stage.nfa_states,
            stage.dfa_states,
            stage.states,
            stage.shape
        ));
    }
    let (controls, scans, classes) = program.machine().size();
    text.push_str(&format!(
        "one automaton: {controls} control states, {scans} scanning states, {classes} classes of bytes\n"
    ));
    text
}

fn program(path: &Path) -> Result<GrammarProgram, Failure> {
    let text = text_of(path)?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    // Included files are relative to the grammar's directory.
    let mut files = |name: &str| {
        let is_inside = !Path::new(name).is_absolute() && !name.split('/').any(|part| part == "..");
        if !is_inside {
            return Err("it is not in the grammar's directory".to_owned());
        }
        text_of(&folder.join(name)).map_err(|failure| match failure {
            Failure::Data(text) | Failure::Usage(text) => text,
            Failure::OutputClosed => "it cannot be read".to_owned(),
        })
    };
    GrammarProgram::parse_including(
        &text,
        &ActionNames::any(),
        &GrammarLimits::default(),
        &mut files,
    )
    .map_err(|errors| {
        let lines = errors.diagnostics().iter().map(|diagnostic| describe(path, diagnostic));
        let lines: Vec<String> = lines.collect();
        Failure::Data(format!("the grammar cannot be used:\n{}", lines.join("\n")))
    })
}

/// An error or warning with its position.
fn describe(path: &Path, diagnostic: &Diagnostic) -> String {
    let Diagnostic { span, file, message, help, .. } = diagnostic;
    let name = file.clone().unwrap_or_else(|| files::name_of(path));
    format!("{name}:{}:{}: {message}; {help}", span.line, span.column)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read(path)?).map_err(|_| {
        Failure::Data(format!("{} is not UTF-8: is it a grammar?", files::name_of(path)))
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    files::read_whole(path, INPUT_BYTES_MAX, "")
}

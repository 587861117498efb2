//! `tickwire fix log`: prints message logs with the names of fields and values.

use super::versions::DictionaryArgs;
use crate::console::tell;
use crate::failure::{Failure, Outcome};
use clap::Args;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use tickwire_fix::dictionary::MessageDef;
use tickwire_fix::{Dictionary, FixMessage, Printed, Reader};
use tickwire_fix_session::{Direction, LogLine};
use tickwire_fix_text::{Versions, explained};

/// Print message logs of sessions with the names of fields and values
///
/// Sessions write these logs if FileLogPath is configured. Errors are printed to standard error
/// with their line, and the exit status is then 1. For logs of other engines use `fix decode`.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Log files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Only messages of these types: names or values of MsgType (35), such as NewOrderSingle,8
    #[arg(long = "type", value_name = "TYPES", value_delimiter = ',')]
    types: Vec<String>,
    /// One line per message, with | as separator
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    dictionary: DictionaryArgs,
}

/// Longest line; a longer one is reported and skipped.
const LINE_MAX: u64 = 8 << 20;
/// Number of lines per file that are not messages and are reported one by one.
const TOLD_MAX: u64 = 10;

/// Runs `tickwire fix log`.
pub fn run(args: &LogArgs) -> Result<Outcome, Failure> {
    let empty = Dictionary::parse_quickfix("<fix major='0' minor='0'/>");
    let empty = empty.map_err(|problems| Failure::Data(problems.to_string()))?;
    let mut printer = LogPrinter {
        out: BufWriter::new(std::io::stdout().lock()),
        args,
        versions: args.dictionary.open()?,
        empty,
        reader: Reader::new(),
        flaws: 0,
        wanted: 0,
    };
    for path in &args.files {
        printer.file(path)?;
    }
    printer.out.flush()?;
    Ok(Outcome::flawed_if(printer.flaws > 0))
}

struct LogPrinter<'a, W> {
    out: W,
    args: &'a LogArgs,
    versions: Versions,
    /// Dictionary for unknown versions.
    empty: Dictionary,
    reader: Reader,
    flaws: u64,
    /// Messages of the wanted types.
    wanted: u64,
}

impl<W: Write> LogPrinter<'_, W> {
    fn file(&mut self, path: &PathBuf) -> Result<(), Failure> {
        let name = path.display();
        let file = File::open(path).map_err(|e| Failure::file("open", &name, &e))?;
        let mut input = BufReader::new(file);
        let (mut line, mut number) = (Vec::new(), 0_u64);
        let (mut messages, mut others) = (0_u64, 0_u64);
        let wanted_before = self.wanted;
        loop {
            let read = (&mut input).take(LINE_MAX).read_until(b'\n', &mut line);
            let read = read.map_err(|e| Failure::file("read", &name, &e))?;
            if read == 0 && line.is_empty() {
                break;
            }
            number += u64::from(read > 0);
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            let parsed = LogLine::parse(text);
            match parsed {
                Some(parsed) => {
                    messages += 1;
                    self.print(&format!("{name}: line {number}"), &parsed)?;
                }
                None => {
                    others += 1;
                    if others <= TOLD_MAX {
                        let expected = "expected a time, < or >, and a message";
                        tell!("{name}: line {number}: not a message: {expected}");
                    }
                }
            }
            line.clear();
        }
        self.flaws += others;
        if others > TOLD_MAX {
            tell!("{name}: {others} lines are not messages");
        }
        if messages == 0 {
            let text = "no message found: is it a log of tickwire? for others: tickwire fix decode";
            return Err(Failure::Data(format!("{name}: {text}")));
        }
        if self.wanted == wanted_before && !self.args.types.is_empty() {
            let types = self.args.types.join(",");
            tell!(
                "{name}: no message of type {types}; types are names or values of MsgType (35): NewOrderSingle, D"
            );
        }
        Ok(())
    }

    fn print(&mut self, place: &str, line: &LogLine<'_>) -> Result<(), Failure> {
        let way = if line.direction == Direction::In { "<" } else { ">" };
        let raw = || String::from_utf8_lossy(line.escaped).replace('\u{1}', "|");
        let message = match self.reader.decode(&line.message) {
            Ok(message) => message,
            Err(error) => {
                self.flaws += 1;
                tell!("{place}: garbled: {error}");
                return Ok(writeln!(self.out, "{} {way} garbled: {}", line.time, raw())?);
            }
        };
        let known = self.versions.of(&message);
        let (session, application) = known.unwrap_or((&self.empty, &self.empty));
        if !is_wanted(&self.args.types, &message, [session, application]) {
            return Ok(());
        }
        self.wanted += 1;
        if let Some(fault) = message.fault() {
            self.flaws += 1;
            tell!("{place}: {}", explained(&fault, &message, known));
        }
        if self.args.raw {
            return Ok(writeln!(self.out, "{} {way} {}", line.time, raw())?);
        }
        writeln!(self.out, "{} {way}", line.time)?;
        Ok(writeln!(self.out, "{}", Printed::fixt(message, session, application))?)
    }
}

/// True if a message has one of these types, or if no type is given. A type is given by its MsgType or by its
/// name in one of the dictionaries.
fn is_wanted(
    types: &[String],
    message: &FixMessage<'_, '_>,
    dictionaries: [&Dictionary; 2],
) -> bool {
    let msg_type = message.msg_type();
    let names = dictionaries.map(|dictionary| dictionary.message(msg_type).map(MessageDef::name));
    let is_named = |wanted: &str| {
        let has_name =
            |name: &Option<&str>| name.is_some_and(|name| name.eq_ignore_ascii_case(wanted));
        wanted.as_bytes() == msg_type || names.iter().any(has_name)
    };
    types.is_empty() || types.iter().any(|wanted| is_named(wanted))
}

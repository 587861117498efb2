//! `tickwire fix log`: message logs in words.

use super::dictionaries;
use crate::failure::{Failure, Outcome};
use clap::Args;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use tickwire_fix::{Printed, Reader, Tag};
use tickwire_fix_session::{ApplVersion, BeginString, Dictionaries, Direction, LogLine};

/// Print message logs of sessions with the names of fields and values
///
/// A log is made by sessions that are configured to (FileLogPath). A line that is no message is told on
/// standard error, and the exit status is then 1.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Logs
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Only messages of these types, as D,8
    #[arg(long = "type", value_name = "TYPES", value_delimiter = ',')]
    types: Vec<String>,
    /// One line a message, delimiters as |
    #[arg(long)]
    raw: bool,
}

/// Most bytes of a line; a longer one is told and passed over.
const LINE_MAX: u64 = 8 << 20;

/// Runs `tickwire fix log`.
pub fn run(args: &LogArgs) -> Result<Outcome, Failure> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut printer = Printer { known: HashMap::new(), reader: Reader::new(), flaws: 0 };
    for path in &args.files {
        let file = File::open(path).map_err(|e| Failure::file("open", path.display(), &e))?;
        let mut input = BufReader::new(file);
        let (mut line, mut number) = (Vec::new(), 0_u64);
        loop {
            let before = line.len();
            let read = (&mut input).take(LINE_MAX).read_until(b'\n', &mut line);
            let read = read.map_err(|e| Failure::file("read", path.display(), &e))?;
            if read == 0 && line.is_empty() {
                break;
            }
            number += u64::from(read > 0);
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            let parsed = LogLine::parse(text);
            // Data may hold the end of a line: the message then goes on in the next.
            let goes_on = parsed.is_some_and(|parsed| !parsed.is_whole());
            if goes_on && read > 0 && (line.len() as u64) < LINE_MAX && line.len() > before {
                continue;
            }
            match parsed {
                Some(parsed) => printer.print(&mut out, args, &parsed)?,
                None => {
                    printer.flaws += 1;
                    anstream::eprintln!("{}: line {number}: no message", path.display());
                }
            }
            line.clear();
        }
    }
    out.flush()?;
    Ok(Outcome::flawed_if(printer.flaws > 0))
}

struct Printer {
    known: HashMap<BeginString, Dictionaries>,
    reader: Reader,
    flaws: u64,
}

impl Printer {
    fn print(
        &mut self,
        out: &mut dyn Write,
        args: &LogArgs,
        line: &LogLine<'_>,
    ) -> Result<(), Failure> {
        let Ok(message) = self.reader.decode(line.message) else {
            self.flaws += 1;
            let text = String::from_utf8_lossy(line.message).replace('\u{1}', "|");
            writeln!(out, "{} garbled: {text}", line.time)?;
            return Ok(());
        };
        let is_wanted = args.types.is_empty()
            || args.types.iter().any(|wanted| wanted.as_bytes() == message.msg_type());
        if !is_wanted {
            return Ok(());
        }
        let way = if line.direction == Direction::In { "<" } else { ">" };
        if args.raw {
            let text = String::from_utf8_lossy(line.message).replace('\u{1}', "|");
            writeln!(out, "{} {way} {text}", line.time)?;
            return Ok(());
        }
        writeln!(out, "{} {way}", line.time)?;
        let version = BeginString::parse(message.begin_string()).unwrap_or(BeginString::Fix44);
        let dictionaries = match self.known.entry(version) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(dictionaries::shipped(version)?)
            }
        };
        let said = message.field(Tag(1128)).and_then(|field| ApplVersion::parse(field.value));
        let application = dictionaries
            .application
            .iter()
            .rfind(|(known, _)| said.is_none_or(|said| said == *known))
            .map_or(&dictionaries.session, |(_, dictionary)| dictionary);
        writeln!(out, "{}", Printed::fixt(message, &dictionaries.session, application))?;
        Ok(())
    }
}

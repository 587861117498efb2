//! `tickwire doctor`: settings of this machine that cost latency.

mod cpu;
mod finding;
mod machine;
mod memory;
mod network;
#[cfg(test)]
mod tests;

use crate::failure::{Failure, Outcome};
use crate::files;
use crate::table::{Align, TextTable};
use clap::Args;
use finding::{DoctorFinding, Verdict};
use machine::MachineFiles;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Report the settings of this machine that cost latency
///
/// Reads the settings of CPUs and network from /proc and /sys, and looks in /dev/shm for channels that
/// killed processes left behind. Reports what was found, its cost (a figure if it was measured) and how
/// to change it. Changes nothing. The figures are from a virtual machine with two 3.6 GHz CPUs;
/// elsewhere they give the order of magnitude.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Write the findings as JSON to this file instead of as text; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Read proc, sys and dev in this directory, for example copied from another machine
    #[arg(long, value_name = "DIRECTORY", default_value = "/")]
    root: PathBuf,
}

/// Runs the command.
pub fn run(args: &DoctorArgs) -> Result<Outcome, Failure> {
    let machine = MachineFiles::new(&args.root);
    if !machine.has("proc") && !machine.has("sys") {
        let root = args.root.display();
        return Err(Failure::Usage(format!(
            "{root} has neither proc nor sys: name the directory that has"
        )));
    }
    let findings = examine(&machine);
    let to_file = args.json.as_deref().filter(|path| *path != "-");
    if args.json.is_some() {
        let findings: Vec<_> = findings.iter().map(DoctorFinding::json).collect();
        let mut out = files::create(to_file)?;
        writeln!(out, "{:#}", json!({ "findings": findings }))?;
        out.flush()?;
    }
    if args.json.is_some() && to_file.is_none() {
        return Ok(Outcome::Clean);
    }
    let mut out = files::create(None)?;
    out.write_all(text(&findings).as_bytes())?;
    out.flush()?;
    Ok(Outcome::Clean)
}

/// Examines all settings.
fn examine(machine: &MachineFiles) -> Vec<DoctorFinding> {
    let mut findings = cpu::examine(machine);
    findings.extend(network::examine(machine));
    findings.extend(memory::examine(machine));
    findings
}

/// Formats a table of all findings, then what costs latency or memory and how to change it.
fn text(findings: &[DoctorFinding]) -> String {
    let columns = [("setting", Align::Left), ("found", Align::Left), ("verdict", Align::Left)];
    let mut table = TextTable::new(&columns);
    for DoctorFinding { name, found, verdict, .. } in findings {
        table.row(vec![name.clone(), found.clone(), verdict.name().to_owned()]);
    }
    let mut text = table.to_string();
    let headings = [
        (Verdict::Costs, "What costs latency"),
        (Verdict::Wasted, "Memory that nobody uses"),
        (Verdict::Unknown, "What this machine does not tell"),
    ];
    for (verdict, heading) in headings {
        let of_kind: Vec<&DoctorFinding> =
            findings.iter().filter(|finding| finding.verdict == verdict).collect();
        if of_kind.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{heading}:\n"));
        for DoctorFinding { name, cost, change, .. } in of_kind {
            text.push_str(&format!("\n  {name}: {cost}.\n"));
            if !change.is_empty() {
                text.push_str(&format!("    Change: {change}\n"));
            }
        }
    }
    text
}

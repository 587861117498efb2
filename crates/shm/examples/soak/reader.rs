//! A reader of the soak: checks every sample and every gap, and prints totals at the end.

use crate::{Outcome, place};
use std::path::Path;
use std::time::Duration;
use tickwire_shm::{ReaderWait, ShmEvent, ShmReader, Start};

pub fn run(directory: &Path) -> Outcome<()> {
    let (channel, schema) = place(directory)?;
    let mut reader = ShmReader::open(&channel, &schema, Start::Now, ReaderWait::Block)?;
    let mut values = reader.last_values()?;
    let first = values.seq_num();
    while let Some(sample) = values.next()? {
        if sample.seq_num >= first {
            return Err(fail(format!("last value {} is not from before {first}", sample.seq_num)));
        }
        check(sample.seq_num, sample.bytes)?;
    }
    println!("open");
    let (mut next, mut samples, mut lost, mut gaps, mut restarts) = (first, 0_u64, 0, 0_u64, 0_u64);
    loop {
        match reader.wait(Duration::from_secs(10))? {
            Some(ShmEvent::Sample(sample)) if sample.seq_num == next => {
                check(next, sample.bytes)?;
                samples += 1;
                next += 1;
            }
            Some(ShmEvent::Gap { from, to }) if from == next && to > from => {
                lost += to - from;
                gaps += 1;
                next = to;
            }
            Some(ShmEvent::Restarted { at, .. }) if at == next => restarts += 1,
            Some(ShmEvent::WriterGone) => {}
            Some(ShmEvent::Done { seq_num, .. }) if seq_num == next => {
                let whole = samples + lost == seq_num - first;
                println!(
                    "{samples} samples, {lost} lost in {gaps} gaps, restarts {restarts} seen, ended at {seq_num}"
                );
                return if whole { Ok(()) } else { Err("the numbers do not add up".into()) };
            }
            other => return Err(fail(format!("at {next}: {other:?}"))),
        }
    }
}

/// Prints the message for the supervisor and returns it as an error.
fn fail(message: String) -> Box<dyn std::error::Error> {
    println!("{message}");
    message.into()
}

fn check(seq_num: u64, bytes: &[u8]) -> Outcome<()> {
    let is_whole =
        bytes.len() == 200 && bytes.chunks_exact(8).all(|word| word == seq_num.to_le_bytes());
    match is_whole {
        true => Ok(()),
        false => Err(fail(format!("sample {seq_num} is torn"))),
    }
}

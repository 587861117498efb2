//! Shared by the programs here: arguments, timing and output.

use std::error::Error;
use std::io::Read;
use std::time::{Duration, Instant};

/// Runs of an operation in one pass.
const RUNS: u32 = 2000;

/// Returns the message from standard input, and the time to measure each operation.
pub fn arguments() -> Result<(Vec<u8>, Duration), Box<dyn Error>> {
    let seconds = std::env::args().nth(1).ok_or("expected: SECONDS")?;
    let mut message = Vec::new();
    std::io::stdin().read_to_end(&mut message)?;
    Ok((message, Duration::try_from_secs_f64(seconds.parse()?)?))
}

/// Returns the minimum nanoseconds of a run.
pub fn least(time: Duration, mut run: impl FnMut()) -> f64 {
    let (start, mut least) = (Instant::now(), Duration::MAX);
    while start.elapsed() < time || least == Duration::MAX {
        let pass = Instant::now();
        (0..RUNS).for_each(|_| run());
        least = least.min(pass.elapsed());
    }
    least.as_nanos() as f64 / f64::from(RUNS)
}

/// Prints operations and their nanoseconds as a line of JSON.
pub fn print(times: &[(&str, f64)]) {
    let times: Vec<String> =
        times.iter().map(|(operation, nanos)| format!("\"{operation}\": {nanos:.2}")).collect();
    println!("{{{}}}", times.join(", "));
}

//! The writer of the soak: publishes 100,000 samples a second in bursts and prints the cost of a publish once a second.

use crate::{Outcome, place};
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tickwire_shm::{Readers, ShmWriter, WriterOptions};

const BURST: u64 = 64;
const BURSTS_PER_SECOND: u64 = 1_600;
/// Number of keys; they are added one by one while the writer runs.
const KEYS: u64 = 5_000;

pub fn run(directory: &Path) -> Outcome<()> {
    let (channel, schema) = place(directory)?;
    let options = WriterOptions {
        sample_bytes: 200,
        slots: 1 << 14,
        key_bytes: 8,
        keys: 64,
        readers: Readers::Owner,
    };
    let mut writer = ShmWriter::open(&channel, &schema, &options)?;
    println!("open");
    let is_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            is_ended.store(true, Ordering::Relaxed);
        });
        while !is_ended.load(Ordering::Relaxed) {
            println!("cost {}", publish_second(&mut writer)?);
        }
        Ok::<(), Box<dyn std::error::Error>>(())
    })?;
    Ok(writer.finish()?)
}

/// Publishes for a second and returns the median cost of a publish in nanoseconds.
fn publish_second(writer: &mut ShmWriter) -> Outcome<f64> {
    let mut costs = Vec::new();
    for _ in 0..BURSTS_PER_SECOND {
        let number = writer.next_seq_num();
        let key = writer.key(&(number / BURST % KEYS).to_le_bytes())?;
        let begun = Instant::now();
        for _ in 0..BURST {
            let mut sample = [0; 200];
            let number = writer.next_seq_num().to_le_bytes();
            sample.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&number));
            writer.publish_keyed(key, &sample)?;
        }
        let elapsed = begun.elapsed();
        costs.push(elapsed.as_nanos() as f64 / BURST as f64);
        thread::sleep(Duration::from_secs(1) / BURSTS_PER_SECOND as u32);
    }
    costs.sort_by(f64::total_cmp);
    Ok(costs[costs.len() / 2])
}

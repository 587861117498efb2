//! Publishes prices to other processes: run `prices write` in one shell and `prices read` in any number of others.

use std::error::Error;
use std::time::Duration;
use tickwire_shm::{
    ReaderWait, Schema, ShmChannel, ShmEvent, ShmReader, ShmSample, ShmWriter, Start, WriterOptions,
};

fn main() -> Result<(), Box<dyn Error>> {
    let channel = ShmChannel::new("prices")?;
    let schema = Schema::new("Price", b"struct Price { long long value; };")?;
    match std::env::args().nth(1).as_deref() {
        Some("write") => write(&channel, &schema),
        Some("read") => read(&channel, &schema),
        _ => Err("usage: prices write | prices read".into()),
    }
}

fn write(channel: &ShmChannel, schema: &Schema) -> Result<(), Box<dyn Error>> {
    let mut writer = ShmWriter::open(channel, schema, &WriterOptions::default())?;
    let keys = [writer.key(b"ESZ6")?, writer.key(b"NQZ6")?];
    for (value, key) in (0_i64..1000).zip(keys.iter().cycle()) {
        writer.publish_keyed(*key, &value.to_le_bytes())?;
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(writer.finish()?)
}

fn read(channel: &ShmChannel, schema: &Schema) -> Result<(), Box<dyn Error>> {
    let wait = ReaderWait::SpinThenBlock(Duration::from_micros(50));
    let mut reader = ShmReader::open(channel, schema, Start::Now, wait)?;
    let mut values = reader.last_values()?;
    while let Some(sample) = values.next()? {
        print("last value", sample)?;
    }
    loop {
        match reader.wait(Duration::from_secs(1))? {
            Some(ShmEvent::Sample(sample)) => print("sample", sample)?,
            Some(ShmEvent::Done { samples, .. }) => break println!("done, {samples} samples"),
            Some(other) => println!("{other:?}"),
            None => println!("nothing for a second"),
        }
    }
    Ok(())
}

fn print(what: &str, sample: ShmSample<'_>) -> Result<(), Box<dyn Error>> {
    let value = i64::from_le_bytes(sample.bytes.try_into()?);
    println!("{what} {}, key {:?}: {value}", sample.seq_num, sample.key);
    Ok(())
}

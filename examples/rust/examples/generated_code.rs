//! Decodes with generated code: fields are members of structs. The simulated exchange generates the
//! feed; the module comes from `tickwire-fast-generated`. `tickwire templates generate` creates
//! such a module from any template file.

use std::error::Error;
use std::sync::Arc;
use tickwire_exchange::{Generator, Options};
use tickwire_fast::generated::{ModuleDecoder, ModuleMessage};
use tickwire_fast_generated::exchange_complex as complex;

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options { messages: 1_000, ..Options::complex() };
    let mut generator = Generator::new(&options)?;
    // Refuses a template set other than that of the module.
    let mut decoder = ModuleDecoder::<complex::Templates>::new(Arc::clone(generator.program()))?;
    let (mut entries, mut size, mut others) = (0, 0_i64, 0);
    while let Some(packet) = generator.next_packet()? {
        // This feed resets dictionaries before every packet.
        decoder.reset();
        match decoder.decode(&packet.bytes)?.message {
            ModuleMessage::Known(complex::Message::MarketData(data)) => {
                entries += data.md_entries.len();
                let sizes = data.md_entries.iter().filter_map(|entry| entry.md_entry_size());
                size += sizes.map(i64::from).sum::<i64>();
            }
            ModuleMessage::Known(_) | ModuleMessage::Dynamic(_) => others += 1,
        }
    }
    println!("{entries} entries, size {size} in all; {others} other messages");
    Ok(())
}

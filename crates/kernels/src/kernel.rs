//! The kernels whose instructions are counted: portable code, and machine code of FAST templates, on synthetic data.

mod fast;
mod fix;

use std::hint::black_box;
use tickwire_exchange::Options;
use tickwire_fast_generated::{exchange_complex, simple};
use tickwire_opra::{Decode, bottom_up, generate};

/// Approximate number of messages per pass.
const MESSAGES: u64 = 2_000;

/// Work that can be repeated.
type KernelPass = Box<dyn FnMut()>;

/// A reproducible piece of work.
pub struct Kernel {
    /// Name in tables and files.
    pub name: &'static str,
    /// Messages of one pass.
    pub messages: u64,
    prepare: fn() -> Result<KernelPass, String>,
}

const fn kernel(name: &'static str, prepare: fn() -> Result<KernelPass, String>) -> Kernel {
    Kernel { name, messages: MESSAGES, prepare }
}

impl Kernel {
    /// All kernels.
    pub const ALL: [Self; 15] = [
        kernel("fast/decode/simple", || fast::decode(&Options::simple())),
        kernel("fast/decode/complex", || fast::decode(&Options::complex())),
        kernel("fast/decode-machine-code/simple", || fast::decode_compiled(&Options::simple())),
        kernel("fast/decode-machine-code/complex", || fast::decode_compiled(&Options::complex())),
        kernel("fast/decode-generated/simple", || {
            fast::decode_generated::<simple::Templates>(&Options::simple())
        }),
        kernel("fast/decode-generated/complex", || {
            fast::decode_generated::<exchange_complex::Templates>(&Options::complex())
        }),
        kernel("fast/encode/simple", || fast::encode(&Options::simple())),
        kernel("fast/encode/complex", || fast::encode(&Options::complex())),
        kernel("fast/encode-generated/simple", || {
            fast::encode_generated::<simple::Templates>(&Options::simple())
        }),
        kernel("fast/encode-generated/complex", || {
            fast::encode_generated::<exchange_complex::Templates>(&Options::complex())
        }),
        kernel("fix/parse/new-order-single", || fix::parse(fix::ORDER)),
        kernel("fix/parse/execution-report", || fix::parse(fix::REPORT)),
        kernel("fix/encode/new-order-single", fix::encode_order),
        kernel("fix/encode/execution-report", fix::encode_report),
        kernel("opra/decode/bottom-up", opra),
    ];

    /// Returns the kernel of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kernel| kernel.name == name)
    }

    /// Prepares the data and runs `passes` passes.
    ///
    /// # Errors
    /// The data cannot be generated; the text is for people.
    pub fn run(&self, passes: u64) -> Result<(), String> {
        let mut pass = (self.prepare)()?;
        (0..passes).for_each(|_| pass());
        Ok(())
    }
}

fn opra() -> Result<KernelPass, String> {
    let packets = generate::trace(tickwire_opra::OpraVersion::V2, 1, MESSAGES)
        .map_err(|error| error.to_string())?;
    let mut decoder = bottom_up::BottomUpDecoder::with_engine(bottom_up::BottomUpEngine::Portable)
        .ok_or("the portable engine runs anywhere")?;
    Ok(Box::new(move || {
        for packet in &packets {
            let decoded = decoder.decode_packet(packet, |message| _ = black_box(message));
            assert!(decoded.is_ok(), "a generated packet decodes");
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_runs_and_is_found_by_its_name() {
        for kernel in Kernel::ALL {
            assert_eq!(Kernel::named(kernel.name).map(|found| found.name), Some(kernel.name));
            kernel.run(2).unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
        }
    }
}

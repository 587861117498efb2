//! Trading days with faults through the whole feed handler.

use tickwire_simulation::{Scenario, Size, run};

/// Packets of a day: a few milliseconds of work for each input.
const SIZE: Size = Size { packets_max: 60 };

/// Draws a day of the simulated exchange, faults of its lines and a handler from the bytes, and checks that fresh
/// books are true, that what comes in time is delivered once, and that books recover.
pub fn handler(data: &[u8]) {
    let scenario = Scenario::from_bytes(data, SIZE);
    if let Err(violation) = run(&scenario) {
        panic!("{violation}\n{scenario:#?}");
    }
}

//! Trading days with faults through the whole feed handler.

use tickwire_simulation::{Scenario, ScenarioSize, run};

/// Packets per day: a few milliseconds of work for each input.
const SIZE: ScenarioSize = ScenarioSize { packets_max: 60 };

/// Draws a simulated day, line faults and a handler from the bytes. Checks that fresh books are
/// correct, that packets in time are delivered once, and that books recover.
pub fn handler(data: &[u8]) {
    let scenario = Scenario::from_bytes(data, SIZE);
    if let Err(violation) = run(&scenario) {
        panic!("{violation}\n{scenario:#?}");
    }
}

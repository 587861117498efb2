//! The building blocks of the portable engine, measured separately: the rows of the study's table 2.

use super::Analysis;
use crate::bench::counted;
use crate::bench::timing::{TimedOperation, minima};
use crate::failure::Failure;
use crate::opra::bench::machine::MachineProperties;
use crate::opra::bench::report::rounded;
use crate::table::{Align, TextTable};
use serde_json::json;
use std::time::Duration;
use tickwire_kernels::callgrind;
use tickwire_opra::bottom_up::blocks::{BlockKernel, BuildingBlock};

/// Seed of the input of the blocks.
const SEED: u64 = 1;

/// Cost of a block.
pub struct BlockCost {
    /// The block.
    pub block: BuildingBlock,
    /// Nanoseconds an item.
    pub ns: f64,
    /// Instructions per item, if they can be counted.
    instructions: Option<f64>,
}

/// Measures all blocks; with `counts` also in instructions.
pub fn measure(time: Duration, counts: bool) -> Result<Vec<BlockCost>, Failure> {
    let mut kernels: Vec<BlockKernel> =
        BuildingBlock::ALL.map(|block| BlockKernel::new(block, SEED)).into();
    let mut cases: Vec<TimedOperation<'_>> = kernels
        .iter_mut()
        .map(|kernel| {
            let items = kernel.items();
            TimedOperation::of_many(items, move || kernel.run())
        })
        .collect();
    let times = minima(&mut cases, time);
    let counts = counts && callgrind::is_available();
    let cost = |(block, ns): (BuildingBlock, f64)| {
        let instructions = if counts { Some(instructions(block)?) } else { None };
        Ok(BlockCost { block, ns, instructions })
    };
    BuildingBlock::ALL.into_iter().zip(times).map(cost).collect()
}

/// Instructions per item, counted by callgrind.
fn instructions(block: BuildingBlock) -> Result<f64, Failure> {
    let name = block.name();
    let of_pass = counted::instructions_of_a_pass(&["opra", "bench", "--block", &name])?;
    Ok(of_pass / BlockKernel::new(block, SEED).items() as f64)
}

/// Runs one block `passes` times and nothing else, for callgrind.
///
/// # Errors
/// There is no block of this name.
pub fn run_block(name: &str, passes: u64) -> Result<(), Failure> {
    let block = BuildingBlock::from_name(name)
        .ok_or_else(|| Failure::Usage(format!("there is no block \"{name}\"")))?;
    let mut kernel = BlockKernel::new(block, SEED);
    (0..passes).for_each(|_| kernel.run());
    Ok(())
}

/// Adds the costs to the analysis, per byte for blocks that read bytes of the wire.
pub fn report(costs: &[BlockCost], machine: &MachineProperties, analysis: &mut Analysis) {
    let mut table = TextTable::new(&[
        ("building block", Align::Left),
        ("unit", Align::Left),
        ("instructions", Align::Right),
        ("ns", Align::Right),
        ("cycles", Align::Right),
    ]);
    for cost in costs {
        let (unit, scale) = match cost.block.bytes() {
            Some(bytes) => ("byte", 1.0 / f64::from(bytes)),
            None => match cost.block {
                BuildingBlock::NextField => ("field", 1.0),
                _ => ("message", 1.0),
            },
        };
        let (ns, instructions) = (cost.ns * scale, cost.instructions.map(|count| count * scale));
        let cycles = ns * machine.clock_ghz;
        table.row(vec![
            cost.block.name(),
            unit.to_owned(),
            instructions.map_or("not available".to_owned(), |count| format!("{count:.1}")),
            format!("{ns:.2}"),
            format!("{cycles:.1}"),
        ]);
        analysis.objects.push(json!({
            "block": cost.block.name(),
            "unit": unit,
            "instructions": instructions.map(|count| rounded(count, 2)),
            "ns": rounded(ns, 3),
            "cycles": rounded(cycles, 2),
        }));
    }
    let text = format!("\nBuilding blocks of the portable engine (table 2)\n\n{table}");
    analysis.text.push_str(&text);
}

//! Records of a run: presence maps, and the loop over the entries of a sequence.

use super::lane::{HEAD, RecordEmitter};
use crate::program::{LaneCode, LaneRun, SegmentLayout};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlags, Value, types};
use cranelift_frontend::FunctionBuilder;

/// Bits of a presence-map byte.
const MAP_BYTE_BITS: u32 = 7;
const STOP: i64 = 0x80;

/// A run and the segment that begins with it.
pub(super) struct EntryFrame<'p> {
    pub run: &'p LaneRun,
    pub segment: &'p SegmentLayout,
}

/// Returns the most bytes that a record of the run reads: presence map, fields, and the excess of
/// eight-byte loads.
pub(super) fn bytes_max(run: &LaneRun) -> usize {
    let fields = run.codes.iter().take(run.count as usize).map(|code| match code {
        LaneCode::Constant => 0,
        LaneCode::Ascii | LaneCode::AsciiNullable => 8,
        _ => 9,
    });
    map_bytes(run) as usize + fields.sum::<usize>() + 8
}

fn map_bytes(run: &LaneRun) -> u32 {
    run.map_bits.div_ceil(MAP_BYTE_BITS)
}

/// Returns the bits of a full presence map; the first bit is the highest of them.
pub(super) fn map_width(run: &LaneRun) -> u32 {
    map_bytes(run) * MAP_BYTE_BITS
}

/// Moves the bits of a map, first bit at the top, to where the record's code expects them.
pub(super) fn first_lowered(b: &mut FunctionBuilder<'_>, run: &LaneRun, bits: Value) -> Value {
    match i64::from(map_width(run)) {
        0 => bits,
        width => b.ins().ushr_imm(bits, 64 - width),
    }
}

impl EntryFrame<'_> {
    /// Returns the distance in bytes from the first lane of a record to its presence word.
    pub(super) fn to_presence(&self) -> i64 {
        8 * (i64::from(self.segment.presence_at) - i64::from(self.run.first_slot))
    }

    /// Emits a loop over entries. `start` is: position, lanes carried and assigned, entries left,
    /// first lane of the record and of the previous one. Returns the first three of these after the
    /// last entry, where code continues.
    pub(super) fn repeated(
        &self,
        b: &mut FunctionBuilder<'_>,
        start: [Value; 6],
        last: Value,
        bail: Block,
    ) -> [Value; 3] {
        let head = b.create_block();
        let again = start.map(|_| b.append_block_param(head, types::I64));
        let [position, carried, assigned, left, out, before] = again;
        let exit = b.create_block();
        let results = [(); 3].map(|()| b.append_block_param(exit, types::I64));
        b.ins().jump(head, &start.map(BlockArg::Value));

        b.switch_to_block(head);
        let is_near_end = b.ins().icmp(IntCC::UnsignedGreaterThan, position, last);
        let plain = b.create_block();
        b.ins().brif(is_near_end, bail, &[], plain, &[]);
        b.switch_to_block(plain);
        let (bits, fields) = self.presence_map(b, position, bail);
        let mut body = RecordEmitter::new(b, self.run, bits, before, out, bail);
        body.record(fields, carried);
        let (end, present) = body.done();
        b.ins().store(HEAD, present, out, self.to_presence() as i32);
        let all_assigned = b.ins().bor(assigned, present);
        let fewer = b.ins().iadd_imm(left, -1);
        let next = b.ins().iadd_imm(out, 8 * i64::from(self.segment.record_words));
        let onward = [end, present, all_assigned, fewer, next, out].map(BlockArg::Value);
        b.ins().brif(fewer, head, &onward, exit, &onward[..3]);
        b.switch_to_block(exit);
        results
    }

    /// Reads a presence map of at most as many bytes as the run needs.
    fn presence_map(
        &self,
        b: &mut FunctionBuilder<'_>,
        position: Value,
        bail: Block,
    ) -> (Value, Value) {
        let bytes = map_bytes(self.run);
        if bytes == 0 {
            let none = b.ins().iconst(types::I64, 0);
            return (none, position);
        }
        let width = map_width(self.run);
        let done = b.create_block();
        let bits = b.append_block_param(done, types::I64);
        let end = b.append_block_param(done, types::I64);
        let mut so_far = None;
        for index in 0..bytes {
            let byte = b.ins().uload8(types::I64, HEAD, position, index as i32);
            if index > 0 {
                // Overlong: only the operations decide whether it is an error.
                let is_overlong = b.ins().icmp_imm(IntCC::Equal, byte, STOP);
                let plain = b.create_block();
                b.ins().brif(is_overlong, bail, &[], plain, &[]);
                b.switch_to_block(plain);
            }
            let seven = b.ins().band_imm(byte, STOP - 1);
            let shift = i64::from(width - MAP_BYTE_BITS * (index + 1));
            let placed = b.ins().ishl_imm(seven, shift);
            let bits = match so_far {
                Some(bits) => b.ins().bor(bits, placed),
                None => placed,
            };
            so_far = Some(bits);
            let is_last = b.ins().band_imm(byte, STOP);
            let end = b.ins().iadd_imm(position, i64::from(index) + 1);
            let arguments = [bits, end].map(BlockArg::Value);
            if index + 1 == bytes {
                b.ins().brif(is_last, done, &arguments, bail, &[]);
            } else {
                let more = b.create_block();
                b.ins().brif(is_last, done, &arguments, more, &[]);
                b.switch_to_block(more);
            }
        }
        b.switch_to_block(done);
        let unused = width - self.run.map_bits;
        if unused > 0 {
            // Bits that the run does not use: the operations report them.
            let is_more = b.ins().band_imm(bits, (1 << unused) - 1);
            let plain = b.create_block();
            b.ins().brif(is_more, bail, &[], plain, &[]);
            b.switch_to_block(plain);
        }
        (bits, end)
    }
}

pub(super) fn load(b: &mut FunctionBuilder<'_>, call: Value, at: usize) -> Value {
    b.ins().load(types::I64, MemFlags::trusted(), call, at as i32)
}

pub(super) fn store(b: &mut FunctionBuilder<'_>, call: Value, at: usize, value: Value) {
    b.ins().store(MemFlags::trusted(), value, call, at as i32);
}

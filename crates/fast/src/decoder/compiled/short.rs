//! The code of copied lanes that have one byte in the stream or none: one branch for both, because
//! which of them it is nobody can predict.

use super::lane::{Body, HEAD};
use super::record::map_width;
use crate::program::{LaneCode, Run};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, types};

/// Integers of one byte, NULL among them, are below this; a byte's values are at most `BYTE_MAX`.
const ONE_BYTE: u64 = 127;
const BYTE_MAX: u64 = 255;

/// Whether a lane is copied and, as far as the template tells, most often short where it is sent: its
/// type has few values, or its initial value is of one byte.
pub(super) fn is_often_short(run: &Run, lane: usize) -> bool {
    let mask = 1u32 << lane;
    if run.carried & mask == 0 || run.increments & mask != 0 {
        return false;
    }
    let initial = u64::from_le_bytes(run.fresh[lane]);
    let has_initial = run.fresh_carried & mask != 0;
    match run.codes[lane] {
        LaneCode::Unsigned | LaneCode::UnsignedNullable => {
            let (bias, limit) = (run.bias[lane], run.limit[lane]);
            // What has one byte is in range then.
            let takes_any = bias == 0 && limit >= ONE_BYTE;
            takes_any && (limit <= BYTE_MAX || has_initial && initial < ONE_BYTE)
        }
        // The last byte of the word of a string is its length.
        LaneCode::Ascii | LaneCode::AsciiNullable => has_initial && initial >> 56 == 1,
        _ => false,
    }
}

impl Body<'_, '_> {
    /// Takes a copied lane that is not in the stream, or has one byte there and is not NULL, and goes
    /// on in `after`; any other is still to be read here.
    pub(super) fn short_or_silent(&mut self, lane: usize, bit: u32, after: Block) {
        let code = self.run.codes[lane];
        let position = self.b.use_var(self.position);
        let byte = self.b.ins().uload8(types::I64, HEAD, position, 0);
        let shift = i64::from(map_width(self.run) - 1 - bit);
        let is_sent = self.b.ins().ushr_imm(self.bits, shift);
        let is_sent = self.b.ins().band_imm(is_sent, 1);
        // A stop bit, and where it would be NULL or a string of a zero something besides.
        let least = if code == LaneCode::Unsigned { 0x80 } else { 0x81 };
        let is_less = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, byte, least);
        let is_less = self.b.ins().uextend(types::I64, is_less);
        let is_other = self.b.ins().band(is_less, is_sent);
        let (plain, other) = (self.create_block(), self.create_block());
        self.b.ins().brif(is_other, other, &[], plain, &[]);

        self.b.switch_to_block(plain);
        let sent = match code {
            LaneCode::Unsigned => self.b.ins().band_imm(byte, 0x7f),
            LaneCode::UnsignedNullable => self.b.ins().iadd_imm(byte, -0x81),
            _ => {
                let character = self.b.ins().band_imm(byte, 0x7f);
                self.b.ins().bor_imm(character, 1 << 56)
            }
        };
        let before = self.load_before(lane);
        let word = self.b.ins().select(is_sent, sent, before);
        self.store(lane, word);
        let sent_lane = self.b.ins().ishl_imm(is_sent, lane as i64);
        let present = self.b.use_var(self.present);
        let present = self.b.ins().bor(present, sent_lane);
        self.b.def_var(self.present, present);
        let end = self.b.ins().iadd(position, is_sent);
        self.b.def_var(self.position, end);
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(other);
    }
}

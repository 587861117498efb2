//! Code for copied lanes that are mostly one byte in the stream or not sent: one branch covers both
//! cases, because which of them occurs is unpredictable.

use super::flow::CodeFlow;
use super::lane::{HEAD, RecordEmitter};
use super::record::map_width;
use crate::program::{LaneCode, LaneRun};
use crate::template::SilentValue;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, types};

/// One-byte integers, NULL included, are below this.
const ONE_BYTE: u64 = 127;
const BYTE_MAX: u64 = 255;

/// Heuristic: true if a lane is copied and its values are mostly short, because its type has few
/// values or its initial value has one byte.
pub(super) fn is_often_short(run: &LaneRun, lane: usize) -> bool {
    if run.rules[lane].silent != SilentValue::Previous {
        return false;
    }
    let initial = u64::from_le_bytes(run.fresh[lane]);
    let has_initial = run.fresh_carried >> lane & 1 != 0;
    match run.codes[lane] {
        LaneCode::Unsigned | LaneCode::UnsignedNullable => {
            let (bias, limit) = (run.bias[lane], run.limit[lane]);
            // Every one-byte value is in range.
            let takes_any = bias == 0 && limit >= ONE_BYTE;
            takes_any && (limit <= BYTE_MAX || has_initial && initial < ONE_BYTE)
        }
        // The last byte of a string's word is its length.
        LaneCode::Ascii | LaneCode::AsciiNullable => has_initial && initial >> 56 == 1,
        _ => false,
    }
}

impl RecordEmitter<'_, '_> {
    /// Handles a copied lane that is not in the stream, or is one byte and not NULL, and continues
    /// in `after`. Other cases continue here, not yet read.
    pub(super) fn short_or_silent(&mut self, lane: usize, bit: u32, after: Block) {
        let code = self.run.codes[lane];
        let position = self.b.use_var(self.position);
        let byte = self.b.ins().uload8(types::I64, HEAD, position, 0);
        let shift = i64::from(map_width(self.run) - 1 - bit);
        let is_sent = self.b.ins().ushr_imm(self.bits, shift);
        let is_sent = self.b.ins().band_imm(is_sent, 1);
        // A stop bit; if zero data bits mean NULL or a string of a zero byte, another bit as well.
        let least = if code == LaneCode::Unsigned { 0x80 } else { 0x81 };
        let is_less = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, byte, least);
        let is_less = self.b.ins().uextend(types::I64, is_less);
        let is_other = self.b.ins().band(is_less, is_sent);
        let (plain, other) = (self.block(), self.block());
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

//! Calls from machine code to the SIMD engine for the entries of a sequence.

use super::super::wide::{WideCall, WideKernel};
use super::message::MessageCall;
use super::record::{load, store};
use crate::program::LanePlan;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, BlockArg, InstBuilder, Signature, Value, types};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::FunctionBuilder;
use std::mem::offset_of;

/// Plan with which the SIMD engine decodes the entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct VectorCall {
    pub kernel: WideKernel,
    /// Valid as long as the code.
    pub plan: *const LanePlan,
    /// True if the plan has lanes for entries that are undefined.
    pub has_fresh: bool,
}

/// Emits the call of the SIMD engine, if enabled for this message; jumps to `done` if it decoded
/// the entries. `start` is as in [`EntryFrame::repeated`](super::record::EntryFrame::repeated).
pub(super) fn by_vectors(
    b: &mut FunctionBuilder<'_>,
    vectors: &VectorCall,
    call: Value,
    (start, there): ([Value; 6], Value),
    done: Block,
) {
    let (asked, by_code) = (b.create_block(), b.create_block());
    let is_wanted = load(b, call, offset_of!(MessageCall, vectors));
    b.ins().brif(is_wanted, asked, &[], by_code, &[]);

    b.switch_to_block(asked);
    let [position, carried, assigned, left, out, lanes] = start;
    let mut before = lanes;
    if vectors.has_fresh {
        let null = b.ins().iconst(types::I64, 0);
        let is_fresh = b.ins().icmp_imm(IntCC::Equal, there, -1);
        before = b.ins().select(is_fresh, null, lanes);
    }
    const WIDE: usize = offset_of!(MessageCall, wide);
    store(b, call, WIDE + offset_of!(WideCall, before), before);
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.extend([AbiParam::new(types::I64); 6]);
    signature.returns.extend([AbiParam::new(types::I64); 2]);
    let signature = b.import_signature(signature);
    let kernel = b.ins().iconst(types::I64, vectors.kernel as usize as i64);
    let plan = b.ins().iconst(types::I64, vectors.plan as i64);
    let wide = b.ins().iadd_imm(call, WIDE as i64);
    let arguments = [plan, wide, position, out, left, carried];
    let called = b.ins().call_indirect(signature, kernel, &arguments);
    let [end, present] = [0, 1].map(|index| b.inst_results(called)[index]);
    let present_ever = b.ins().ushr_imm(present, 32);
    let assigned = b.ins().bor(assigned, present_ever);
    let results = [end, present, assigned].map(BlockArg::Value);
    b.ins().brif(end, done, &results, by_code, &[]);
    b.switch_to_block(by_code);
}

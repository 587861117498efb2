//! Blocks of compiled code, for runs and for trees.

use cranelift_codegen::ir::{Block, InstBuilder, Value};
use cranelift_frontend::FunctionBuilder;

/// An emitter of code that bails out in rare cases and has cold blocks, placed after all others.
pub(super) trait CodeFlow<'f> {
    fn builder(&mut self) -> &mut FunctionBuilder<'f>;

    /// Returns the block that bails out.
    fn bail_block(&self) -> Block;

    /// True while cold blocks are emitted.
    fn aside(&mut self) -> &mut bool;

    fn block(&mut self) -> Block {
        match *self.aside() {
            true => self.block_aside(),
            false => self.builder().create_block(),
        }
    }

    /// Creates a cold block.
    fn block_aside(&mut self) -> Block {
        let block = self.builder().create_block();
        self.builder().set_cold_block(block);
        block
    }

    /// Switches emission of cold blocks on or off; returns the previous setting.
    fn set_aside(&mut self, is_aside: bool) -> bool {
        std::mem::replace(self.aside(), is_aside)
    }

    /// Branches to `then` if the condition is not 0, otherwise to `otherwise`; does not continue in
    /// either.
    fn branch(&mut self, condition: Value, then: Block, otherwise: Block) {
        self.builder().ins().brif(condition, then, &[], otherwise, &[]);
    }

    fn bail_if(&mut self, condition: Value) {
        let (plain, bail) = (self.block(), self.bail_block());
        self.branch(condition, bail, plain);
        self.builder().switch_to_block(plain);
    }
}

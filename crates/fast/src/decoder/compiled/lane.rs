//! Code of a record: one lane after the other, in wire order.

use super::flow::CodeFlow;
use super::integer::{Range, StreamInteger, WireLength};
use super::numbers;
use super::record::map_width;
use super::short::is_often_short;
use crate::program::{LaneCode, LaneRun};
use crate::template::{SilentValue, StreamContent};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlags, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};

/// Flags for loads and stores of memory that is known to be accessible.
pub(super) const HEAD: MemFlags = MemFlags::new().with_notrap();

/// Properties of a lane that select how its integer is read.
#[derive(Clone, Copy, Debug)]
struct IntegerForm {
    signed: bool,
    nullable: bool,
    delta: bool,
}

/// Emitter of one record.
pub(super) struct RecordEmitter<'a, 'f> {
    pub(super) b: &'a mut FunctionBuilder<'f>,
    pub(super) run: &'a LaneRun,
    /// The presence map; its first bit is the highest of [`map_width`] bits.
    pub(super) bits: Value,
    /// Lanes of the previous record.
    before: Value,
    /// First lane of this record.
    out: Value,
    pub(super) bail: Block,
    pub(super) position: Variable,
    /// The presence word under construction.
    pub(super) present: Variable,
    /// True while emitting cold blocks, which are placed after all others.
    is_aside: bool,
}

impl<'f> CodeFlow<'f> for RecordEmitter<'_, 'f> {
    fn builder(&mut self) -> &mut FunctionBuilder<'f> {
        self.b
    }

    fn bail_block(&self) -> Block {
        self.bail
    }

    fn aside(&mut self) -> &mut bool {
        &mut self.is_aside
    }
}

impl<'a, 'f> RecordEmitter<'a, 'f> {
    pub(super) fn new(
        b: &'a mut FunctionBuilder<'f>,
        run: &'a LaneRun,
        bits: Value,
        before: Value,
        out: Value,
        bail: Block,
    ) -> Self {
        let position = b.declare_var(types::I64);
        let present = b.declare_var(types::I64);
        Self { b, run, bits, before, out, bail, position, present, is_aside: false }
    }

    /// Emits the record that begins at `position`, after its presence map.
    pub(super) fn record(&mut self, position: Value, carried: Value) {
        self.b.def_var(self.position, position);
        let known = self.b.ins().band_imm(carried, i64::from(self.run.carried));
        // Lanes that may be absent start as present, and so do fields after the run.
        let others = !u64::from(self.run.carried);
        let present = self.b.ins().bor_imm(known, others as i64);
        self.b.def_var(self.present, present);
        let mut lane = 0;
        while lane < self.run.count as usize {
            lane += self.lane(lane);
        }
        let required = self.run.required & self.run.carried;
        if required != 0 {
            let present = self.b.use_var(self.present);
            let found = self.b.ins().band_imm(present, i64::from(required));
            let is_less = self.b.ins().icmp_imm(IntCC::NotEqual, found, i64::from(required));
            self.bail_if(is_less);
        }
    }

    /// Returns the end of the record and its presence word.
    pub(super) fn done(self) -> (Value, Value) {
        let end = self.b.use_var(self.position);
        let present = self.b.use_var(self.present);
        (end, present)
    }

    /// Emits a lane, or the two lanes of a decimal; returns the number of lanes.
    fn lane(&mut self, lane: usize) -> usize {
        if self.run.codes[lane] == LaneCode::ExponentNullable {
            self.optional_decimal(lane);
            return 2;
        }
        let after = self.b.create_block();
        match self.run.map_bit(lane) {
            None => self.in_stream(lane, after),
            Some(bit) if is_often_short(self.run, lane) => {
                self.short_or_silent(lane, bit, after);
                self.read(lane, after, None);
            }
            Some(bit) => {
                let silent = self.branch_if_in_stream(bit);
                self.in_stream(lane, after);
                self.b.switch_to_block(silent);
                self.silent(lane);
                self.b.ins().jump(after, &[]);
            }
        }
        self.b.switch_to_block(after);
        1
    }

    /// Emits a lane that is in the stream, or a constant that is present; continues in `after`.
    fn in_stream(&mut self, lane: usize, after: Block) {
        if self.run.rules[lane].is_constant() {
            self.store_constant(lane);
            self.b.ins().jump(after, &[]);
        } else {
            self.read(lane, after, None);
        }
    }

    /// Emits an exponent that may be NULL, and its mantissa, which is absent if the exponent is.
    fn optional_decimal(&mut self, lane: usize) {
        let (both, mantissa) = (3 << lane, lane + 1);
        let after = self.b.create_block();
        let with_mantissa = self.b.create_block();
        let without = self.b.create_block();
        let silent = self.run.map_bit(lane).map(|bit| self.branch_if_in_stream(bit));
        self.read(lane, with_mantissa, Some(without));
        if let Some(silent) = silent {
            self.b.switch_to_block(silent);
            if self.run.rules[lane].silent == SilentValue::Initial {
                self.store_constant(lane);
                self.b.ins().jump(with_mantissa, &[]);
            } else {
                self.b.ins().jump(without, &[]);
            }
        }
        self.b.switch_to_block(with_mantissa);
        self.read(mantissa, after, None);
        self.b.switch_to_block(without);
        self.clear(both);
        if self.run.rules[mantissa].stream == StreamContent::Delta {
            let before = self.load_before(mantissa);
            self.store(mantissa, before);
        }
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
    }

    /// Branches on a presence-map bit: continues in a block for the set bit, returns the block for
    /// the clear bit.
    fn branch_if_in_stream(&mut self, bit: u32) -> Block {
        let mask = 1i64 << (map_width(self.run) - 1 - bit);
        let is_set = self.b.ins().band_imm(self.bits, mask);
        let (stream, silent) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(is_set, stream, &[], silent, &[]);
        self.b.switch_to_block(stream);
        silent
    }

    /// Emits a lane that is not in the stream.
    fn silent(&mut self, lane: usize) {
        match self.run.rules[lane].silent {
            SilentValue::Never | SilentValue::Absent => self.clear(1 << lane),
            SilentValue::Initial => self.store_constant(lane),
            SilentValue::Previous => {
                let value = self.load_before(lane);
                self.store(lane, value);
            }
            SilentValue::Next => {
                let value = self.load_before(lane);
                let value = self.b.ins().iadd_imm(value, 1);
                self.check_range(lane, value);
                self.store(lane, value);
            }
        }
    }

    fn store_constant(&mut self, lane: usize) {
        let value = self.b.ins().iconst(types::I64, self.run.add[lane] as i64);
        self.store(lane, value);
    }

    /// Reads a lane from the stream and continues in `after`, or in `null` if it is NULL (default:
    /// marks the lane absent).
    fn read(&mut self, lane: usize, after: Block, null: Option<Block>) {
        use LaneCode as C;
        let absent = self.b.create_block();
        let kind = match self.run.codes[lane] {
            C::Unsigned => IntegerForm { signed: false, nullable: false, delta: false },
            C::UnsignedNullable => IntegerForm { signed: false, nullable: true, delta: false },
            C::Signed => IntegerForm { signed: true, nullable: false, delta: false },
            C::SignedNullable | C::ExponentNullable => {
                IntegerForm { signed: true, nullable: true, delta: false }
            }
            C::UnsignedDelta | C::SignedDelta => {
                IntegerForm { signed: true, nullable: false, delta: true }
            }
            C::UnsignedDeltaNullable | C::SignedDeltaNullable => {
                IntegerForm { signed: true, nullable: true, delta: true }
            }
            C::Ascii => return self.text(lane, after, None),
            C::AsciiNullable => {
                self.text(lane, after, Some(absent));
                return self.absent(lane, absent, after, null);
            }
            C::Constant => {
                self.b.ins().jump(self.bail, &[]);
                return;
            }
        };
        self.integer(lane, kind, after, absent);
        if kind.nullable {
            self.absent(lane, absent, after, null);
        }
    }

    /// Emits the block for a one-byte NULL.
    fn absent(&mut self, lane: usize, absent: Block, after: Block, null: Option<Block>) {
        self.b.switch_to_block(absent);
        self.advance(1);
        if let Some(null) = null {
            self.b.ins().jump(null, &[]);
            return;
        }
        self.clear(1 << lane);
        if self.run.rules[lane].stream == StreamContent::Delta {
            let before = self.load_before(lane);
            self.store(lane, before);
        }
        self.b.ins().jump(after, &[]);
    }

    /// Stores a value read from the stream, `len` bytes long, to its lane.
    pub(super) fn received(&mut self, lane: usize, value: Value, len: WireLength, after: Block) {
        self.store(lane, value);
        if self.run.rules[lane].derives_from_previous() {
            let present = self.b.use_var(self.present);
            let present = self.b.ins().bor_imm(present, 1 << lane);
            self.b.def_var(self.present, present);
        }
        match len {
            WireLength::Known(len) => self.advance(len),
            WireLength::Counted(len) => {
                let position = self.b.use_var(self.position);
                let position = self.b.ins().iadd(position, len);
                self.b.def_var(self.position, position);
            }
        }
        self.b.ins().jump(after, &[]);
    }

    fn advance(&mut self, len: i64) {
        let position = self.b.use_var(self.position);
        let position = self.b.ins().iadd_imm(position, len);
        self.b.def_var(self.position, position);
    }

    fn clear(&mut self, lanes: u32) {
        let present = self.b.use_var(self.present);
        let present = self.b.ins().band_imm(present, !i64::from(lanes));
        self.b.def_var(self.present, present);
    }

    pub(super) fn load_before(&mut self, lane: usize) -> Value {
        self.b.ins().load(types::I64, HEAD, self.before, 8 * lane as i32)
    }

    pub(super) fn store(&mut self, lane: usize, value: Value) {
        self.b.ins().store(HEAD, value, self.out, 8 * lane as i32);
    }

    /// Bails out unless the value is in the lane's range.
    fn check_range(&mut self, lane: usize, value: Value) {
        self.range(lane).check(self, value);
    }

    fn range(&self, lane: usize) -> Range {
        Range { bias: self.run.bias[lane], limit: self.run.limit[lane] }
    }

    /// Emits an integer and continues in `after`; NULL goes to `absent` before its byte is consumed.
    fn integer(&mut self, lane: usize, form: IntegerForm, after: Block, absent: Block) {
        let range = self.range(lane);
        let integer = StreamInteger {
            position: self.b.use_var(self.position),
            is_signed: form.signed,
            null: form.nullable.then_some(absent),
            is_often_eight: range.limit == u64::MAX,
        };
        integer.read(self, &mut |body: &mut Self, read, bytes, len| {
            let mut value = read;
            if form.nullable {
                value = numbers::without_null(body.b, read, form.signed);
            }
            if form.delta {
                let before = body.load_before(lane);
                let is_signed = !matches!(
                    body.run.codes[lane],
                    LaneCode::UnsignedDelta | LaneCode::UnsignedDeltaNullable
                );
                value = range.sum(body, (before, value), is_signed);
            } else if !range.has_all(form.signed, bytes) {
                range.check(body, value);
            }
            body.received(lane, value, len, after);
        });
    }

    /// Emits a string of at most seven bytes that does not begin with a zero byte; a single zero
    /// byte is NULL.
    fn text(&mut self, lane: usize, after: Block, null: Option<Block>) {
        const STOPS: i64 = 0x80_8080_8080_8080;
        const GROUPS: i64 = 0x7f7f_7f7f_7f7f_7f7f;
        let position = self.b.use_var(self.position);
        let bytes = self.b.ins().load(types::I64, HEAD, position, 0);
        let first = self.b.ins().band_imm(bytes, 0x7f);
        let is_one = self.b.ins().band_imm(bytes, 0x80);
        let (one, more) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(is_one, one, &[], more, &[]);

        self.b.switch_to_block(one);
        let plain = self.b.create_block();
        self.b.ins().brif(first, plain, &[], null.unwrap_or(self.bail), &[]);
        self.b.switch_to_block(plain);
        let word = self.b.ins().bor_imm(first, 1 << 56);
        self.received(lane, word, WireLength::Known(1), after);

        self.b.switch_to_block(more);
        let is_zero = self.b.ins().icmp_imm(IntCC::Equal, first, 0);
        self.bail_if(is_zero);
        for len in 2..=3u32 {
            let stop = self.b.ins().band_imm(bytes, 0x80 << (8 * (len - 1)));
            let (this, longer) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(stop, this, &[], longer, &[]);
            self.b.switch_to_block(this);
            let word = self.b.ins().band_imm(bytes, GROUPS & ((1 << (8 * len)) - 1));
            let word = self.b.ins().bor_imm(word, i64::from(len) << 56);
            self.received(lane, word, WireLength::Known(i64::from(len)), after);
            self.b.switch_to_block(longer);
        }
        let stops = self.b.ins().band_imm(bytes, STOPS);
        let is_long = self.b.ins().icmp_imm(IntCC::Equal, stops, 0);
        self.bail_if(is_long);
        let [word, len] = numbers::short_text(self.b, bytes, stops);
        self.received(lane, word, WireLength::Counted(len), after);
    }
}

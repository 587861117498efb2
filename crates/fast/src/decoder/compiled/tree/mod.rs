//! Machine code for general templates: with groups, nested sequences, long strings, byte vectors,
//! decimals with one operator, shared entries. Their segments form a tree, and so does the code.
//!
//! Each operation writes its value to the record and to its dictionary entry at once. On errors and
//! rare cases the code bails out of the whole message: the entries are restored, and the
//! [engine](crate::decoder::engine) decodes the message again. So errors and findings are
//! implemented once, in that engine.

mod decimal;
mod emit;
mod helper;
mod integer;
mod segment;
mod text;

use super::message::MessageEnd;
use super::template::{MessageInput, TemplateDecoder};
use super::{ENTRIES_MAX, JitCompiler, define};
use crate::decoder::ResetPolicy;
use crate::dictionary::{DictionaryEntries, EntryBackup, Word};
use crate::limits::Limits;
use crate::message::MessageStore;
use crate::program::{LANES_MAX, Program, SegmentLayout};
use cranelift_codegen::ir::{AbiParam, Function, InstBuilder, Signature, types};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use emit::{REACH, TreeArguments, TreeEmitter};
use helper::{TextField, TreeTexts};
use segment::{WORDS_BEHIND, is_text, ops_of};
use std::mem::offset_of;
use std::ptr::{null, null_mut};

/// A stream's input is not decoded a second time from a copy if it is longer, since it mostly ends with an
/// incomplete message.
const COPIED_MAX: usize = 2048;
/// Value of `used` in a [`MessageEnd`] if too few bytes were readable.
const NEAR_END: u64 = 1;

/// Decodes a message from its first field on. Arguments: call data, position, presence map (after
/// the template id's bit, its first bit at the top), first word of the message, words of the
/// dictionary's entries, epoch.
type DecodeTree = unsafe extern "sysv64" fn(
    *mut TreeCall<'_>,
    *const u8,
    u64,
    *mut Word,
    *mut Word,
    u64,
) -> MessageEnd;

/// Arguments of compiled code that are passed in memory.
#[derive(Debug)]
#[repr(C)]
struct TreeCall<'t> {
    /// Last position that a check accepts: [`REACH`] bytes are readable from it.
    last: *const u8,
    /// Words that the message may use.
    words_max: u64,
    entries_max: u64,
    /// Remaining sequence entries that the message may have.
    entries_left: u64,
    /// Type tags of entries.
    tags: *mut u8,
    /// Stamps of the dictionary's entries.
    stamps: *mut u32,
    /// Where the code saves the entries that it may change; null if they need not be restored.
    saved: *mut [u8; 16],
    fields: *const TextField,
    texts: TreeTexts<'t>,
}

/// Compiled code of a template. `Compiled` owns the code; this value never leaves it.
#[derive(Debug)]
pub(super) struct TreeFunction {
    function: DecodeTree,
    /// Presence-map bits, after the template id's, that the template does not use.
    unused: u64,
    /// The template's own reset attribute.
    reset: bool,
    record_words: usize,
    /// Least number of words and stamps that a dictionary must have.
    entries_min: usize,
    /// What the code may change of the entries, in the order in which it saves it.
    saved: EntryBackup,
    texts: Vec<TextField>,
}

/// Outcome of a decoding attempt.
enum TreeOutcome {
    Done(usize),
    /// Too few bytes were readable.
    NearEnd,
    Declined,
}

/// A template to compile.
pub(super) struct TreeFrame<'p> {
    program: &'p Program,
    segment: &'p SegmentLayout,
    /// Number of its operations, nested segments included.
    pub(super) count: u32,
    /// Dictionary entries of its operations, in order, and those with a type tag.
    entries: Vec<u32>,
    tagged: Vec<u32>,
    texts: Vec<TextField>,
}

impl<'p> TreeFrame<'p> {
    /// Returns the frame of a template; `None` if it cannot be compiled.
    pub(super) fn of(program: &'p Program, template: usize) -> Option<Self> {
        let segment = program.segment(program.templates.get(template)?.segment);
        let count = segment::count(program, segment, 0)?;
        if program.entry_count() > ENTRIES_MAX {
            return None;
        }
        let mut frame = Self {
            program,
            segment,
            count,
            entries: Vec::new(),
            tagged: Vec::new(),
            texts: Vec::new(),
        };
        frame.visit(segment);
        for entries in [&mut frame.entries, &mut frame.tagged] {
            entries.sort_unstable();
            entries.dedup();
        }
        Some(frame)
    }

    fn visit(&mut self, segment: &SegmentLayout) {
        use crate::program::OpCode;
        for op in ops_of(self.program, segment) {
            if matches!(op.code, OpCode::Group | OpCode::GroupOptional | OpCode::Sequence) {
                self.visit(&self.program.segments[op.aux as usize]);
                continue;
            }
            if is_text(op) {
                self.texts.push(TextField::of(self.program, op));
            }
            if op.code == OpCode::CheckEntryType {
                self.tagged.push(op.entry);
            } else if op.rule.uses_dictionary() {
                self.entries.push(op.entry);
                if op.code == OpCode::Decimal {
                    self.entries.push(op.entry + 1);
                }
            }
        }
    }

    /// Builds a [`DecodeTree`], which saves this before a message.
    fn build(
        &self,
        saved: &EntryBackup,
        function: &mut Function,
        context: &mut FunctionBuilderContext,
    ) {
        let mut b = FunctionBuilder::new(function, context);
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend([AbiParam::new(types::I64); 6]);
        signature.returns.extend([AbiParam::new(types::I64); 2]);
        b.func.signature = signature;
        let first = b.create_block();
        b.append_block_params_for_function_params(first);
        b.switch_to_block(first);
        let [call, start, map, record, words, epoch] =
            std::array::from_fn(|index| b.block_params(first)[index]);
        let (position, used) = (b.declare_var(types::I64), b.declare_var(types::I64));
        b.def_var(position, start);
        let record_words = b.ins().iconst(types::I64, i64::from(self.segment.record_words));
        b.def_var(used, record_words);
        let assigned = b.ins().ireduce(types::I32, epoch);
        let stamps =
            b.ins().load(types::I64, emit::HEAD, call, offset_of!(TreeCall, stamps) as i32);
        let [bail, near_end] = [(); 2].map(|()| b.create_block());
        for block in [bail, near_end] {
            b.set_cold_block(block);
        }
        let mut emitter = TreeEmitter {
            b: &mut b,
            program: self.program,
            given: TreeArguments { call, record, words, stamps, assigned },
            texts: &self.texts,
            position,
            used,
            bail,
            near_end,
            is_aside: false,
            room: 0,
        };
        emitter.save(saved);
        emitter.template(self.segment, map);
        let (end, used) = (b.use_var(position), b.use_var(used));
        b.ins().return_(&[end, used]);
        for (block, why) in [(bail, 0), (near_end, NEAR_END)] {
            b.switch_to_block(block);
            let null = b.ins().iconst(types::I64, 0);
            let why = b.ins().iconst(types::I64, why as i64);
            b.ins().return_(&[null, why]);
        }
        b.seal_all_blocks();
        b.finalize();
    }
}

impl JitCompiler {
    /// Compiles a template.
    pub(super) fn tree(&mut self, frame: TreeFrame<'_>) -> Option<TreeFunction> {
        self.take_lanes(frame.count)?;
        let Self { module, context, .. } = self;
        let module = module.as_mut()?;
        let last = frame.entries.last().max(frame.tagged.last());
        let entries_min = last.map_or(0, |&last| last as usize + LANES_MAX);
        let saved = EntryBackup::of(&frame.entries, frame.tagged.clone());
        let id = define(module, |function| frame.build(&saved, function, context))?;
        module.finalize_definitions().ok()?;
        let function = module.get_finalized_function(id);
        let template = frame.program.templates.get(frame.segment.template as usize)?;
        Some(TreeFunction {
            // SAFETY: `TreeFrame::build` gives the function this signature and calling convention.
            function: unsafe { std::mem::transmute::<*const u8, DecodeTree>(function) },
            unused: u64::MAX >> frame.segment.map_bits,
            reset: template.reset,
            record_words: frame.segment.record_words as usize,
            entries_min,
            saved,
            texts: frame.texts,
        })
    }
}

impl TreeFunction {
    /// Decodes a message. If the code bails out, the entries are restored. `is_fresh`: nothing was
    /// assigned since a reset, so they are restored by another reset.
    #[inline(always)]
    fn decode(
        &self,
        MessageInput { buffer: window, len, position, bits }: MessageInput<'_>,
        dictionary: &mut DictionaryEntries,
        is_fresh: bool,
        (store, limits): (&mut MessageStore, &Limits),
    ) -> TreeOutcome {
        let MessageStore { words, bytes, used } = store;
        let Some(last) = window.len().checked_sub(REACH) else { return TreeOutcome::NearEnd };
        let Some(words_max) = words.len().checked_sub(WORDS_BEHIND) else {
            return TreeOutcome::Declined;
        };
        if position > last {
            return TreeOutcome::NearEnd;
        }
        // There are as many stamps as values.
        if words_max < self.record_words || dictionary.values().0.len() < self.entries_min {
            return TreeOutcome::Declined;
        }
        if !is_fresh {
            dictionary.keep(&self.saved);
        }
        let parts = dictionary.parts();
        bytes.clear();
        let mut call = TreeCall {
            last: window.as_ptr().wrapping_add(last),
            words_max: words_max as u64,
            entries_max: u64::from(limits.entries_max),
            entries_left: u64::from(limits.entries_total_max),
            tags: parts.tags,
            stamps: parts.stamps as *mut u32,
            saved: if is_fresh { null_mut() } else { parts.saved },
            fields: self.texts.as_ptr(),
            texts: TreeTexts {
                at: null_mut(),
                at_max: null_mut(),
                base: null(),
                end: window.as_ptr_range().end,
                words: parts.words,
                stamps: parts.stamps,
                buffers: parts.texts,
                epoch: parts.epoch,
                undo: (!is_fresh).then_some(parts.undo),
                bytes,
                string_max: limits.string_max as usize,
                // Positions of strings are 32 bits wide.
                left: limits.message_bytes_max.min(u32::MAX as usize),
            },
        };
        call.texts.offer();
        let start = window.as_ptr().wrapping_add(position);
        let (values, epoch) = (parts.words as *mut Word, u64::from(parts.epoch));
        // SAFETY: wherever the code checks the position, `REACH` bytes are readable from it on, and the
        // code reads at most as many before it checks again; all are in `window`. It writes to the message's
        // record, which is in the first `self.record_words` words, and to entries after it that end before
        // `words_max`. It reads and writes words, stamps and tags of entries of the dictionary. Unless they are
        // fresh, it saves as many groups of words and stamps as `keep` has made room for; the groups, and the
        // exponent after a decimal, are below `self.entries_min`, `LANES_MAX - 1` beyond the last entry.
        // It writes strings of the message at `call.texts.at`, 32 bytes each, while that is at most `at_max`:
        // `offer` left 64 bytes of capacity there. It passes `call` to the functions of `helper`, with a field
        // of `self.texts`, a position that it has reached in `window`, and a word of the message. The targets of `call` are borrowed until after the call; the
        // code itself accesses only the entries, tags and saved entries among them and the spare room of
        // `bytes`, and none of them while a helper function runs. The memory of the code lives as long as `self`,
        // which is in the same `CompiledCode`.
        let MessageEnd { end, used: words_used } = unsafe {
            (self.function)(&raw mut call, start, bits, words.as_mut_ptr(), values, epoch)
        };
        let read = (end as usize).wrapping_sub(window.as_ptr() as usize);
        // The message may extend into the bytes after the packet.
        if end.is_null() || read > len {
            match is_fresh {
                true => dictionary.reset_values(),
                false => dictionary.put_back(&self.saved),
            }
            return match end.is_null() && words_used != NEAR_END {
                true => TreeOutcome::Declined,
                false => TreeOutcome::NearEnd,
            };
        }
        // SAFETY: the code has written the strings up to `at`.
        unsafe { call.texts.collect() };
        *used = words_used as usize;
        TreeOutcome::Done(read)
    }
}

impl TemplateDecoder<'_> {
    /// Decodes a message with tree code. `None` if the code bailed out; the dictionary is then restored, up
    /// to changes that another attempt repeats. In a stream, a message without previous values is left to
    /// the operations, because entries are not saved for it.
    #[inline(always)]
    pub(super) fn tree<const STREAM: bool>(
        &mut self,
        tree: &TreeFunction,
        input: MessageInput<'_>,
    ) -> Option<usize> {
        if !self.success.tree.is_good() || input.bits & tree.unused != 0 {
            return None;
        }
        let dictionary = &mut *self.dictionary;
        // Nothing was assigned since the dictionaries were reset.
        let is_reset = tree.reset && self.options.reset != ResetPolicy::Never;
        let is_fresh = is_reset || dictionary.is_unused();
        if STREAM && is_fresh {
            return None;
        }
        dictionary.set_last_template(self.index);
        if is_reset {
            dictionary.reset_values();
        }
        dictionary.settle(self.program, self.wide, &self.store.words);
        let MessageInput { buffer, len, position, bits } = input;
        let is_ahead = buffer.len() >= len + REACH;
        // Input is copied, to be readable after its end, unless the message probably ends before.
        let is_in_place = is_ahead || len >= self.success.tree_len + REACH;
        let window = match is_in_place {
            true => buffer,
            false => self.tail.padded(input.bytes(), REACH),
        };
        let room = (&mut *self.store, &self.options.limits);
        let input = MessageInput { buffer: window, len, position, bits };
        let outcome = tree.decode(input, dictionary, is_fresh, room);
        let TreeOutcome::Done(end) = outcome else {
            let attempt = (outcome, !is_in_place);
            let input = MessageInput { buffer, len, position, bits };
            return self.reborrow().tree_again::<STREAM>(tree, input, attempt, is_fresh);
        };
        if !is_ahead {
            // Another attempt costs much more than a copy, so the maximum is kept for long.
            let longest = self.success.tree_len;
            self.success.tree_len = end.max(longest - longest / 64);
        }
        self.success.tree.learn(false);
        Some(end)
    }

    /// Ends the decoding of a message after an attempt, from a copy of the input or not, with this outcome:
    /// decodes it again from a copy if too few bytes were readable.
    #[cold]
    #[inline(never)]
    fn tree_again<const STREAM: bool>(
        self,
        tree: &TreeFunction,
        input: MessageInput<'_>,
        (mut outcome, is_copied): (TreeOutcome, bool),
        is_fresh: bool,
    ) -> Option<usize> {
        let MessageInput { buffer, len, .. } = input;
        let is_short = buffer.len() < len + REACH && !is_copied;
        let may_copy = is_short && (!STREAM || len <= COPIED_MAX);
        if may_copy && matches!(outcome, TreeOutcome::NearEnd) {
            let window = self.tail.padded(input.bytes(), REACH);
            let input = MessageInput { buffer: window, ..input };
            let room = (&mut *self.store, &self.options.limits);
            outcome = tree.decode(input, self.dictionary, is_fresh, room);
        }
        // An incomplete message is no failure of the code.
        if !STREAM || !matches!(outcome, TreeOutcome::NearEnd) {
            self.success.tree.learn(!matches!(outcome, TreeOutcome::Done(_)));
        }
        let TreeOutcome::Done(end) = outcome else { return None };
        self.success.tree_len = end.max(self.success.tree_len);
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        CompileOptions, Decoder, DecoderOptions, EngineUnderTest, FastErrorKind, FieldValue,
        Limits, Program, ResetPolicy, TemplateSet,
    };
    use std::sync::Arc;

    const XML: &str = r#"<templates>
        <template name="T" id="1"><string name="Long"><copy/></string><byteVector name="Raw"/>
            <group name="G" presence="optional"><decimal name="P"><delta/></decimal></group>
            <sequence name="S"><uInt32 name="A"><copy/></uInt32>
                <sequence name="I"><int32 name="B"/></sequence></sequence></template></templates>"#;
    /// "ABCDEFGHI", two bytes, the group with 5 x 10^-1, one entry with 3 and two inner ones.
    const FIRST: &[u8] = &[
        0xf0, 0x81, b'A', b'B', b'C', b'D', b'E', b'F', b'G', b'H', 0xc9, 0x82, 1, 2, 0xff, 0x85,
        0x81, 0xc0, 0x83, 0x82, 0x81, 0x82,
    ];
    /// The same string, an empty byte vector, no group, no entries.
    const SECOND: &[u8] = &[0x80, 0x80, 0x80];

    fn decoder() -> Decoder {
        let program = Program::compile(TemplateSet::parse(XML).unwrap()).unwrap();
        let options = DecoderOptions::default()
            .engine_under_test(EngineUnderTest::MachineCode)
            .reset(ResetPolicy::Packet);
        Decoder::with_options(Arc::new(program), options)
    }

    /// A message of [`text_decoder`]'s template whose string does not fit a word.
    const LONG_TEXT: &[u8] = &[0xc0, 0x81, b'A', b'B', b'C', b'D', b'E', b'F', b'G', b'H', 0xc9];

    /// Returns a decoder of a plain template, which has one string.
    fn text_decoder() -> Decoder {
        let xml =
            r#"<templates><template name="T" id="1"><string name="Text"/></template></templates>"#;
        let program = Program::compile(TemplateSet::parse(xml).unwrap()).unwrap();
        let options = DecoderOptions::default().engine_under_test(EngineUnderTest::MachineCode);
        Decoder::with_options(Arc::new(program), options)
    }

    /// Returns the number of messages that the operations decoded.
    fn by_operations(decoder: &Decoder) -> u32 {
        decoder.decoded_without_code(0).unwrap()
    }

    /// Plain code handles strings up to the size of a word; for longer ones it bails out of the
    /// whole message.
    #[test]
    fn a_plain_template_becomes_a_tree_when_its_strings_are_long() {
        let mut decoder = text_decoder();
        for _ in 0..5000 {
            assert_eq!(decoder.decode(LONG_TEXT).unwrap().len, LONG_TEXT.len());
        }
        assert_eq!(by_operations(&decoder), 1 << 12);
    }

    /// The tree begins again with a copy of the packet's end, in the first round for each length: then it
    /// knows how long the messages are, and copies at once. Plain code finds the values in the entries.
    #[test]
    fn plain_code_follows_a_tree_that_had_to_begin_again() {
        let xml = r#"<templates dictionary="global">
            <template name="Plain" id="1"><uInt32 name="A"><copy value="9"/></uInt32></template>
            <template name="Tree" id="2"><uInt32 name="A"><copy value="9"/></uInt32><byteVector name="Raw"/></template>
            </templates>"#;
        let program = Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
        let options = DecoderOptions::default()
            .engine_under_test(EngineUnderTest::MachineCode)
            .reset(ResetPolicy::Packet);
        for (len, encoded) in [(300, [0x02, 0xac]), (3000, [0x17, 0xb8])] {
            let mut decoder = Decoder::with_options(program.clone(), options);
            let tree = [&[0xe0, 0x82, 0x85], &encoded[..], &vec![1; len]].concat();
            let plain = [0xc0, 0x81];
            let packet = [&tree[..], &plain].concat();
            for _ in 0..4 {
                decoder.begin_packet();
                assert_eq!(decoder.decode(&packet).unwrap().len, tree.len());
                let decoded = decoder.decode(&plain).unwrap();
                let value = format!("{:?}", decoded.message.root().field("A"));
                assert_eq!(value, format!("{:?}", Some(crate::FieldValue::UInt(5))));
            }
        }
    }

    /// Plain code backs off while the tree decodes most messages, and is tried once in 32 messages.
    #[test]
    fn plain_code_is_not_tried_where_it_mostly_bails_out() {
        let mut decoder = text_decoder();
        let code = decoder.jit.compiled.as_ref().unwrap().of_template(0).unwrap();
        assert!(code.plain().is_some());
        let short = &[0xc0, 0x81, 0xc9][..];
        for (message, expected) in [(LONG_TEXT, 4), (short, 128), (LONG_TEXT, 4)] {
            for _ in 0..5000 {
                assert_eq!(decoder.decode(message).unwrap().len, message.len());
            }
            let before = by_operations(&decoder);
            let mut tries = 0;
            for _ in 0..128 {
                let skip = decoder.jit.templates[0].plain.skip();
                decoder.decode(message).unwrap();
                // Without a try there is one message less to skip; a failure sets the number anew.
                tries += u32::from(skip == 0 || decoder.jit.templates[0].plain.skip() != skip - 1);
            }
            assert_eq!(tries, expected, "{message:02x?}");
            assert_eq!(by_operations(&decoder), before);
        }
    }

    /// Compiled code writes a string of eight to 32 bytes itself while 64 bytes of room are left, and a function
    /// reads it otherwise; both count it against the limit.
    #[test]
    fn strings_at_the_end_of_the_room_are_read_by_code() {
        let xml = r#"<templates><template name="T" id="1"><string name="A"/><string name="B"><copy/></string>
            <group name="G" presence="optional"><uInt32 name="N"/></group></template></templates>"#;
        let program = |fields: Option<&[&str]>| {
            let fields = fields.map(|fields| fields.iter().map(|&name| name.to_owned()).collect());
            let options = CompileOptions::default().fields(fields);
            let set = TemplateSet::parse(xml).unwrap();
            Arc::new(Program::compile_with(set, &options).unwrap())
        };
        // All fields are stored; one is; both are discarded, and count all the same.
        let programs = [program(None), program(Some(&["B"])), program(Some(&["N"]))];
        let lengths =
            [(63, 31, 32), (64, 32, 32), (65, 33, 32), (71, 63, 8), (71, 8, 63), (64, 8, 8)];
        for (program, (bytes_max, first, second)) in
            programs.iter().flat_map(|program| lengths.map(|lengths| (program, lengths)))
        {
            let options = DecoderOptions::default().engine_under_test(EngineUnderTest::MachineCode);
            let mut decoder = Decoder::with_options(program.clone(), options);
            let mut message = [0xe0, 0x81].to_vec();
            message.extend((0..first).chain(0..second).map(|_| b'a'));
            message[first + 1] |= 0x80;
            message[first + second + 1] |= 0x80;
            // B is not in the stream.
            let copied = [&[0xc0, 0x81], &message[2..first + 2]].concat();
            // Words count as well, so the limit is set when there are enough of them.
            for _ in 0..3 {
                decoder.decode(&message).unwrap();
            }
            for message in [&message, &copied] {
                let before = by_operations(&decoder);
                decoder.options.limits = Limits::default().message_bytes_max(bytes_max);
                let decoded = decoder.decode(message).unwrap();
                let len_of = |name| match decoded.message.root().field(name).unwrap() {
                    FieldValue::Ascii(text) => Some(text.len()),
                    FieldValue::Discarded => None,
                    other => panic!("{other:?}"),
                };
                let expected = [Some(first), Some(second)];
                let is_stored =
                    |found: Option<usize>, expected| found.is_none() || found == expected;
                let found = ["A", "B"].map(len_of);
                assert!(
                    is_stored(found[0], expected[0]) && is_stored(found[1], expected[1]),
                    "{found:?}"
                );
                assert_eq!(by_operations(&decoder), before, "{bytes_max} {first} {second}");
            }
            for refused in [&message, &copied] {
                decoder.reset();
                decoder.options.limits = Limits::default();
                // Code is skipped for some messages after it bailed out.
                for _ in 0..8 {
                    decoder.decode(&message).unwrap();
                }
                decoder.options.limits = Limits::default().message_bytes_max(first + second - 1);
                let error = decoder.decode(refused).map(|decoded| decoded.len).unwrap_err();
                assert_eq!(error.kind(), FastErrorKind::MessageTooLarge, "{first} {second}");
            }
        }
    }

    #[test]
    fn code_decodes_streams_once_there_are_previous_values() {
        let mut decoder = decoder();
        for _ in 0..3 {
            decoder.decode(FIRST).unwrap();
        }
        let before = by_operations(&decoder);
        // Each message takes one off the exponent.
        for _ in 0..20 {
            for message in [FIRST, SECOND] {
                let step = decoder.decode_stream(message).unwrap();
                assert!(
                    matches!(step, crate::Step::Message(decoded) if decoded.len == message.len())
                );
            }
        }
        assert_eq!(by_operations(&decoder), before);
    }

    #[test]
    fn code_takes_what_is_well_formed_and_gives_up_what_is_not() {
        let mut decoder = decoder();
        // The message's words grow when the operations need them; compiled code is skipped once
        // after it bailed out.
        for _ in 0..2 {
            decoder.begin_packet();
            decoder.decode(FIRST).unwrap();
        }
        let grown = by_operations(&decoder);
        for _ in 0..100 {
            decoder.begin_packet();
            for (message, long) in [(FIRST, "ABCDEFGHI"), (SECOND, "ABCDEFGHI")] {
                let decoded = decoder.decode(message).unwrap();
                assert_eq!(decoded.len, message.len());
                let text = format!("{:?}", decoded.message.root().field("Long"));
                assert_eq!(text, format!("{:?}", Some(crate::FieldValue::Ascii(long.as_bytes()))));
            }
        }
        assert_eq!(by_operations(&decoder), grown, "code takes all of them");
        // A string with another value, then an overlong integer.
        let mut overlong = FIRST.to_vec();
        overlong[2] = b'X';
        overlong.splice(18..19, [0x00, 0x83]);
        decoder.decode(&overlong).unwrap();
        assert_eq!(by_operations(&decoder), grown + 1);
        assert_eq!(decoder.findings().overlong_integer, 1);
        for cut in 0..FIRST.len() {
            let mut decoder = decoder.clone();
            decoder.decode(&FIRST[..cut]).unwrap_err();
        }
    }
}

//! The template model of each field of a compiled program.
//!
//! A program's layouts have the positions of values; the template model has operators, dictionary
//! entries and the names of length fields. Static references are expanded in the program but not in
//! the model, so both are walked in parallel.

use std::collections::HashMap;
use tickwire_fast::template::Instruction;
use tickwire_fast::{FieldHandle, FieldRef, Program, SegmentRef, Storage};

/// The instructions of all fields of a program.
#[derive(Debug)]
pub struct Outline<'p> {
    program: &'p Program,
    fields: Vec<(FieldRef, &'p Instruction)>,
    /// Index into `fields` by field.
    index_of: HashMap<FieldRef, usize>,
}

impl<'p> Outline<'p> {
    /// Walks all templates of a program.
    pub fn of(program: &'p Program) -> Self {
        let mut outline = Self { program, fields: Vec::new(), index_of: HashMap::new() };
        for (template, layout) in program.set().templates().iter().zip(program.templates()) {
            outline.segment(&template.instructions, layout.segment);
        }
        outline
    }

    /// Returns the fields of the program, each with the instruction from which it was compiled;
    /// without those inside groups and sequences that are not stored.
    pub fn fields(&self) -> &[(FieldRef, &'p Instruction)] {
        &self.fields
    }

    /// Returns the instruction from which a field was compiled; never a static reference.
    pub fn instruction(&self, field: FieldRef) -> Option<&'p Instruction> {
        self.index_of.get(&field).map(|&index| self.fields[index].1)
    }

    fn segment(&mut self, instructions: &'p [Instruction], segment: SegmentRef) {
        let mut index = 0;
        self.instructions(instructions, segment, &mut index);
    }

    fn instructions(
        &mut self,
        instructions: &'p [Instruction],
        segment: SegmentRef,
        index: &mut usize,
    ) {
        for instruction in instructions {
            if let Instruction::StaticRef(target, _) = instruction {
                let target = &self.program.set().templates()[*target];
                self.instructions(&target.instructions, segment, index);
            } else {
                self.place(FieldHandle { segment, index: *index }, instruction);
                *index += 1;
            }
        }
    }

    fn place(&mut self, handle: FieldHandle, instruction: &'p Instruction) {
        let field = self.program.field_ref(handle);
        self.index_of.insert(field, self.fields.len());
        self.fields.push((field, instruction));
        if let Instruction::Group(group) = instruction
            && let Storage::Group(inner) | Storage::Sequence { segment: inner, .. } =
                self.program.field(field).storage
        {
            self.segment(&group.instructions, inner);
        }
    }
}

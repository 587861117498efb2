//! The template model of each field of a compiled program.
//!
//! A program's layouts have the positions of values; the template model has operators, dictionary
//! entries and the names of length fields. Static references are expanded in the program but not in
//! the model, so both are walked in parallel.

use std::collections::HashMap;
use tickwire_fast::template::{
    FieldInstruction, GroupInstruction, Instruction, SequenceInstruction,
};
use tickwire_fast::{FieldHandle, FieldRef, Program, SegmentRef, Storage};

/// The instruction from which a field was compiled.
#[derive(Clone, Copy, Debug)]
pub enum FieldOrigin<'p> {
    /// A scalar field.
    Field(&'p FieldInstruction),
    /// A group.
    Group(&'p GroupInstruction),
    /// A sequence.
    Sequence(&'p SequenceInstruction),
    /// A dynamic template reference.
    Dynamic,
}

/// The origins of all fields of a program.
#[derive(Debug)]
pub struct Outline<'p> {
    program: &'p Program,
    fields: Vec<(FieldRef, FieldOrigin<'p>)>,
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

    /// Returns all stored fields of the program with their origins.
    pub fn fields(&self) -> &[(FieldRef, FieldOrigin<'p>)] {
        &self.fields
    }

    /// Returns the origin of a field.
    pub fn origin(&self, field: FieldRef) -> Option<FieldOrigin<'p>> {
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
            let origin = match instruction {
                Instruction::StaticRef(target, _) => {
                    let target = &self.program.set().templates()[*target];
                    self.instructions(&target.instructions, segment, index);
                    continue;
                }
                Instruction::Field(field) => FieldOrigin::Field(field),
                Instruction::Group(group) => FieldOrigin::Group(group),
                Instruction::Sequence(sequence) => FieldOrigin::Sequence(sequence),
                Instruction::DynamicRef(_) => FieldOrigin::Dynamic,
            };
            self.place(FieldHandle { segment, index: *index }, origin);
            *index += 1;
        }
    }

    fn place(&mut self, handle: FieldHandle, origin: FieldOrigin<'p>) {
        let field = self.program.field_ref(handle);
        self.index_of.insert(field, self.fields.len());
        self.fields.push((field, origin));
        let inner = match origin {
            FieldOrigin::Group(group) => &group.instructions,
            FieldOrigin::Sequence(sequence) => &sequence.instructions,
            FieldOrigin::Field(_) | FieldOrigin::Dynamic => return,
        };
        match self.program.field(field).storage {
            Storage::Group(segment) | Storage::Sequence { segment, .. } => {
                self.segment(inner, segment);
            }
            _ => {}
        }
    }
}

/// Returns every third named field of a set, at any level.
fn wanted_fields(seed: u64, set: &TemplateSet) -> Vec<String> {
    fn names(instructions: &[Instruction], to: &mut Vec<String>) {
        for instruction in instructions {
            match instruction {
                Instruction::Field(field) => to.push(field.name.local.to_string()),
                Instruction::Group(group) => names(&group.instructions, to),
                Instruction::StaticRef(..) | Instruction::DynamicRef(_) => {}
            }
        }
    }
    let mut all = Vec::new();
    set.templates().iter().for_each(|template| names(&template.instructions, &mut all));
    all.into_iter().skip(seed as usize % 3).step_by(3).collect()
}

/// True if there is a dynamic reference, which generated code always stores.
fn has_reference(instructions: &[Instruction]) -> bool {
    instructions.iter().any(|instruction| match instruction {
        Instruction::DynamicRef(_) => true,
        Instruction::Group(group) => has_reference(&group.instructions),
        Instruction::Field(_) | Instruction::StaticRef(..) => false,
    })
}

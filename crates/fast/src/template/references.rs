//! Checks of a whole set: identifiers, static references, and size after expansion.

use super::error::{ErrorList, TemplateError};
use super::limits::ParseLimits;
use super::model::{Instruction, Location, Template, TemplateId};
use crate::code::Code;
use std::collections::HashMap;

/// Size of a template without references, and the templates it references, with their depth.
struct ReferenceOutline {
    instructions: usize,
    depth: usize,
    references: Vec<TemplateReference>,
}

struct TemplateReference {
    target: usize,
    depth: usize,
    location: Location,
}

/// Checks the set and returns the indexes of all templates, each after those it references. The
/// order is complete only if no error was added.
pub(crate) fn check(
    templates: &[Template],
    limits: &ParseLimits,
    errors: &mut ErrorList,
) -> Vec<usize> {
    if templates.len() > limits.templates_max {
        errors.push(limit(
            &templates[limits.templates_max],
            format!("the set has more than {} templates", limits.templates_max),
            "raise ParseLimits::templates_max if the file is meant to be so large",
        ));
        return Vec::new();
    }
    check_identifiers(templates, errors);
    let outlines: Vec<ReferenceOutline> =
        templates.iter().map(|template| outline(template, templates, errors)).collect();
    let order = sort(templates, &outlines, errors);
    check_size(templates, &outlines, &order, limits, errors);
    order
}

fn check_identifiers(templates: &[Template], errors: &mut ErrorList) {
    let mut seen: HashMap<TemplateId, &Template> = HashMap::new();
    for template in templates {
        let Some(id) = template.id else { continue };
        if let Some(first) = seen.get(&id) {
            let message = format!(
                "template id {id} is already that of \"{}\" at line {}",
                first.name, first.location.line
            );
            let help = "give each template its own id, or load the versions as separate sets";
            errors.push(error(Some(Code::S1), template, template.location, message, help));
        } else {
            seen.insert(id, template);
        }
    }
}

fn outline(
    template: &Template,
    templates: &[Template],
    errors: &mut ErrorList,
) -> ReferenceOutline {
    let mut outline = ReferenceOutline { instructions: 0, depth: 0, references: Vec::new() };
    let mut pending: Vec<(&[Instruction], usize)> = vec![(&template.instructions, 1)];
    while let Some((instructions, depth)) = pending.pop() {
        outline.instructions = outline.instructions.saturating_add(instructions.len());
        outline.depth = outline.depth.max(depth);
        for instruction in instructions {
            match instruction {
                Instruction::Field(_) | Instruction::DynamicRef(_) => {}
                Instruction::Group(group) => pending.push((&group.instructions, depth + 1)),
                &Instruction::StaticRef(target, location) => {
                    if target < templates.len() {
                        outline.references.push(TemplateReference { target, depth, location });
                    } else {
                        let message = format!("template index {target} is outside the set");
                        let help = "refer to a template of the same set";
                        errors.push(error(Some(Code::D8), template, location, message, help));
                    }
                }
            }
        }
    }
    outline
}

#[derive(Clone, Copy, PartialEq)]
enum OutlineVisit {
    New,
    Open,
    Done,
}

/// Depth-first search without recursion: a chain of references can be as long as the set.
fn sort(
    templates: &[Template],
    outlines: &[ReferenceOutline],
    errors: &mut ErrorList,
) -> Vec<usize> {
    let mut state = vec![OutlineVisit::New; outlines.len()];
    let mut order = Vec::with_capacity(outlines.len());
    let mut path: Vec<(usize, usize)> = Vec::new();
    for root in 0..outlines.len() {
        if state[root] == OutlineVisit::New {
            state[root] = OutlineVisit::Open;
            path.push((root, 0));
        }
        while let Some((index, next)) = path.last_mut() {
            let index = *index;
            let Some(reference) = outlines[index].references.get(*next) else {
                state[index] = OutlineVisit::Done;
                order.push(index);
                path.pop();
                continue;
            };
            *next += 1;
            match state[reference.target] {
                OutlineVisit::Done => {}
                OutlineVisit::New => {
                    state[reference.target] = OutlineVisit::Open;
                    path.push((reference.target, 0));
                }
                OutlineVisit::Open => errors.push(cycle(templates, index, reference)),
            }
        }
    }
    order
}

fn cycle(templates: &[Template], index: usize, reference: &TemplateReference) -> TemplateError {
    let message = format!(
        "the static reference to \"{}\" is circular: it leads back to its own template",
        templates[reference.target].name
    );
    let help = "remove one reference of the cycle, or make it dynamic (templateRef without name)";
    error(Some(Code::S1), &templates[index], reference.location, message, help)
}

fn check_size(
    templates: &[Template],
    outlines: &[ReferenceOutline],
    order: &[usize],
    limits: &ParseLimits,
    errors: &mut ErrorList,
) {
    let mut sizes = vec![0usize; outlines.len()];
    let mut depths = vec![0usize; outlines.len()];
    let mut total = 0usize;
    for &index in order {
        let outline = &outlines[index];
        sizes[index] = outline.instructions;
        depths[index] = outline.depth;
        for reference in &outline.references {
            sizes[index] = sizes[index].saturating_add(sizes[reference.target]);
            let below = reference.depth.saturating_add(depths[reference.target]);
            depths[index] = depths[index].max(below);
        }
        total = total.saturating_add(sizes[index]);
        if depths[index] > limits.depth() {
            errors.push(limit(
                &templates[index],
                format!("groups, sequences and references nest deeper than {}", limits.depth()),
                "nest less, or raise ParseLimits::depth_max",
            ));
            return;
        }
        if total > limits.instructions_max {
            errors.push(limit(
                &templates[index],
                format!(
                    "the set has more than {} instructions with references expanded",
                    limits.instructions_max
                ),
                "raise ParseLimits::instructions_max if the file is meant to be so large",
            ));
            return;
        }
    }
}

fn limit(template: &Template, message: String, help: &str) -> TemplateError {
    error(None, template, template.location, message, help)
}

fn error(
    code: Option<Code>,
    template: &Template,
    location: Location,
    message: String,
    help: &str,
) -> TemplateError {
    TemplateError {
        code,
        location,
        template: template.name.to_string(),
        field: String::new(),
        message,
        help: help.to_owned(),
    }
}

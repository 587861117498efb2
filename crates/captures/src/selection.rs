//! Selection of messages.

use std::fmt;

use tickwire_fast::{Message, Program, TemplateId};

/// The templates whose messages are selected.
#[derive(Clone, Debug)]
pub struct Selection {
    /// By template index; `None` selects all.
    wanted: Option<Vec<bool>>,
}

/// A name that no template has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTemplate(String);

impl fmt::Display for UnknownTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnknownTemplate {}

impl Selection {
    /// Finds templates by id or name; no names select all.
    ///
    /// # Errors
    /// [`UnknownTemplate`] for a name that no template has.
    pub fn new(program: &Program, names: &[String]) -> Result<Self, UnknownTemplate> {
        if names.is_empty() {
            return Ok(Self { wanted: None });
        }
        let mut wanted = vec![false; program.templates().len()];
        for name in names {
            let found = find(program, name);
            if found.is_empty() {
                return Err(UnknownTemplate(unknown(program, name)));
            }
            found.into_iter().for_each(|index| wanted[index] = true);
        }
        Ok(Self { wanted: Some(wanted) })
    }

    /// True if a message is selected.
    pub fn contains(&self, message: &Message) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted[message.template_index()])
    }

    /// Returns the indexes of the selected templates.
    pub fn templates(&self, program: &Program) -> Vec<usize> {
        let all = 0..program.templates().len();
        all.filter(|&index| self.wanted.as_ref().is_none_or(|wanted| wanted[index])).collect()
    }
}

/// Returns the templates with this id or name: some exchanges give several templates the same name.
fn find(program: &Program, name: &str) -> Vec<usize> {
    let by_id = name.parse().ok().and_then(|id| program.template_index(TemplateId(id)));
    match by_id {
        Some(index) => vec![index],
        None => program.set().all_named(name).map(|(index, _)| index).collect(),
    }
}

fn unknown(program: &Program, name: &str) -> String {
    const NAMES_SHOWN_MAX: usize = 12;
    let mut names: Vec<String> = program
        .templates()
        .iter()
        .take(NAMES_SHOWN_MAX)
        .map(|template| match template.id {
            Some(id) => format!("{} ({id})", template.name),
            None => template.name.to_string(),
        })
        .collect();
    if program.templates().len() > NAMES_SHOWN_MAX {
        names.push("..".to_owned());
    }
    format!("the template file has no template \"{name}\"; it has {}", names.join(", "))
}

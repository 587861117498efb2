//! Splits the lines of a file into sections.

use std::collections::BTreeMap;

use super::{SECTIONS_MAX, SettingsFinding};

/// A value and its line.
#[derive(Clone, Debug)]
pub(super) struct SettingValue {
    pub text: String,
    pub line: u32,
}

/// A section. Its keys are in lower case, because engines differ in their case.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    pub line: u32,
    pub values: BTreeMap<String, (String, SettingValue)>,
}

/// Returns the default section and the sessions' sections.
pub(super) fn sections(text: &str, errors: &mut Vec<SettingsFinding>) -> (Section, Vec<Section>) {
    let mut default = Section::default();
    let mut sections: Vec<Section> = Vec::new();
    let mut in_default = None;
    for (index, line_text) in text.lines().enumerate() {
        let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let trimmed = line_text.trim().trim_start_matches('\u{feff}');
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        let mut fail = |text: String| errors.push(SettingsFinding { line, text });
        if let Some(name) = trimmed.strip_prefix('[') {
            match name.strip_suffix(']').map(|name| name.trim().to_ascii_uppercase()).as_deref() {
                Some("DEFAULT") => in_default = Some(true),
                Some("SESSION") if sections.len() < SECTIONS_MAX => {
                    in_default = Some(false);
                    sections.push(Section { line, ..Section::default() });
                }
                Some("SESSION") => {
                    fail(format!("more than {SECTIONS_MAX} sections"));
                    break;
                }
                _ => fail(format!("'{trimmed}' is not a section; expected [DEFAULT] or [SESSION]")),
            }
            continue;
        }
        let Some((key, value)) = trimmed.split_once('=') else {
            fail(format!("'{trimmed}' is neither a section nor Key=value"));
            continue;
        };
        let section = match (in_default, sections.last_mut()) {
            (Some(true), _) => &mut default,
            (Some(false), Some(section)) => section,
            _ => {
                fail(
                    "a key before the first section; put [DEFAULT] or [SESSION] before it"
                        .to_owned(),
                );
                continue;
            }
        };
        let key = key.trim().to_owned();
        let value = SettingValue { text: value.trim().to_owned(), line };
        section.values.insert(key.to_ascii_lowercase(), (key, value));
    }
    (default, sections)
}

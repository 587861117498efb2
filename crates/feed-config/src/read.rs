//! Reads a TOML document by hand: keeps the position of every value and collects every error.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::ConfigError;
use crate::suggest::did_you_mean;

/// Errors and positions so far.
pub(crate) struct ConfigFindings<'t> {
    text: &'t str,
    errors: Vec<ConfigError>,
    /// Byte offsets of values by path, such as `channels.x.lines.a`.
    places: HashMap<String, usize>,
}

impl<'t> ConfigFindings<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, errors: Vec::new(), places: HashMap::new() }
    }

    /// Records an error at a byte of the text.
    pub(crate) fn error(&mut self, offset: usize, message: String) {
        self.errors.push(ConfigError::at(self.text, offset, message));
    }

    /// Records an error at a value, or at the nearest table around it.
    pub(crate) fn error_at(&mut self, path: &str, message: String) {
        let mut path = path;
        loop {
            if let Some(&offset) = self.places.get(path) {
                return self.error(offset, message);
            }
            match path.rfind('.') {
                Some(dot) => path = &path[..dot],
                None => return self.error(0, message),
            }
        }
    }

    /// Returns true if the text has a value at this path that was read.
    pub(crate) fn mentions(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }

    pub(crate) fn into_errors(self) -> Vec<ConfigError> {
        self.errors
    }
}

/// A value with its path.
#[derive(Clone)]
pub(crate) struct ConfigValue<'d, 'i> {
    value: &'d DeValue<'i>,
    pub(crate) offset: usize,
    pub(crate) path: String,
}

/// A table of the document.
pub(crate) struct ConfigTable<'d, 'i> {
    table: &'d DeTable<'i>,
    pub(crate) path: String,
}

impl<'d, 'i> ConfigTable<'d, 'i> {
    pub(crate) const fn root(table: &'d DeTable<'i>) -> Self {
        Self { table, path: String::new() }
    }

    fn item(&self, key: &str, value: &'d Spanned<DeValue<'i>>) -> ConfigValue<'d, 'i> {
        let path = match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        ConfigValue { value: value.get_ref(), offset: value.span().start, path }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Returns the value of a key.
    pub(crate) fn get(
        &self,
        key: &str,
        findings: &mut ConfigFindings<'_>,
    ) -> Option<ConfigValue<'d, 'i>> {
        let item = self.item(key, self.table.get(key)?);
        findings.places.insert(item.path.clone(), item.offset);
        Some(item)
    }

    /// Returns all keys with their values in the order of the file, and the offsets of the keys.
    pub(crate) fn items(
        &self,
        findings: &mut ConfigFindings<'_>,
    ) -> Vec<(String, usize, ConfigValue<'d, 'i>)> {
        let mut items: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| {
                let name = key.get_ref().to_string();
                let item = self.item(&name, value);
                (name, key.span().start, item)
            })
            .collect();
        items.sort_by_key(|(_, offset, _)| *offset);
        for (_, offset, item) in &items {
            findings.places.insert(item.path.clone(), *offset);
        }
        items
    }

    /// Records an error for each key that is not in `known`.
    pub(crate) fn refuse_unknown(&self, known: &[&str], findings: &mut ConfigFindings<'_>) {
        for key in self.table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let name = key.get_ref();
            let hint = match did_you_mean(name, known.iter().copied()) {
                hint if hint.is_empty() => format!(" (known here: {})", known.join(", ")),
                hint => hint,
            };
            findings.error(key.span().start, format!("unknown key `{name}`{hint}"));
        }
    }
}

impl<'d, 'i> ConfigValue<'d, 'i> {
    fn refuse<T>(&self, expected: &str, findings: &mut ConfigFindings<'_>) -> Option<T> {
        let key = self.path.rsplit('.').next().unwrap_or_default();
        let found = self.value.type_str();
        findings.error(self.offset, format!("`{key}` must be {expected}, not {found}"));
        None
    }

    pub(crate) fn table(&self, findings: &mut ConfigFindings<'_>) -> Option<ConfigTable<'d, 'i>> {
        match self.value.as_table() {
            Some(table) => Some(ConfigTable { table, path: self.path.clone() }),
            None => self.refuse("a table", findings),
        }
    }

    pub(crate) fn text(&self, findings: &mut ConfigFindings<'_>) -> Option<&'d str> {
        match self.value.as_str() {
            Some(text) => Some(text),
            None => self.refuse("a string", findings),
        }
    }

    /// Reads a string that is neither empty nor of several lines.
    pub(crate) fn line(&self, findings: &mut ConfigFindings<'_>) -> Option<String> {
        let text = self.text(findings)?;
        if text.is_empty() || text.contains(char::is_control) {
            let message = "must be one line of text, not empty".to_owned();
            findings.error(self.offset, message);
            return None;
        }
        Some(text.to_owned())
    }

    pub(crate) fn boolean(&self, findings: &mut ConfigFindings<'_>) -> Option<bool> {
        self.value.as_bool().or_else(|| self.refuse("true or false", findings))
    }

    pub(crate) fn number<T>(
        &self,
        range: RangeInclusive<T>,
        findings: &mut ConfigFindings<'_>,
    ) -> Option<T>
    where
        T: TryFrom<u64> + PartialOrd + std::fmt::Display,
    {
        let integer = self.value.as_integer();
        let value =
            integer.and_then(|integer| u64::from_str_radix(integer.as_str(), integer.radix()).ok());
        let value = value.and_then(|value| T::try_from(value).ok());
        value.filter(|value| range.contains(value)).or_else(|| {
            let key = self.path.rsplit('.').next().unwrap_or_default();
            let (from, to) = (range.start(), range.end());
            findings.error(self.offset, format!("`{key}` must be a number from {from} to {to}"));
            None
        })
    }

    /// Reads a string and parses it as another type; `form` describes that type.
    pub(crate) fn parsed<T: FromStr>(
        &self,
        form: &str,
        findings: &mut ConfigFindings<'_>,
    ) -> Option<T> {
        let text = self.text(findings)?;
        text.parse().ok().or_else(|| {
            findings.error(self.offset, format!("`{text}` is not {form}"));
            None
        })
    }

    /// Reads one of several words.
    pub(crate) fn word<T: Copy>(
        &self,
        words: &[T],
        name: impl Fn(T) -> &'static str,
        findings: &mut ConfigFindings<'_>,
    ) -> Option<T> {
        let text = self.text(findings)?;
        words.iter().copied().find(|&word| name(word) == text).or_else(|| {
            let names: Vec<&str> = words.iter().map(|&word| name(word)).collect();
            let hint = did_you_mean(text, names.iter().copied());
            let hint = if hint.is_empty() { format!(": give {}", names.join(", ")) } else { hint };
            findings.error(self.offset, format!("unknown value `{text}`{hint}"));
            None
        })
    }

    /// Reads a duration with its unit, such as `2ms`, within bounds.
    pub(crate) fn duration(
        &self,
        range: RangeInclusive<Duration>,
        findings: &mut ConfigFindings<'_>,
    ) -> Option<Duration> {
        let text = match self.value.as_str() {
            Some(text) => text,
            None => return self.refuse("a duration with its unit, such as \"2ms\"", findings),
        };
        let duration = humantime::parse_duration(text).ok();
        if duration.is_none() {
            let message = format!("`{text}` is not a duration: give a unit, such as 2ms or 1s");
            findings.error(self.offset, message);
        }
        duration.filter(|duration| {
            range.contains(duration) || {
                let bound = |bound: &Duration| humantime::format_duration(*bound);
                let (from, to) = (bound(range.start()), bound(range.end()));
                findings.error(self.offset, format!("`{text}` must be from {from} to {to}"));
                false
            }
        })
    }

    /// Returns the elements of an array, at most `len_max`.
    pub(crate) fn elements(
        &self,
        len_max: usize,
        findings: &mut ConfigFindings<'_>,
    ) -> Option<Vec<ConfigValue<'d, 'i>>> {
        let Some(array) = self.value.as_array() else { return self.refuse("an array", findings) };
        if array.len() > len_max {
            findings.error(self.offset, format!("more than {len_max} elements"));
            return None;
        }
        let element = |(index, value): (usize, &'d Spanned<DeValue<'i>>)| ConfigValue {
            value: value.get_ref(),
            offset: value.span().start,
            path: format!("{}.{index}", self.path),
        };
        Some(array.iter().enumerate().map(element).collect())
    }

    /// True if the value is an array.
    pub(crate) const fn is_array(&self) -> bool {
        matches!(self.value, DeValue::Array(_))
    }

    /// True if the value is an integer.
    pub(crate) const fn is_number(&self) -> bool {
        matches!(self.value, DeValue::Integer(_))
    }
}

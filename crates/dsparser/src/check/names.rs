//! The names that `READ` binds.

use crate::block::NameNode;
use crate::diagnostic::{DiagnosticKind, Diagnostics, Span, suggestion};
use crate::host::NameId;
use crate::limits::{GrammarLimits, NAMES_MAX};

/// The names bound so far, in the order of the text.
pub(super) struct GrammarNames {
    /// Name, and true if its number is signed.
    list: Vec<(String, bool)>,
    names_max: usize,
}

impl GrammarNames {
    pub(super) fn new(limits: &GrammarLimits) -> Self {
        Self { list: Vec::new(), names_max: limits.names_max.min(NAMES_MAX) }
    }

    pub(super) fn into_list(self) -> Vec<String> {
        self.list.into_iter().map(|(name, _)| name).collect()
    }

    fn node(&self, index: usize) -> Option<NameNode> {
        let (_, is_signed) = *self.list.get(index)?;
        Some(NameNode { id: NameId(u8::try_from(index).ok()?), is_signed })
    }

    /// Binds a name. A name may be bound again with the same signedness.
    pub(super) fn bind(
        &mut self,
        name: &str,
        is_signed: bool,
        span: Span,
        diagnostics: &mut Diagnostics,
    ) -> Option<NameNode> {
        if let Some(index) = self.list.iter().position(|(known, _)| known == name) {
            let node = self.node(index)?;
            if node.is_signed != is_signed {
                let message = format!("`{name}` is read both with and without a sign");
                let help = "take another name for one of them";
                diagnostics.push(span, DiagnosticKind::Syntax, message, help);
            }
            return Some(node);
        }
        if self.list.len() >= self.names_max {
            let message = format!("more than {} names, the limit `names_max`", self.names_max);
            diagnostics.push(span, DiagnosticKind::TooLarge, message, "bind a name anew");
            return None;
        }
        self.list.push((name.to_owned(), is_signed));
        self.node(self.list.len() - 1)
    }

    /// Returns a name that was bound earlier in the text.
    pub(super) fn find(
        &self,
        name: &str,
        span: Span,
        diagnostics: &mut Diagnostics,
    ) -> Option<NameNode> {
        if let Some(index) = self.list.iter().position(|(known, _)| known == name) {
            return self.node(index);
        }
        let help = match suggestion(name, self.list.iter().map(|(known, _)| known.as_str())) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("put READ .. {name} before it"),
        };
        let message = format!("no READ binds `{name}` before");
        diagnostics.push(span, DiagnosticKind::UnknownName, message, help);
        None
    }
}

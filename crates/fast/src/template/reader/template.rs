//! Reads the file as a whole, and each template.

use super::Node;
use super::attributes::TEMPLATE;
use super::scope::{Definitions, ElementScope};
use super::source::{TemplateText, quote};
use super::state::TemplateReader;
use crate::code::Code;
use crate::template::error::TemplateErrors;
use crate::template::limits::ParseLimits;
use crate::template::model::{Name, Template, TemplateId};
use crate::template::references;
use crate::template::set::TemplateSet;
use roxmltree::Document;

/// Reads the tree of a template file.
pub(super) fn read_document(
    document: &Document<'_>,
    source: &TemplateText<'_>,
    limits: &ParseLimits,
) -> Result<TemplateSet, TemplateErrors> {
    let root = document.root_element();
    let root_ns = root.tag_name().namespace().unwrap_or_default();
    let mut reader = TemplateReader::new(source, root_ns, limits);
    let templates = reader.file(root);
    reader.finish(templates)
}

impl TemplateReader<'_> {
    fn file(&mut self, root: Node<'_>) -> Vec<Template> {
        let nodes = match root.tag_name().name() {
            "template" => vec![root],
            "templates" => self.template_nodes(root),
            other => {
                let message = format!("the root element is <{other}>");
                let help =
                    "this is not a FAST template file: its root is <templates> or <template>";
                self.error(Code::S1, root, message, help);
                return Vec::new();
            }
        };
        let above = if root.tag_name().name() == "templates" { Some(root) } else { None };
        let inherited = |reader: &Self, name| above.and_then(|root| reader.attribute(root, name));
        let definitions = match above {
            Some(root) => Definitions::collect(self, root, None),
            None => Definitions::default(),
        };
        let scope = ElementScope {
            ns: inherited(self, "ns").unwrap_or_default(),
            template_ns: inherited(self, "templateNs").unwrap_or_default(),
            dictionary: inherited(self, "dictionary"),
            template: &Name::default(),
            application_type: None,
            definitions: &definitions,
            expanding: &[],
            depth: 0,
        };
        let names: Vec<Name> = nodes.iter().map(|node| self.template_name(*node, &scope)).collect();
        for (index, name) in names.iter().enumerate() {
            let named = self.templates.entry(name.local.clone()).or_default();
            named.push((name.ns.clone(), index));
        }
        self.check_visits(root);
        let mut templates = Vec::with_capacity(nodes.len());
        for (node, name) in nodes.into_iter().zip(names) {
            templates.push(self.template(node, name, &scope));
            if self.exhausted() {
                break;
            }
        }
        self.check_visits(root);
        templates
    }

    fn template_nodes<'n>(&mut self, root: Node<'n>) -> Vec<Node<'n>> {
        let mut nodes = self.children(root);
        for node in &nodes {
            if !["template", "define"].contains(&node.tag_name().name()) {
                self.unexpected(*node, root);
            }
        }
        nodes.retain(|node| node.tag_name().name() == "template");
        nodes
    }

    fn template_name(&mut self, node: Node<'_>, scope: &ElementScope<'_>) -> Name {
        let local = self.attribute(node, "name").map(str::trim).unwrap_or_default();
        if local.is_empty() {
            self.error(Code::S1, node, "the template has no name", "add a name attribute");
        }
        let ns = self.attribute(node, "templateNs").unwrap_or(scope.template_ns);
        self.name(ns, local, node)
    }

    fn template(&mut self, node: Node<'_>, name: Name, scope: &ElementScope<'_>) -> Template {
        self.enter_template(&name.local);
        let scope = ElementScope {
            ns: self.attribute(node, "ns").unwrap_or(scope.ns),
            template_ns: self.attribute(node, "templateNs").unwrap_or(scope.template_ns),
            dictionary: self.attribute(node, "dictionary").or(scope.dictionary),
            template: &name,
            ..*scope
        };
        let id = self.template_id(node);
        let reset = self.reset(node);
        let mut attributes = Vec::new();
        self.unknown_attributes(node, TEMPLATE, &mut attributes);
        attributes.retain(|attribute| &*attribute.name.local != "reset");
        let application_type = self.type_reference(node, &scope);
        let body = ElementScope { application_type: application_type.as_ref(), ..scope };
        let instructions = self.instructions(node, &body);
        let location = self.location(node);
        Template { name, id, application_type, reset, instructions, attributes, location }
    }

    fn template_id(&mut self, node: Node<'_>) -> Option<TemplateId> {
        let text = self.attribute(node, "id").filter(|text| !text.trim().is_empty())?;
        match text.trim().parse() {
            Ok(id) => Some(TemplateId(id)),
            Err(_) => {
                let message = format!("template id {} is not a number", quote(text));
                let help = format!("write a number from 0 to {}, or leave id out", u32::MAX);
                self.error(Code::S1, node, message, help);
                None
            }
        }
    }

    /// Reads `reset` with any prefix: files use the plain attribute, the SCP attribute, or both.
    fn reset(&mut self, node: Node<'_>) -> bool {
        let mut given: Option<bool> = None;
        for attribute in node.attributes().filter(|attribute| attribute.name() == "reset") {
            let Some(reset) = flag(attribute.value()) else {
                let message = format!("reset {} is neither yes nor no", quote(attribute.value()));
                self.error(Code::S1, node, message, "write reset=\"yes\" or leave it out");
                continue;
            };
            if given.is_some_and(|given| given != reset) {
                let message = "two reset attributes say different things";
                self.error(Code::S1, node, message, "leave one of them");
            }
            given = given.or(Some(reset));
        }
        given.unwrap_or(false)
    }

    fn finish(mut self, templates: Vec<Template>) -> Result<TemplateSet, TemplateErrors> {
        if self.exhausted() {
            // Some bodies are missing, so references cannot be checked.
            self.errors.finish()?;
            return Ok(TemplateSet::default());
        }
        let bottom_up = references::check(&templates, self.limits, &mut self.errors);
        self.errors.finish()?;
        Ok(TemplateSet::index(templates, bottom_up))
    }
}

fn flag(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" | "t" | "true" | "1" => Some(true),
        "n" | "no" | "f" | "false" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{codes, set};
    use crate::template::TemplateSet;
    use crate::template::model::{Location, Name, TemplateId};

    #[test]
    fn reset_is_read_in_every_spelling() {
        let reset = |attributes: &str| {
            set(&format!("<template xmlns:scp='urn:scp' name='T' {attributes}/>")).templates()[0]
                .reset
        };
        for yes in ["Y", "yes", "T", "true", "1", "TRUE", " y "] {
            assert!(reset(&format!("reset='{yes}'")), "{yes}");
            assert!(reset(&format!("scp:reset='{yes}'")), "{yes}");
        }
        assert!(reset("reset='T' scp:reset='yes'"));
        for no in ["N", "no", "false", "0"] {
            assert!(!reset(&format!("reset='{no}'")), "{no}");
        }
        assert!(!reset(""));
        assert_eq!(codes("<template name='T' reset='maybe'/>"), ["S1"]);
        assert_eq!(codes("<template xmlns:s='u' name='T' reset='Y' s:reset='N'/>"), ["S1"]);
    }

    #[test]
    fn undeclared_prefixes_are_tolerated_on_attributes() {
        let set =
            set("<!-- x --><templates>\n<template name='T' scp:reset='yes' v:x='1'/></templates>");
        assert!(set.templates()[0].reset);
        assert_eq!(set.templates()[0].location, Location { line: 2, column: 1 });
        assert_eq!(set.templates()[0].attributes.len(), 1);
    }

    #[test]
    fn old_and_wrong_namespaces_are_read() {
        for ns in [
            "http://www.fixprotocol.org/ns/fast/td/1.1",
            "http://www.fixprotocol.org/ns/template-definition",
            "http://www.FIXprotocal.org/ns/td",
            "http://exchange.example/templates",
        ] {
            let xml = format!("<x:templates xmlns:x='{ns}'><x:template name='T'/></x:templates>");
            assert_eq!(set(&xml).templates().len(), 1, "{ns}");
        }
        let mixed = "<templates xmlns='http://a.example'><template name='T'
            xmlns='http://www.fixprotocol.org/ns/fast/td/1.1'><int8 name='a' xmlns=''/></template></templates>";
        assert_eq!(set(mixed).templates()[0].instructions.len(), 1);
    }

    #[test]
    fn names_and_ids_of_templates() {
        let set = set("<templates templateNs='u' ns='f'><template name=' A ' id='7' version='2'/>
            <template name='B' templateNs='v'><typeRef name='Q' ns='w'/></template></templates>");
        let [a, b] = set.templates() else { panic!("two templates") };
        assert_eq!(a.name, Name { ns: "u".into(), local: "A".into() });
        assert_eq!(a.id, Some(TemplateId(7)));
        assert_eq!(a.attributes.len(), 1);
        assert_eq!(b.name, Name { ns: "v".into(), local: "B".into() });
        assert_eq!(b.application_type, Some(Name { ns: "w".into(), local: "Q".into() }));
        assert_eq!(set.by_id(TemplateId(7)), Some(0));
        for xml in [
            "<template/>",
            "<template name=''/>",
            "<template name='A' id='x'/>",
            "<template name='A' id='4294967296'/>",
            "<templates><template name='A' id='1'/><template name='B' id='1'/></templates>",
            "<message/>",
            "<templates><message/></templates>",
        ] {
            assert_eq!(codes(xml), ["S1"], "{xml}");
        }
    }

    #[test]
    fn all_errors_are_reported_with_place_and_help() {
        let errors = TemplateSet::parse(
            "<templates>\n <template name=\"X\">\n  <group name=\"a\">\n   <string name=\"b\"><increment/></string>\n  </group>\n  <uInt8 name=\"c\"><copy value=\"300\"/></uInt8>\n </template>\n</templates>",
        )
        .unwrap_err();
        let text = errors.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "line 4, column 21: S2: template \"X\", field \"a/b\": operator increment does not \
                 apply to a field of type string; help: increment is for integers; use copy or delta",
                "line 6, column 19: S3: template \"X\", field \"c\": value \"300\" does not fit type \
                 uInt8; help: write an integer from 0 to 255",
            ]
        );
    }

    #[test]
    fn errors_over_the_limit_are_counted() {
        let body: String = (0..150).map(|i| format!("<x{i}/>")).collect();
        let errors =
            TemplateSet::parse(&format!("<template name='T'>{body}</template>")).unwrap_err();
        assert_eq!((errors.errors.len(), errors.omitted), (100, 50));
        assert!(errors.to_string().ends_with("and 50 more"));
    }
}

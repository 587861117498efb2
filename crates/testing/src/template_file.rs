//! Template files as XML, from the choices of a test.

use crate::Choices;

/// Writes a template file of one to four templates with all types, operators, groups, sequences and references. Field
/// names are unique, so that a name identifies the field. The last template refers to no other. The first choices
/// give one integer field.
pub fn template_file(choices: &mut Choices) -> String {
    Author { choices, names: 0, xml: String::new() }.set()
}

const INTEGERS: [&str; 8] =
    ["uInt8", "uInt16", "uInt32", "uInt64", "int8", "int16", "int32", "int64"];

/// Writes template files.
struct Author<'c> {
    choices: &'c mut Choices,
    names: usize,
    xml: String,
}

impl Author<'_> {
    fn set(mut self) -> String {
        let templates = 1 + self.choices.index(4);
        self.xml.push_str("<templates>");
        for id in 1..=templates {
            let reset = if self.choices.once_in(6) { " reset=\"Y\"" } else { "" };
            let dictionary = self.dictionary();
            let wire_id = self.choices.of(&[id, id + 200, id + 1_000_000]);
            self.xml.push_str(&format!(
                "<template name=\"T{id}\" id=\"{wire_id}\"{reset}{dictionary}>"
            ));
            if self.choices.once_in(3) {
                self.xml.push_str("<typeRef name=\"Type\"/>");
            }
            self.fields(0);
            if id < templates && self.choices.once_in(3) {
                self.xml.push_str("<templateRef/>");
            }
            if id < templates && self.choices.once_in(3) {
                self.xml.push_str(&format!("<templateRef name=\"T{templates}\"/>"));
            }
            self.xml.push_str("</template>");
        }
        self.xml.push_str("</templates>");
        self.xml
    }

    fn dictionary(&mut self) -> &'static str {
        self.choices.of(&[
            "",
            "",
            " dictionary=\"template\"",
            " dictionary=\"type\"",
            " dictionary=\"d\"",
        ])
    }

    fn fields(&mut self, depth: usize) {
        let most = if self.choices.once_in(16) { 150 } else { 7 };
        for _ in 0..1 + self.choices.index(most) {
            match self.choices.index(if depth < 2 { 14 } else { 12 }) {
                6 | 7 => self.decimal(),
                8..=10 => self.text(),
                11 => self.extended(),
                12 => self.group(depth),
                13 => self.sequence(depth),
                _ => {
                    let kind = self.choices.of(&INTEGERS);
                    self.scalar(kind, "", "", &["default", "copy", "increment", "delta"], "3");
                }
            }
        }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("f{}", self.names)
    }

    fn presence(&mut self) -> &'static str {
        self.choices.of(&["", " presence=\"optional\""])
    }

    fn text(&mut self) {
        let (kind, attributes, initial) = self.choices.of(&[
            ("string", "", "AB"),
            ("string", "", "ABCDEFGHIJ"),
            ("string", " charset=\"unicode\"", "AB"),
            ("byteVector", "", "4142"),
            ("byteVector", "", ""),
        ]);
        self.scalar(kind, attributes, "", &["default", "copy", "delta", "tail"], initial);
    }

    fn extended(&mut self) {
        let elements = "<element name=\"x\"/><element name=\"y\"/><element name=\"z\"/>";
        let all = &["default", "copy", "increment", "delta"];
        let without_increment = &["default", "copy", "delta"];
        match self.choices.index(4) {
            0 => self.scalar("boolean", "", "", without_increment, "true"),
            1 => self.scalar("enum", "", elements, without_increment, "y"),
            2 => self.scalar("set", "", elements, without_increment, "x z"),
            _ => self.scalar("timestamp", " unit=\"nanosecond\"", "", all, "3"),
        }
    }

    fn decimal(&mut self) {
        if !self.choices.once_in(2) {
            return self.scalar("decimal", "", "", &["default", "copy", "delta"], "1.5");
        }
        let (name, presence) = (self.name(), self.presence());
        self.xml.push_str(&format!("<decimal name=\"{name}\"{presence}><exponent>"));
        let operators = ["default", "copy", "increment", "delta"];
        self.operator(&operators, "-1", presence.is_empty());
        self.xml.push_str("</exponent><mantissa>");
        self.operator(&operators, "3", true);
        self.xml.push_str("</mantissa></decimal>");
    }

    fn scalar(
        &mut self,
        kind: &str,
        attributes: &str,
        children: &str,
        operators: &[&str],
        initial: &str,
    ) {
        let (name, presence) = (self.name(), self.presence());
        self.xml.push_str(&format!("<{kind} name=\"{name}\"{presence}{attributes}>{children}"));
        self.operator(operators, initial, presence.is_empty());
        self.xml.push_str(&format!("</{kind}>"));
    }

    fn operator(&mut self, operators: &[&str], initial: &str, mandatory: bool) {
        let operator = match self.choices.index(operators.len() + 2) {
            0 => return,
            1 => "constant",
            index => operators[index - 2],
        };
        let needed = operator == "constant" || operator == "default" && mandatory;
        self.xml.push_str(&format!("<{operator}"));
        if needed || self.choices.once_in(2) {
            self.xml.push_str(&format!(" value=\"{initial}\""));
        }
        if !matches!(operator, "constant" | "default") && self.choices.once_in(3) {
            let (key, dictionary) = (self.choices.index(4), self.dictionary());
            self.xml.push_str(&format!(" key=\"k{key}\"{dictionary}"));
        }
        self.xml.push_str("/>");
    }

    fn group(&mut self, depth: usize) {
        let (name, presence, dictionary) = (self.name(), self.presence(), self.dictionary());
        self.xml.push_str(&format!("<group name=\"{name}\"{presence}{dictionary}>"));
        self.fields(depth + 1);
        self.xml.push_str("</group>");
    }

    fn sequence(&mut self, depth: usize) {
        let (name, presence, dictionary) = (self.name(), self.presence(), self.dictionary());
        self.xml.push_str(&format!("<sequence name=\"{name}\"{presence}{dictionary}>"));
        if self.choices.index(4) > 0 {
            self.xml.push_str("<length>");
            self.operator(&["default", "copy", "increment", "delta"], "1", presence.is_empty());
            self.xml.push_str("</length>");
        }
        self.fields(depth + 1);
        self.xml.push_str("</sequence>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_choices_give_the_smallest_file() {
        let file = template_file(&mut Choices::tape(Vec::new()));
        assert_eq!(
            file,
            r#"<templates><template name="T1" id="1"><uInt8 name="f1"></uInt8></template></templates>"#
        );
    }
}

//! Generates modules for the captures that `.ci/fetch-captures` fetches, if they exist, because
//! their templates must not be part of the project. Does nothing without the feature `captures`, or
//! without captures.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_cme_2012, has_moex_forts)");
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "captures")]
    captures::generate();
}

#[cfg(feature = "captures")]
mod captures {
    use std::path::{Path, PathBuf};
    use tickwire_fast::TemplateSet;
    use tickwire_fast::template::{ParseLimits, Template};
    use tickwire_fast_codegen::{GenerateOptions, generate_set};

    /// Captures, and the template ids of their messages: compiling all templates of an exchange
    /// would take minutes.
    const CAPTURES: [(&str, &[u32]); 2] =
        [("cme_2012", &[83, 84, 99, 103, 109]), ("moex_forts", &[49, 66, 74, 75, 120])];

    pub fn generate() {
        let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("a build script"));
        for (name, ids) in CAPTURES {
            let path = root.join("../../captures").join(name).join("templates.xml");
            println!("cargo::rerun-if-changed={}", path.display());
            let Ok(xml) = std::fs::read(&path) else { continue };
            match module(&xml, ids) {
                Ok(source) => {
                    let folder = std::env::var_os("OUT_DIR").expect("a build script");
                    let file = Path::new(&folder).join(name).with_extension("rs");
                    std::fs::write(file, source).expect("OUT_DIR can be written");
                    println!("cargo::rustc-cfg=has_{name}");
                }
                Err(why) => println!("cargo::warning={}: skipped: {why}", path.display()),
            }
        }
    }

    fn module(xml: &[u8], ids: &[u32]) -> Result<String, String> {
        let all = TemplateSet::parse_bytes(xml).map_err(|errors| errors.to_string())?;
        let is_wanted = |template: &&Template| template.id.is_some_and(|id| ids.contains(&id.0));
        let wanted = all.templates().iter().filter(is_wanted).cloned().collect();
        let set = TemplateSet::from_templates(wanted, &ParseLimits::default());
        let set = set.map_err(|errors| errors.to_string())?;
        generate_set(set, &GenerateOptions::default()).map_err(|error| error.to_string())
    }
}

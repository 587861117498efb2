//! Generates the messages of the versions that are wanted.

use std::path::Path;

use tickwire_fix::Dictionary;
use tickwire_fix::dictionary::shipped;
use tickwire_fix_codegen::Generator;

const ORDERS: [&str; 2] = ["NewOrderSingle", "ExecutionReport"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = std::env::var("OUT_DIR").expect("set by cargo");
    let parse = |text| Dictionary::parse_quickfix(text).expect("shipped dictionaries load");
    let session = parse(shipped::FIXT11);
    for (name, text) in shipped::ALL {
        if std::env::var_os(format!("CARGO_FEATURE_{name}")).is_none() {
            continue;
        }
        let dictionary = parse(text);
        let generator = Generator::new(&dictionary);
        let generator = match name {
            "FIXT11" => generator.session_messages(),
            _ if name.starts_with("FIX5") => generator.session(&session).messages(ORDERS),
            _ => generator.messages(ORDERS).session_messages(),
        };
        let source = generator.generate().expect("every dictionary has orders and reports");
        let path = Path::new(&folder).join(name.to_lowercase()).with_extension("rs");
        std::fs::write(path, source).expect("OUT_DIR can be written");
    }
}

//! Generates the messages of the selected versions.

use std::path::Path;

use tickwire_fix::Dictionary;
use tickwire_fix::dictionary::shipped;
use tickwire_fix_codegen::FixGenerator;

const ORDERS: [&str; 5] = [
    "NewOrderSingle",
    "ExecutionReport",
    "OrderCancelRequest",
    "OrderCancelReplaceRequest",
    "OrderCancelReject",
];
/// Market data messages, as far as the version has them.
const MARKET_DATA: [&str; 4] = [
    "MarketDataRequest",
    "MarketDataSnapshotFullRefresh",
    "MarketDataIncrementalRefresh",
    "MarketDataRequestReject",
];

/// Returns the names of the selected application messages.
fn wanted(dictionary: &Dictionary) -> Vec<&str> {
    let is_on = |feature: &str| std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let (market_data, quotes, allocations) =
        (is_on("MARKET_DATA"), is_on("QUOTES"), is_on("ALLOCATIONS"));
    let is_wanted = |name: &&str| {
        ORDERS.contains(name)
            || market_data && MARKET_DATA.contains(name)
            || quotes && (name.starts_with("Quote") || name.starts_with("MassQuote"))
            || allocations && name.starts_with("Allocation")
    };
    dictionary.messages().iter().map(|message| message.name()).filter(is_wanted).collect()
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = std::env::var("OUT_DIR").expect("set by cargo");
    let parse = |text| Dictionary::parse_quickfix(text).expect("shipped dictionaries load");
    let session = parse(&shipped::FIXT11);
    for (name, text) in shipped::ALL {
        if std::env::var_os(format!("CARGO_FEATURE_{name}")).is_none() {
            continue;
        }
        let dictionary = parse(text);
        let generator = FixGenerator::new(&dictionary);
        let generator = match name {
            "FIXT11" => generator.session_messages(),
            _ if name.starts_with("FIX5") => {
                generator.session(&session).messages(wanted(&dictionary))
            }
            _ => generator.messages(wanted(&dictionary)).session_messages(),
        };
        write(&generator, Path::new(&folder), &name.to_lowercase());
        if name == "FIX44" {
            // For a test: with shared accessors, as in very large dictionaries.
            write(&generator.accessors_max(0), Path::new(&folder), "fix44_shared");
        }
    }
}

fn write(generator: &FixGenerator<'_>, folder: &Path, name: &str) {
    let source = generator.generate().expect("every message is in its dictionary");
    let path = folder.join(name).with_extension("rs");
    std::fs::write(path, source).expect("OUT_DIR can be written");
}

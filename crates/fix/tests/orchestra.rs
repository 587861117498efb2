//! The standard's own repositories: `fix-standard` of io.fixprotocol.orchestrations on Maven
//! Central.
//!
//! They are large and not part of this repository. Set ORCHESTRA to the folder of the unpacked jar.

use std::path::PathBuf;

use tickwire_fix::{Dictionary, Tag};
use tickwire_testing::{Need, skip};

fn repository(name: &str) -> Option<Dictionary> {
    let Some(folder) = std::env::var_os("ORCHESTRA") else {
        skip(
            Need::Peers,
            format_args!("set ORCHESTRA to a folder with {name}, of Maven's fix-standard"),
        );
        return None;
    };
    let path = PathBuf::from(folder).join(name);
    let text = std::fs::read_to_string(&path).expect("the file is there");
    Some(Dictionary::parse(&text).unwrap_or_else(|problems| panic!("{name}:\n{problems}")))
}

#[test]
fn the_latest_version_loads() {
    let Some(latest) = repository("OrchestraFIXLatest.xml") else { return };
    assert_eq!(latest.begin_string(), "FIXT.1.1");
    assert!(latest.fields().len() > 5900 && latest.messages().len() > 160);
    let order = latest.message(b"D").expect("NewOrderSingle");
    assert_eq!((order.name(), order.is_admin()), ("NewOrderSingle", false));
    let required: Vec<u32> = order
        .members()
        .iter()
        .filter(|member| member.required)
        .map(|member| member.tag.0)
        .collect();
    assert!([11, 54, 60].iter().all(|tag| required.contains(tag)), "{required:?}");
    assert!(latest.message(b"A").expect("Logon").is_admin());
    assert_eq!(latest.field(Tag(54)).and_then(|side| side.description(b"1")), Some("Buy"));
    assert_eq!(latest.data_fields().data_of(354), Some(355));
}

#[test]
fn older_versions_load() {
    for (name, begin_string, messages) in
        [("FixRepository42.xml", "FIX.4.2", 46), ("FixRepository44.xml", "FIX.4.4", 93)]
    {
        let Some(found) = repository(name) else { continue };
        assert_eq!((found.begin_string(), found.messages().len()), (begin_string, messages));
    }
}

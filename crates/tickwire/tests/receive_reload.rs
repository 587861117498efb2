//! One of several template files changes while `tickwire receive` runs.

mod support;

#[path = "support/receiving.rs"]
mod receiving;

use receiving::Receiving;
use support::{directory, file, templates, tickwire};

/// The last packets use the templates of the next day, which have different ids.
#[test]
fn new_templates_take_effect_without_a_restart() {
    for (engine, port, shows) in [
        ("automatic", 24_310, false),
        ("generated", 24_320, false),
        ("automatic", 24_330, true),
        ("generated", 24_340, true),
    ] {
        let d = directory(&format!("receive_reload_{engine}_{shows}"));
        let old = std::fs::read_to_string(templates("complex")).unwrap();
        let new = old.replace("name=\"MarketData\" id=\"1\"", "name=\"MarketData\" id=\"51\"");
        let new = new.replace("name=\"QuoteRequest\" id=\"2\"", "name=\"QuoteRequest\" id=\"52\"");
        assert_ne!(old, new);
        // The last template is in a separate file that does not change.
        let (start, end) = (old.rfind("<template ").unwrap(), old.rfind("</templates>").unwrap());
        let head = &old[..old.find("<template ").unwrap()];
        let last = file(&d, "last.xml", [head, &old[start..]].concat().as_bytes());
        let without_last = |xml: &str| xml.replace(&old[start..end], "");
        let [old, new] = [&old, &new].map(|xml| without_last(xml));
        let running = file(&d, "templates.xml", old.as_bytes());
        let next_day = file(&d, "next.xml", new.as_bytes());
        let d = d.display();
        let common = "--messages-per-packet 1 --framing cme -n 300";
        for arguments in [
            format!("generate complex -o {d}/1.bin -t {running} -t {last} {common} --no-done"),
            format!(
                "generate complex -o {d}/2.bin -t {next_day} -t {last} {common} --first-seq-num 301"
            ),
        ] {
            let run = tickwire(&arguments);
            assert_eq!(run.status, 0, "{}", run.err);
        }
        // A group that only this process uses.
        let [high, low] = (std::process::id() as u16).to_be_bytes();
        let group = format!("-a 239.253.{high}.{low} -p {port}");
        let arguments = format!(
            "-t {running} -t {last} --watch-templates --framing cme {group} --first 1 --books none --engine {engine}"
        );
        let mut receiving = match shows {
            true => Receiving::start_showing(&format!("{arguments} --show messages"), 1),
            false => Receiving::start(&[], &arguments, 1),
        };
        let send = |name: &str| {
            let run = tickwire(&format!("multicast -f {d}/{name} {group} -s 100us --json -"));
            assert_eq!(run.status, 0, "{}", run.err);
        };
        send("1.bin");
        // A file with errors is reported and changes nothing.
        std::fs::write(&running, "<templates><template/></templates>").unwrap();
        receiving.wait_for("the current templates stay in use", 1);
        std::fs::write(&running, &new).unwrap();
        receiving.wait_for("new templates take effect at the next reset", 1);
        send("2.bin");
        if shows {
            let out = receiving.finish_output();
            let of = |id: u32| {
                out.lines().filter(|line| line.contains(&format!("\"t\": {id},"))).count()
            };
            assert_eq!(out.lines().count(), 601);
            assert!(of(1) > 0 && of(51) > 0, "messages of the old and of the new templates");
            assert_eq!(of(1) + of(2), 300);
            continue;
        }
        let received = receiving.finish();
        let count = |name: &str| received[name].as_u64().unwrap();
        assert_eq!(count("messages"), 601, "{received}");
        assert_eq!((count("undecodable"), count("missing")), (0, 0), "{received}");
    }
}

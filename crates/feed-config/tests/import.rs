//! Exchanges' configuration XML is converted to feed files.

use std::path::Path;
use tickwire_testing::shared;

use tickwire_feed_config::import::{ImportFormat, Imported, import};
use tickwire_feed_config::{Address, BooksBy, ChannelConfig, FeedConfig, LinesConfig};

const CME: &str = include_str!("../testdata/cme.xml");
const SPECTRA: &str = include_str!("../testdata/moex_spectra.xml");
const ASTS: &str = include_str!("../testdata/moex_asts.xml");
const LIBTRADING: &str = include_str!("../testdata/libtrading.xml");

fn imported(text: &str) -> Imported {
    let imported = import(text, Path::new("templates.xml")).unwrap();
    // Every import gives a feed file that can be read back.
    let written = imported.config.to_toml();
    assert_eq!(FeedConfig::parse(&written).unwrap(), imported.config, "{written}");
    imported
}

fn errors(text: &str) -> String {
    import(text, Path::new("templates.xml")).unwrap_err().to_string()
}

fn channel<'i>(imported: &'i Imported, name: &str) -> &'i ChannelConfig {
    imported.config.channel(name).unwrap()
}

fn names(imported: &Imported) -> Vec<&str> {
    imported.config.channels.iter().map(|channel| channel.name.as_str()).collect()
}

/// Returns lines in short form: `source@group:port`.
fn short(lines: &LinesConfig) -> [String; 2] {
    [&lines.a, &lines.b].map(|address| match address {
        None => String::new(),
        Some(Address::Capture(path)) => path.display().to_string(),
        Some(Address::Group { group, port, source, interface }) => {
            let source = source.map_or_else(String::new, |source| format!("{source}@"));
            let interface =
                interface.as_ref().map_or_else(String::new, |name| format!(" on {name}"));
            format!("{source}{group}:{port}{interface}")
        }
    })
}

#[test]
fn cme_channels_have_all_their_feeds() {
    let imported = imported(CME);
    assert_eq!(imported.format, ImportFormat::Cme);
    assert_eq!(names(&imported), ["910", "911"]);
    let channel = channel(&imported, "910");
    assert_eq!(channel.description.as_deref(), Some("Equity index futures"));
    assert_eq!(short(&channel.lines), ["233.252.0.31:14910", "233.252.0.32:15910"]);
    assert_eq!(short(&channel.definitions), ["233.252.0.33:6910", "233.252.0.34:7910"]);
    assert_eq!(short(&channel.snapshots), ["233.252.0.35:10910", "233.252.0.36:11910"]);
    let replay = channel.replay.as_ref().unwrap();
    assert_eq!(replay.addresses, ["192.0.2.30:10000", "192.0.2.31:10000"]);
    assert!(imported.notes[0].contains("line 61: connection `SMBO`"), "{:?}", imported.notes);
}

#[test]
fn moex_spectra_groups_become_channels() {
    let imported = imported(SPECTRA);
    assert_eq!(imported.format, ImportFormat::MoexSpectra);
    assert_eq!(names(&imported), ["fut-book-20", "fut-info", "orders-log"]);
    let book = channel(&imported, "fut-book-20");
    assert_eq!(short(&book.lines), ["192.0.2.1@233.252.0.1:9001", "192.0.2.2@233.252.0.2:9001"]);
    assert_eq!(
        short(&book.snapshots),
        ["192.0.2.1@233.252.0.3:9002", "192.0.2.2@233.252.0.4:9002"]
    );
    assert_eq!(book.replay.as_ref().unwrap().addresses, ["192.0.2.20:9003", "192.0.2.21:9003"]);
    assert_eq!(book.settings.books.depth, Some(20));
    let info = channel(&imported, "fut-info");
    assert_eq!(short(&info.lines)[0], "192.0.2.1@233.252.0.6:9005");
    assert_eq!(short(&info.definitions)[0], "192.0.2.1@233.252.0.5:9004");
    assert_eq!(info.settings.books.by, None);
    assert_eq!(channel(&imported, "orders-log").settings.books.by, Some(BooksBy::Order));
    let framing = imported.config.defaults.framing.as_ref().unwrap();
    assert_eq!(framing.text(), "moex-spectra");
}

#[test]
fn moex_asts_streams_share_definitions_and_replay() {
    let imported = imported(ASTS);
    assert_eq!(imported.format, ImportFormat::MoexAsts);
    assert_eq!(names(&imported), ["fond-ol", "fond-tl"]);
    let orders = channel(&imported, "fond-ol");
    assert_eq!(
        short(&orders.lines),
        ["192.0.2.1@233.252.0.51:16051", "192.0.2.2@233.252.0.52:17051"]
    );
    assert_eq!(short(&orders.snapshots)[1], "192.0.2.2@233.252.0.54:17053");
    assert_eq!(orders.settings.books.by, Some(BooksBy::Order));
    for name in ["fond-ol", "fond-tl"] {
        let channel = channel(&imported, name);
        assert_eq!(short(&channel.definitions)[0], "192.0.2.1@233.252.0.57:16057");
        assert_eq!(channel.replay.as_ref().unwrap().addresses, ["192.0.2.40:16100"]);
    }
    assert_eq!(imported.config.defaults.books.key.as_ref().unwrap().len(), 2);
}

#[test]
fn libtrading_captures_groups_and_instruments() {
    let imported = imported(LIBTRADING);
    assert_eq!(imported.format, ImportFormat::Libtrading);
    let channel = channel(&imported, "main");
    assert_eq!(short(&channel.lines), ["increment_a.dat", "increment_b.dat"]);
    assert_eq!(short(&channel.snapshots)[0], "192.0.2.1@233.252.0.61:9061 on 192.0.2.200");
    let instrument = &channel.instruments[0];
    assert_eq!((instrument.id.as_str(), instrument.tick.as_deref()), ("4001", Some("0.25")));
    assert!(imported.notes[0].contains("framing"), "{:?}", imported.notes);
}

#[test]
fn groups_of_one_feed_type_have_names_of_their_own() {
    let twice = SPECTRA.replace("ORDERS-LOG", "FUT-INFO");
    assert_eq!(names(&imported(&twice)), ["fut-book-20", "fut-info", "fut-info-d"]);
}

#[test]
fn errors_have_lines() {
    let cases = [
        (
            CME.replace("<port>15910</port>", "<port>65536</port>"),
            "line 30, column 9: `65536` is not a port",
        ),
        (
            CME.replace("233.252.0.31", "233.252.0.310"),
            "line 19, column 9: `233.252.0.310` is not an IPv4",
        ),
        (CME.replace("<ip>233.252.0.31</ip>", ""), "line 16, column 7: the connection has no <ip>"),
        (
            CME.replace("233.252.0.32</ip>", "233.252.0.31</ip>").replace("15910", "14910"),
            "line 2, column 1: channels.910.lines.b: 233.252.0.31:14910 is already the address",
        ),
        (
            CME.replace("<channel id=\"911\"", "<channel"),
            "line 70, column 3: the channel has no id",
        ),
        (SPECTRA.replace("<feed>B</feed>", "<feed>C</feed>"), "feed `C` is neither A nor B"),
        (ASTS.replace("UDP/IP", "SCTP"), "protocol `SCTP` is neither"),
        (LIBTRADING.replace("\"snapshot\"", "\"other\""), "line 9, column 3: feed type `other`"),
        ("<configuration><channel".to_owned(), "not XML"),
        ("<templates/>".to_owned(), "this is a template file"),
        ("<config><feeds/></config>".to_owned(), "line 1, column 1: the file describes no channel"),
    ];
    for (text, expected) in cases {
        let found = errors(&text);
        assert!(found.contains(expected), "{expected}\n{found}");
    }
}

/// The configuration of libtrading's reader: its captures become a channel.
#[test]
fn a_readers_configuration_of_the_corpus() {
    let Some(path) = shared("corpus/moex_forts/moex_forts_2013.config.xml") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let imported = imported(&text);
    let channel = channel(&imported, "main");
    assert_eq!(short(&channel.lines), ["increment_a.dat", "increment_b.dat"]);
    let symbols: Vec<_> = channel.instruments.iter().filter_map(|i| i.symbol.as_deref()).collect();
    assert_eq!(symbols, ["RIU3", "GZU3", "SiU3", "LKU3"]);
    assert_eq!(channel.instruments[0].tick.as_deref(), Some("10"));
}

proptest::proptest! {
    #[test]
    fn no_text_panics(which in 0..4_usize, cut in 0..2000_usize, junk in "[<>/A-Z0-9\" ]{0,5}") {
        let mut text = [CME, SPECTRA, ASTS, LIBTRADING][which].to_owned();
        let cut = cut.min(text.len());
        text.insert_str(cut, &junk);
        let _ = import(&text, Path::new("t.xml"));
    }
}

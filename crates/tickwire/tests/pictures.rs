//! The picture in the README shows what the command prints; its charts have the figures of BENCHMARKS.md.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use support::{directory, tickwire};

/// Returns the text of each `<text>` element, except for the command line at the top.
fn rows(svg: &str) -> Vec<String> {
    let lines =
        svg.lines().filter(|line| line.starts_with("<text") && line.contains("class=\"row"));
    lines.map(text).collect()
}

/// Returns a line of SVG without tags and entities.
fn text(line: &str) -> String {
    let outside = line.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text);
    let text: String = outside.collect();
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

#[test]
fn the_picture_of_explain_has_its_output() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images/explain.svg");
    let picture = rows(&fs::read_to_string(path).expect("the picture"));
    let feed = directory("picture").join("feed");
    let feed = feed.display();
    let demo = tickwire(&format!("demo --live-messages 0 --messages 3000 --save {feed}"));
    assert_eq!(demo.status, 0, "{}", demo.err);
    let run = tickwire(&format!(
        "explain {feed}/complex.bin -t {feed}/complex.xml --reset packet --packet 1"
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    let printed = run.out.replace(&feed.to_string(), "feed");
    assert!(picture.len() > 20, "{}", picture.len());
    assert!(picture.len() <= printed.lines().count(), "the picture shows more than is printed");
    for (shown, printed) in picture.iter().zip(printed.lines()) {
        match shown.strip_suffix(" ...") {
            Some(start) => assert!(printed.starts_with(start), "{shown}\n{printed}"),
            None => assert_eq!(shown, printed.trim_end()),
        }
    }
}

fn page(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the cells of a row of a Markdown table, or the columns of an indented row of text.
fn cells(line: &str) -> Vec<&str> {
    match line.strip_prefix('|') {
        Some(row) => row.trim_end().trim_end_matches('|').split('|').map(str::trim).collect(),
        None => line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect(),
    }
}

/// Returns the smallest and the largest number at the start of a cell, up to a bracket, a slash, `and` or `once`.
fn range(cell: &str) -> (f64, f64) {
    let front = [" (", " / ", " and ", "once"]
        .iter()
        .fold(cell, |rest, end| rest.split_once(end).map_or(rest, |(front, _)| front));
    let numbers: Vec<f64> =
        front.replace(',', " ").split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert!(least <= most, "no number in '{cell}'");
    (least, most)
}

/// Returns the cell that a reference of `peers.json` names: the start of its line, which is unique, and the number of the cell.
fn cited<'p>(benchmarks: &'p str, reference: &Value) -> &'p str {
    let start = reference["line"].as_str().expect("the start of a line");
    let cell = reference["cell"].as_u64().expect("a cell, from 1");
    let mut lines = benchmarks.lines().filter(|line| line.starts_with(start));
    let line = lines.next().unwrap_or_else(|| panic!("BENCHMARKS.md has no line '{start}'"));
    assert!(lines.next().is_none(), "BENCHMARKS.md has several lines '{start}'");
    cells(line)[cell as usize - 1]
}

/// True if the value is the rounded product of numbers from the cells.
fn agrees(value: f64, cells: &[&str]) -> bool {
    let (least, most) = cells
        .iter()
        .map(|cell| range(cell))
        .fold((1.0, 1.0), |all, one| (all.0 * one.0, all.1 * one.1));
    (least - 0.5..=most + 0.5).contains(&value)
}

#[test]
fn a_figure_agrees_with_its_cells_or_not() {
    assert!(agrees(81.0, &["81 (17)"]) && !agrees(82.0, &["81 (17)"]));
    assert!(agrees(987.0, &["987 / 20,287 ns"]) && !agrees(20_287.0, &["987 / 20,287 ns"]));
    assert!(agrees(40.0, &["64.2", "0.62, 0.63, once 0.71"]));
    assert!(!agrees(43.0, &["64.2", "0.62, 0.63, once 0.71"]));
    assert_eq!(cells("| | portable | 1.28 to 1.32 |"), ["", "portable", "1.28 to 1.32"]);
    assert_eq!(
        cells("    bare TCP, blocking   39.98    74.77"),
        ["bare TCP, blocking", "39.98", "74.77"]
    );
}

#[test]
fn the_chart_of_peers_has_the_figures_of_the_benchmarks() {
    let benchmarks = page("BENCHMARKS.md");
    let json: Value = serde_json::from_str(&page("docs/images/peers.json")).expect("JSON");
    let charts = ["light", "dark"].map(|mode| page(&format!("docs/images/peers-{mode}.svg")));
    let mut bars = 0;
    for group in json["groups"].as_array().expect("groups") {
        let title = group["title"].as_str().expect("a title");
        for bar in group["bars"].as_array().expect("bars") {
            let name = bar["name"].as_str().expect("a name");
            let value = bar["value"].as_f64().expect("a value");
            let from = bar["from"].as_array().expect("references");
            let from: Vec<&str> = from.iter().map(|one| cited(&benchmarks, one)).collect();
            assert!(agrees(value, &from), "{title}: {name}: {value}, BENCHMARKS.md: {from:?}");
            for chart in &charts {
                for text in [title, name, &value.to_string()] {
                    assert!(chart.contains(text), "the chart lacks '{text}': run peers.py");
                }
            }
            bars += 1;
        }
    }
    assert!(bars > 15, "{bars}");
}

/// Returns the labels of the bars of a chart, in the order in which they are drawn.
fn labels(chart: &str) -> Vec<String> {
    let texts = chart.lines().filter(|line| line.contains("<text")).map(text);
    texts.filter(|text| text.parse::<f64>().is_ok()).collect()
}

/// Returns the rows of a Markdown table after the one that begins with `header`.
fn table<'p>(page: &'p str, header: &str) -> Vec<Vec<&'p str>> {
    let rows = page.lines().skip_while(|line| !line.starts_with(header)).skip(2);
    rows.take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// Returns the first number of a cell as a chart prints it.
fn label(cell: &str) -> String {
    range(cell.split(',').next().unwrap_or(cell)).0.to_string()
}

#[test]
fn the_charts_of_fast_and_opra_have_the_figures_of_their_tables() {
    let benchmarks = page("BENCHMARKS.md");
    let generated = table(&benchmarks, "| feed | messages | entries | generated |");
    let mut fast = Vec::new();
    for row in table(&benchmarks, "| feed | dynamic | mFAST, generated |") {
        let of_feed = generated.iter().find(|of| of[0] == row[0]).expect("generated code");
        fast.extend([of_feed[3], row[1], row[2], row[4]].map(label));
    }
    let opra_page = page("docs/opra-performance.md");
    let beside = table(&benchmarks, "| decoder | 200,020 generated messages |");
    let structs = beside.iter().filter(|row| row[0].contains("structs")).map(|row| label(row[1]));
    let threads = table(&opra_page, "| decoder | one thread, ns/message |");
    let decoders = threads.iter().filter(|row| row[0] != "encoder");
    let mut opra: Vec<String> =
        structs.chain(decoders.flat_map(|row| [label(row[1]), label(row[2])])).collect();
    opra.sort();
    assert!(fast.len() == 24 && opra.len() == 13, "{fast:?} {opra:?}");
    for mode in ["light", "dark"] {
        assert_eq!(labels(&page(&format!("docs/images/fast-times-{mode}.svg"))), fast, "{mode}");
        let mut drawn = labels(&page(&format!("docs/images/opra-{mode}.svg")));
        drawn.sort();
        assert_eq!(drawn, opra, "{mode}");
    }
}

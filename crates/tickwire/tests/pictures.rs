//! The picture in the README shows what the command prints.

mod support;

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
    for (shown, printed) in picture.iter().zip(printed.lines()) {
        match shown.strip_suffix(" ...") {
            Some(start) => assert!(printed.starts_with(start), "{shown}\n{printed}"),
            None => assert_eq!(shown, printed.trim_end()),
        }
    }
}

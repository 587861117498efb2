//! The page: its files are embedded and served exactly as they are in the tree.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! asset {
    ($name:literal, $kind:expr) => {
        ($name, $kind, include_str!(concat!("../page/", $name)))
    };
}

/// Name, content type and content of each file.
pub(crate) const ASSETS: [(&str, &str, &str); 18] = [
    asset!("index.html", HTML),
    asset!("style.css", CSS),
    asset!("icon.svg", SVG),
    asset!("app.js", SCRIPT),
    asset!("api.js", SCRIPT),
    asset!("dom.js", SCRIPT),
    asset!("format.js", SCRIPT),
    asset!("charts.js", SCRIPT),
    asset!("feed.js", SCRIPT),
    asset!("timeline.js", SCRIPT),
    asset!("latency.js", SCRIPT),
    asset!("books.js", SCRIPT),
    asset!("packets.js", SCRIPT),
    asset!("fix.js", SCRIPT),
    asset!("topics.js", SCRIPT),
    asset!("processes.js", SCRIPT),
    asset!("sender.js", SCRIPT),
    asset!("token.js", SCRIPT),
];

fn find(wanted: &str) -> Response {
    match ASSETS.iter().find(|(name, _, _)| *name == wanted) {
        Some((_, kind, content)) => ([(header::CONTENT_TYPE, *kind)], *content).into_response(),
        None => (StatusCode::NOT_FOUND, "no such file\n").into_response(),
    }
}

pub(crate) async fn page() -> Response {
    find("index.html")
}

/// Returns the page over several processes: a mark tells it to ask for them.
pub(crate) async fn page_of_several() -> Response {
    let (_, kind, page) = ASSETS[0];
    let marked = page.replacen("<html ", "<html data-processes ", 1);
    ([(header::CONTENT_TYPE, kind)], marked).into_response()
}

pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    find(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_all_modules_so_that_none_waits_for_another() {
        let (_, _, page) = ASSETS[0];
        for (name, _, _) in ASSETS.iter().filter(|(_, kind, _)| *kind == SCRIPT) {
            assert!(page.contains(&format!("\"/assets/{name}\"")), "{name}");
        }
    }
}

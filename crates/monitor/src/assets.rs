//! The page: its files are embedded and served exactly as they are in the tree. The modules of its script are built into
//! one, because a request for each took longer than all else on the path to the first data.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Name, content type and content of each file.
pub(crate) const ASSETS: [(&str, &str, &str); 5] = [
    ("index.html", HTML, include_str!("../page/index.html")),
    ("style.css", CSS, include_str!("../page/style.css")),
    ("icon.svg", SVG, include_str!("../page/icon.svg")),
    ("page.js", SCRIPT, include_str!("../page/built/page.js")),
    ("icon-not-ready.svg", SVG, include_str!("../page/icon-not-ready.svg")),
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
    fn the_built_script_has_every_module() {
        let (_, _, script) = ASSETS[3];
        let modules = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/page")).unwrap();
        let names = modules.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let modules: Vec<String> = names.filter(|name| name.ends_with(".js")).collect();
        assert!(modules.len() > 10, "{modules:?}");
        for name in modules {
            assert!(script.contains(&format!("\n// {name}\n")), "{name}: run browser/build.mjs");
        }
    }
}

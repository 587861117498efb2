//! The page: its files are embedded, served as they are in the tree, and compressed once. The
//! modules of its script are built into one, because one request per module took longer than
//! everything else before the first data. For the same reason the page brings the first state with
//! it.

use std::sync::{Arc, LazyLock};

use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::compression::{accepts_gzip, gzipped};
use crate::guard::is_of_another_site;
use crate::monitor::MonitorShared;
use crate::requests::StreamSubject;
use crate::summary::SummaryQuery;

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

/// The files as gzip files, in the order of [`ASSETS`].
static COMPRESSED: LazyLock<[Bytes; ASSETS.len()]> =
    LazyLock::new(|| ASSETS.map(|(_, _, content)| gzipped(content.as_bytes()).into()));

fn find(wanted: &str, headers: &HeaderMap) -> Response {
    let Some(at) = ASSETS.iter().position(|(name, _, _)| *name == wanted) else {
        return (StatusCode::NOT_FOUND, "no such file\n").into_response();
    };
    let (_, kind, content) = ASSETS[at];
    let compressed = &COMPRESSED[at];
    let mut response = if accepts_gzip(headers) && compressed.len() < content.len() {
        ([(header::CONTENT_ENCODING, "gzip")], compressed.clone()).into_response()
    } else {
        content.into_response()
    };
    let vary = HeaderValue::from_static("accept-encoding");
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(header::VARY, vary);
    response
}

/// Returns the page without data.
pub(crate) async fn page(headers: HeaderMap) -> Response {
    find("index.html", &headers)
}

/// Returns the page with the first state in it, as JSON that is no script, so that the page shows data before its first request is
/// answered. A request that another site caused gets the page without data.
pub(crate) async fn page_with_state(
    State(shared): State<Arc<MonitorShared>>,
    request: Request,
) -> Response {
    let subject = StreamSubject::Summary(SummaryQuery::default());
    let frame = match is_of_another_site(&request) {
        true => None,
        false => shared.frame(&Arc::new(subject)),
    };
    let Some(frame) = frame else { return find("index.html", request.headers()) };
    // Escapes `<`, so that no text in the state can end the element.
    let json = String::from_utf8_lossy(&frame.json()).replace('<', "\\u003c");
    let element =
        format!("<script type=\"application/json\" id=\"first\">{json}</script>\n</body>");
    let (_, kind, page) = ASSETS[0];
    ([(header::CONTENT_TYPE, kind)], page.replacen("</body>", &element, 1)).into_response()
}

/// Returns the page over several processes: a mark tells it to ask for them.
pub(crate) async fn page_of_several() -> Response {
    let (_, kind, page) = ASSETS[0];
    let marked = page.replacen("<html ", "<html data-processes ", 1);
    ([(header::CONTENT_TYPE, kind)], marked).into_response()
}

pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    find(&name, &headers)
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

//! Compression with gzip, for clients that accept it.

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use flate2::write::GzEncoder;
use flate2::{Compress, Compression, Crc, FlushCompress};
use std::io::Write;
use std::ops::RangeInclusive;
use tokio::sync::Semaphore;

use crate::requests::refused;

/// Lengths of bodies that are compressed.
const LENGTHS: RangeInclusive<u64> = 1 << 10..=32 << 20;
/// A body of at least this length is compressed on another thread than the server's.
const BACKGROUND_BYTES: usize = 64 << 10;
/// Bodies that are compressed at a time on other threads; further ones are sent as they are. A
/// client that requests many of them takes no further CPU time from the handlers.
static BACKGROUND: Semaphore = Semaphore::const_new(2);
/// A member with no name, no time and no flags (RFC 1952), compressed by a fast algorithm on Unix.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3];
/// The last block of a deflate stream, without data.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// True if a client accepts gzip.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let texts = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut codings = texts.filter_map(|text| text.to_str().ok()).flat_map(|text| text.split(','));
    codings.any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        is_gzip && weight.is_none_or(|weight| weight.parse().is_ok_and(|weight: f32| weight > 0.0))
    })
}

/// Returns the bytes as a gzip file.
pub(crate) fn gzipped(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(plain).and_then(|()| encoder.finish());
    match written {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("writing to memory does not fail: {error}"),
    }
}

/// Compresses a body, a long one on another thread; `None` if too many are being compressed.
async fn compressed(plain: &Bytes) -> Option<Vec<u8>> {
    if plain.len() < BACKGROUND_BYTES {
        return Some(gzipped(plain));
    }
    let permit = BACKGROUND.try_acquire().ok()?;
    let plain = plain.clone();
    // The thread continues if the client disconnects, and keeps the permit until it ends.
    let task = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        gzipped(&plain)
    });
    match task.await {
        Ok(bytes) => Some(bytes),
        Err(error) => unreachable!("compressing does not panic: {error}"),
    }
}

/// Middleware that compresses responses whose length is known. Events are compressed as they are encoded, see [`GzipStream`].
pub(crate) async fn compress(request: Request, next: Next) -> Response {
    let is_wanted = request.method() != Method::HEAD && accepts_gzip(request.headers());
    let response = next.run(request).await;
    let has_length = response.body().size_hint().exact().is_some_and(|len| LENGTHS.contains(&len));
    if !is_wanted || !has_length || response.headers().contains_key(header::CONTENT_ENCODING) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // Fails only for the answer of another process.
    let Ok(plain) = to_bytes(body, usize::MAX).await else {
        return refused(StatusCode::BAD_GATEWAY, "the answer of the process was cut off");
    };
    let Some(bytes) = compressed(&plain).await else {
        return Response::from_parts(head, Body::from(plain));
    };
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    Response::from_parts(head, Body::from(bytes))
}

/// Returns bytes as blocks of a deflate stream that refer to no bytes before them and end at a whole byte. Blocks of several events
/// make one stream in any order, so each event is compressed once for all clients.
pub(crate) fn blocks(plain: &[u8]) -> Bytes {
    let mut encoder = Compress::new(Compression::fast(), false);
    let mut out = Vec::with_capacity(plain.len() / 4 + 64);
    loop {
        let taken = usize::try_from(encoder.total_in()).unwrap_or(usize::MAX);
        let rest = plain.get(taken..).unwrap_or_default();
        match encoder.compress_vec(rest, &mut out, FlushCompress::Full) {
            // All is written once the output has room left.
            Ok(_) if out.len() < out.capacity() => return out.into(),
            Ok(_) => out.reserve(out.capacity()),
            Err(error) => unreachable!("a compressor takes all bytes: {error}"),
        }
    }
}

/// A gzip stream that a client receives block by block.
#[derive(Debug, Default)]
pub(crate) struct GzipStream(Crc);

impl GzipStream {
    /// Begins the stream with `plain`.
    pub(crate) fn begin(&mut self, plain: &[u8]) -> Bytes {
        self.0.update(plain);
        [&HEAD[..], &blocks(plain)].concat().into()
    }

    /// Notes that the [`blocks`] of `plain` are sent.
    pub(crate) fn note(&mut self, plain: &[u8]) {
        self.0.update(plain);
    }

    /// Returns the end of the stream.
    pub(crate) fn end(self) -> Bytes {
        let (sum, len) = (self.0.sum().to_le_bytes(), self.0.amount().to_le_bytes());
        [&LAST_BLOCK[..], &sum, &len].concat().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    #[test]
    fn blocks_of_events_make_one_file_in_any_order() {
        let long: String = (0..100_000).map(|number| format!("{number},")).collect();
        let texts = ["data: {\"one\": 1}\n\n", "", &long, "data: {\"one\": 1}\n\n"];
        let compressed = texts.map(|text| blocks(text.as_bytes()));
        for order in [[0, 1, 2, 3], [3, 2, 0, 0]] {
            let mut stream = GzipStream::default();
            let mut bytes = stream.begin(b"retry: 250\n\n").to_vec();
            let mut wanted = "retry: 250\n\n".to_owned();
            for index in order {
                stream.note(texts[index].as_bytes());
                bytes.extend_from_slice(&compressed[index]);
                wanted += texts[index];
            }
            bytes.extend_from_slice(&stream.end());
            let mut text = String::new();
            // Fails if the length or the checksum is wrong.
            GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
            assert!(text == wanted);
        }
        assert!(compressed[2].len() * 2 < long.len(), "{}", compressed[2].len());
    }

    #[test]
    fn few_long_bodies_are_compressed_at_a_time() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (short, long) = (Bytes::from(vec![7; 5000]), Bytes::from(vec![7; 100_000]));
        runtime.block_on(async {
            assert!(compressed(&long).await.is_some());
            let permits = BACKGROUND.try_acquire_many(2).unwrap();
            assert!(compressed(&long).await.is_none());
            assert!(compressed(&short).await.is_some());
            drop(permits);
            assert!(compressed(&long).await.is_some());
        });
    }

    #[test]
    fn a_client_accepts_gzip_if_it_says_so() {
        let accepts = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(text));
            accepts_gzip(&headers)
        };
        for text in ["gzip", "br, GZIP", "deflate, gzip;q=0.5, *;q=0"] {
            assert!(accepts(text), "{text}");
        }
        for text in ["", "br", "gzip;q=0", "xgzip"] {
            assert!(!accepts(text), "{text}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}

//! Bodies without a queue: a chunk is requested once the connection has written the one before.

use axum::BoxError;
use axum::body::{Body, Bytes};
use futures_util::stream::{self, Stream, StreamExt};
use tokio::sync::oneshot;

/// A chunk that the connection drops when it has written it.
struct UnbufferedChunk {
    bytes: Bytes,
    _written: oneshot::Sender<()>,
}

impl AsRef<[u8]> for UnbufferedChunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns a body that requests a chunk only once the socket has taken the one before; over TLS, the socket or the connection's
/// buffer of 4 KiB. By itself, the server requests chunks until its own buffer is full, which is many events of a compressed stream.
pub(crate) fn unbuffered<E>(chunks: impl Stream<Item = Result<Bytes, E>> + Send + 'static) -> Body
where
    E: Into<BoxError> + Send + 'static,
{
    let begin = (Box::pin(chunks), None::<oneshot::Receiver<()>>);
    let chunks = stream::unfold(begin, |(mut chunks, written)| async {
        if let Some(written) = written {
            // Completes when the connection drops the sender.
            let _ = written.await;
        }
        let chunk = chunks.next().await?;
        let (sender, written) = oneshot::channel();
        let chunk =
            chunk.map(|bytes| Bytes::from_owner(UnbufferedChunk { bytes, _written: sender }));
        Some((chunk, (chunks, Some(written))))
    });
    Body::from_stream(chunks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;
    use tokio::time::timeout;

    #[test]
    fn a_chunk_is_requested_once_the_one_before_is_dropped() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let requested = Arc::new(AtomicU32::new(0));
        let counted = requested.clone();
        let chunk = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(Bytes::from_static(b"chunk"))
        };
        let mut chunks = unbuffered(stream::repeat_with(chunk)).into_data_stream();
        runtime.block_on(async {
            let first = chunks.next().await.unwrap().unwrap();
            let early = timeout(Duration::from_millis(20), chunks.next()).await;
            assert!(early.is_err() && requested.load(Ordering::Relaxed) == 1);
            drop(first);
            assert_eq!(chunks.next().await.unwrap().unwrap(), "chunk");
            assert_eq!(requested.load(Ordering::Relaxed), 2);
        });
    }
}

//! Events of the streams, encoded once for all clients that request the same.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;

use crate::compression::blocks;
use crate::requests::StreamSubject;
use crate::stream::StreamPace;

/// Most subjects that are kept. Further ones are encoded for each request.
const FRAMES_MAX: usize = 64;

/// The data of a subject at a version of the state, as an event.
#[derive(Clone, Debug)]
pub(crate) struct EncodedEvent {
    /// The version at which these data were first encoded. A later version with the same data has the same number.
    pub(crate) since: u64,
    /// The event with its name, its data and the empty line after it.
    pub(crate) event: Bytes,
    /// Pace of such events.
    pub(crate) pace: StreamPace,
    json_at: usize,
    /// The event as blocks of a deflate stream, once a client has asked for it.
    compressed: Arc<OnceLock<Bytes>>,
}

impl EncodedEvent {
    fn new(version: u64, name: &str, (json, pace): &(String, StreamPace)) -> Self {
        let head = format!("event: {name}\ndata: ");
        let json_at = head.len();
        let event = [&head, json, "\n\n"].concat().into();
        Self { since: version, event, pace: *pace, json_at, compressed: Arc::default() }
    }

    /// Returns the event as [`blocks`] of a deflate stream, which are the same for all clients.
    pub(crate) fn compressed(&self) -> Bytes {
        self.compressed.get_or_init(|| blocks(&self.event)).clone()
    }

    /// Returns the data.
    pub(crate) fn json(&self) -> Bytes {
        self.event.slice(self.json_at..self.event.len() - 2)
    }
}

#[derive(Debug)]
struct LastEvent {
    /// The version at which the data were encoded last.
    version: u64,
    frame: EncodedEvent,
}

/// The last frame of each subject.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    known: HashMap<Arc<StreamSubject>, LastEvent>,
}

impl Frames {
    /// Returns the frame of a subject, which `encode` makes if there is none of this version; `None` if `encode` has no data.
    pub(crate) fn of(
        &mut self,
        subject: &Arc<StreamSubject>,
        version: u64,
        encode: impl FnOnce() -> Option<(String, StreamPace)>,
    ) -> Option<EncodedEvent> {
        if let Some(known) = self.known.get_mut(subject) {
            if known.version != version {
                let frame = EncodedEvent::new(version, subject.name(), &encode()?);
                known.version = version;
                if known.frame.event != frame.event {
                    known.frame = frame;
                }
            }
            return Some(known.frame.clone());
        }
        let frame = EncodedEvent::new(version, subject.name(), &encode()?);
        if self.known.len() >= FRAMES_MAX {
            // Streams that are open have asked for this version or the one before.
            self.known.retain(|_, known| known.version + 1 >= version);
        }
        if self.known.len() < FRAMES_MAX {
            self.known.insert(subject.clone(), LastEvent { version, frame: frame.clone() });
        }
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(json: &str) -> Option<(String, StreamPace)> {
        Some((json.to_owned(), StreamPace::Full))
    }

    #[test]
    fn data_are_encoded_once_a_version_and_known_again() {
        let mut frames = Frames::default();
        let subject = Arc::new(StreamSubject::State);
        let first = frames.of(&subject, 1, || told("1")).unwrap();
        assert_eq!(
            (first.event.as_ref(), first.json().as_ref()),
            (&b"event: state\ndata: 1\n\n"[..], &b"1"[..])
        );
        let again = frames.of(&subject, 1, || panic!("encoded already")).unwrap();
        assert_eq!(again.since, 1);
        let same = frames.of(&subject, 2, || told("1")).unwrap();
        assert_eq!(same.since, 1, "nothing changed");
        assert_eq!(frames.of(&subject, 3, || told("3")).unwrap().since, 3);
        assert!(frames.of(&subject, 4, || None).is_none());
    }

    #[test]
    fn subjects_are_bounded_in_number() {
        let mut frames = Frames::default();
        for search in 0..10 * FRAMES_MAX as u64 {
            let query = serde_json::from_value(json!({"search": search.to_string()})).unwrap();
            let subject = Arc::new(StreamSubject::Books(query));
            assert!(frames.of(&subject, search / 100, || told(&search.to_string())).is_some());
        }
        assert!(frames.known.len() <= FRAMES_MAX);
    }
}

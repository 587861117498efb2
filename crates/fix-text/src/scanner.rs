//! FIX messages in text: logs, mails, JSON, spreadsheets, with any separator between fields.
//!
//! A message begins with BeginString; the text after its value is the separator of the message. It
//! ends at the CheckSum to which BodyLength leads, otherwise at the first CheckSum, otherwise with
//! its line. If its first fields show other separators too, each field may have a different one. A
//! line without BeginString that has BodyLength or MsgType and another field after it is a message
//! without its head.

use crate::SOH;
use crate::found::FoundMessage;
use crate::mixed::Mixed;
use memchr::memmem::Finder;
use regex::bytes::Regex;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use tickwire_fix::FixLimits;

/// Textual forms of SOH.
macro_rules! soh_forms {
    () => {
        r"\x01|\\{1,2}(?:x01|u0001|001)|<SOH>|\[SOH\]|\{SOH\}|<0x01>|%01|&#x?0*1;|\^A|\xE2\x90\x81"
    };
}
pub const SOH_FORMS: &str = concat!("(?:", soh_forms!(), ")");
/// Pattern of separators: the forms of SOH, and other text between fields.
pub const SEPARATOR: &str =
    concat!("(?:", soh_forms!(), r#"|[ \t]*[^0-9A-Za-z\s="'`\\]{1,3}[ \t]*|\r?\n|\t+| +)"#);
/// Closing characters of those opened before a message.
const CLOSING: [(u8, u8); 7] = [
    (b'"', b'"'),
    (b'\'', b'\''),
    (b'`', b'`'),
    (b'(', b')'),
    (b'[', b']'),
    (b'{', b'}'),
    (b'<', b'>'),
];
/// Maximum number of digits of a CheckSum.
const SUM_DIGITS_MAX: usize = 9;
/// Length of the pieces in which a line is searched, and of their overlap, in bytes.
const LINE_PIECE: usize = 4096;
const PIECE_OVERLAP: usize = 64;
/// Longest BodyLength that is checked if a separator has several bytes, so that wrong ones cost
/// little.
const COUNTED_LEN_MAX: usize = 1 << 16;
/// Bytes after a pause position that may determine a message there: it begins in the line's piece
/// at that position, is at most as long as its limit, and has separators around it.
const AHEAD: usize = 4 * LINE_PIECE;
/// Length of CheckSum with its separator in bytes.
const SUM_LEN: usize = 7;
/// BeginString for a message that has none.
const BEGIN_STRING: &[u8] = b"8=FIX.4.4";

/// A message in a text.
#[derive(Debug, PartialEq, Eq)]
pub struct TextMessage<'t> {
    /// Its first to its last byte.
    pub place: Range<usize>,
    /// Its fields in wire form: separated by SOH, with BeginString, BodyLength and MsgType at the
    /// front.
    pub bytes: Cow<'t, [u8]>,
    /// Its errors, as far as its text shows them.
    pub notes: Vec<String>,
    /// True if the head was completed: BodyLength and CheckSum are then meaningless.
    pub is_completed: bool,
}

/// Finds messages in a text.
#[derive(Debug)]
pub struct Scanner<'t> {
    text: &'t [u8],
    /// Messages that begin before this are complete: the end of the text, or less if more text
    /// follows.
    ready: usize,
    /// The end of the scanned part.
    at: usize,
    /// The next BeginString at or after that position, if it was already searched.
    begin: Option<Option<Range<usize>>>,
    /// Line of the last message passed on, from 1.
    line: usize,
    /// The end of the part whose lines were counted.
    counted: usize,
    patterns: Arc<Patterns>,
}

/// Position of a scanner, to continue with the same text or with more of it.
#[derive(Clone, Debug)]
pub struct Paused {
    at: usize,
    begin: Option<Option<Range<usize>>>,
    line: usize,
    counted: usize,
    patterns: Arc<Patterns>,
}

impl Paused {
    /// Creates the state at the start of a text. Without a separator it is detected for each
    /// message.
    pub fn new(given: Option<&[u8]>) -> Self {
        Scanner::new(&[], given).pause()
    }

    /// Continues in the whole text.
    pub fn resume(self, text: &[u8]) -> Scanner<'_> {
        let Self { at, begin, line, counted, patterns } = self;
        Scanner { text, ready: text.len(), at, begin, line, counted, patterns }
    }

    /// Continues in a text of which more follows, up to where messages could depend on the rest.
    pub(crate) fn resume_part(self, text: &[u8]) -> Scanner<'_> {
        let ahead = self.patterns.len_max + AHEAD;
        let mut scanner = self.resume(text);
        scanner.ready = text.len().saturating_sub(ahead);
        // If none was found, there may be one in the new text.
        scanner.begin = scanner.begin.filter(Option::is_some);
        scanner
    }

    /// Drops the bytes at the start of the text that are no longer needed. Returns their number.
    pub(crate) fn pass(&mut self, text: &[u8]) -> usize {
        // The byte before a message determines its closing character.
        let len = self.at.saturating_sub(1);
        let passed = text.get(self.counted..len).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', passed).count();
        self.counted = self.counted.max(len) - len;
        self.at -= len;
        self.begin = self.begin.take().filter(Option::is_some).map(|begin| {
            begin.map(|begin| begin.start.saturating_sub(len)..begin.end.saturating_sub(len))
        });
        len
    }
}

/// Search patterns.
#[derive(Debug)]
struct Patterns {
    /// Maximum length of a message in the text, in bytes.
    len_max: usize,
    begin: Finder<'static>,
    msg_type: Finder<'static>,
    given: Option<Vec<u8>>,
    separator: Regex,
    headless: Regex,
    /// `None` if the separator is given.
    mixed: Option<Mixed>,
}

impl Patterns {
    fn new(given: Option<&[u8]>, len_max: usize) -> Self {
        let separator = match given {
            None => SEPARATOR.to_owned(),
            Some(given) => given.iter().map(|byte| format!(r"\x{byte:02X}")).collect(),
        };
        let make = |pattern: String| Regex::new(&pattern).expect("a right pattern");
        Self {
            len_max,
            begin: Finder::new(b"8=FIX"),
            msg_type: Finder::new(b"35="),
            given: given.map(<[u8]>::to_vec),
            separator: make(format!(r"(?i-u)\A({separator})\d{{1,9}}=")),
            headless: make(format!(
                r"(?i-u)(?:\A|[^0-9A-Z.])((?:9=\d{{1,9}}{separator})?35=[0-9A-Z]{{1,3}}({separator})\d{{1,9}}=)"
            )),
            mixed: given.is_none().then(Mixed::new),
        }
    }
}

impl Patterns {
    /// Returns the separator after a BeginString, if a field follows it.
    fn separator<'t>(&self, after: &'t [u8]) -> Option<&'t [u8]> {
        // The separators of most logs need no search: no longer separator begins with them.
        if let [SOH | b'|', field @ ..] = after
            && begins_field(field)
        {
            let separator = &after[..1];
            return Some(separator)
                .filter(|_| self.given.as_deref().is_none_or(|g| g == separator));
        }
        Some(self.separator.captures(after)?.get(1)?.as_bytes())
    }
}

/// End of a field.
enum FieldEnd {
    /// At a separator, after which another field begins.
    Field(usize),
    /// At a separator, after which another message begins.
    Message(usize),
    /// At the end of the line, or of the text.
    Line(usize),
}

impl TextMessage<'_> {
    /// Returns the message as an item; broken if it could not be parsed.
    pub fn found(&self) -> FoundMessage<'_> {
        let Self { bytes, notes, is_completed, .. } = self;
        match bytes.is_empty() {
            true => FoundMessage::Broken(notes.join("; ")),
            false => FoundMessage::Message { bytes, notes, is_completed: *is_completed },
        }
    }
}

/// Messages, each with its line, from 1.
impl<'t> Iterator for Scanner<'t> {
    type Item = (usize, TextMessage<'t>);

    fn next(&mut self) -> Option<(usize, TextMessage<'t>)> {
        let found = self.next_message()?;
        let passed = self.text.get(self.counted..found.place.start).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', passed).count();
        self.counted = found.place.start;
        Some((self.line, found))
    }
}

impl<'t> Scanner<'t> {
    /// Creates a scanner for `text`. Without a separator it is detected for each message.
    pub fn new(text: &'t [u8], given: Option<&[u8]>) -> Self {
        let patterns = Arc::new(Patterns::new(given, FixLimits::default().message_len_max));
        Self { text, ready: text.len(), at: 0, begin: None, line: 1, counted: 0, patterns }
    }

    /// Returns the state without the text.
    pub fn pause(self) -> Paused {
        let Self { at, begin, line, counted, patterns, .. } = self;
        Paused { at, begin, line, counted, patterns }
    }

    fn next_message(&mut self) -> Option<TextMessage<'t>> {
        let begin = self.next_begin();
        let gap_end = begin.as_ref().map_or(self.text.len(), |begin| begin.start);
        if let Some(found) = self.headless(gap_end) {
            return Some(found);
        }
        let begin = begin.filter(|begin| begin.start < self.ready)?;
        let after = self.text.get(begin.end..).unwrap_or_default();
        let after = &after[..after.len().min(LINE_PIECE)];
        let Some(separator) = self.patterns.separator(after) else {
            self.at = begin.end;
            return Some(broken(begin, after));
        };
        let (mut found, has_head) = match self.whole(&begin, separator) {
            Some((place, has_head)) => (self.taken(place, separator), has_head),
            None => (self.split(begin.start, self.text.len(), separator), false),
        };
        self.at = found.place.end;
        if !has_head {
            complete(&mut found);
        }
        Some(found)
    }

    /// Returns the next BeginString. Each is searched once, however many messages without one
    /// precede it.
    fn next_begin(&mut self) -> Option<Range<usize>> {
        let is_known =
            |begin: &Option<Range<usize>>| begin.as_ref().is_none_or(|b| b.start >= self.at);
        if let Some(begin) = self.begin.as_ref().filter(|begin| is_known(begin)) {
            return begin.clone();
        }
        let text = self.text.get(self.at..).unwrap_or_default();
        let begin = self.patterns.begin.find_iter(text).find_map(|found| {
            let start = self.at + found;
            // It must not be the end of another field, as in 58=FIX.4.2.
            let is_within = start > 0 && self.text[start - 1].is_ascii_digit();
            let len = begin_len(&self.text[start..]).filter(|_| !is_within)?;
            Some(start..start + len)
        });
        self.begin.insert(begin).clone()
    }

    /// Returns a message without BeginString that begins before `end`.
    fn headless(&mut self, end: usize) -> Option<TextMessage<'t>> {
        // Between the messages of a log there are short texts, such as times, without a field.
        if end <= self.ready
            && let Some(between) = self.text.get(self.at..end)
            && between.len() <= LINE_PIECE
            && memchr::memchr(b'=', between).is_none()
        {
            self.at = end;
            return None;
        }
        while self.at < end.min(self.ready) {
            // The line ends before the next message; a piece of a long line suffices to find a
            // message.
            let rest = self.text.get(self.at..end.min(self.at + LINE_PIECE))?;
            let len = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let line = rest.get(..len)?;
            // Without a MsgType there is no message.
            let has_type = self.patterns.msg_type.find(line).is_some();
            let found = if has_type { self.patterns.headless.captures(line) } else { None };
            let Some(found) = found else {
                // A message that begins at the end of a piece is found in the next one.
                let is_piece = len == LINE_PIECE && !line.ends_with(b"\n");
                self.at += if is_piece { LINE_PIECE - PIECE_OVERLAP } else { len };
                continue;
            };
            let start = self.at + found.get(1)?.start();
            let separator = found.get(2)?.as_bytes().to_vec();
            let mut found = self.split(start, end, &separator);
            self.at = found.place.end.max(start + 1);
            found.notes.insert(0, "BeginString (8) is missing".to_owned());
            complete(&mut found);
            return Some(found);
        }
        None
    }

    /// Returns the range of a message whose BodyLength leads to its CheckSum, and whether MsgType follows BodyLength.
    fn whole(&self, begin: &Range<usize>, separator: &[u8]) -> Option<(Range<usize>, bool)> {
        let text = self.text.get(begin.start..)?;
        let value = text.get(begin.len()..)?;
        let digits = without_separator(value, separator)?.strip_prefix(b"9=")?;
        let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).take(10).count();
        let add = |number, digit: &u8| number * 10 + usize::from(digit - b'0');
        let body_len = digits.get(..len.min(9)).filter(|digits| !digits.is_empty())?;
        let body_len = body_len.iter().fold(0, add);
        if body_len > self.patterns.len_max {
            return None;
        }
        let body = without_separator(digits.get(len..)?, separator)?;
        let body_at = text.len() - body.len();
        let counted = text_len(body, body_len, separator)?;
        let trailer = body_at + Some(counted).filter(|len| *len <= self.patterns.len_max)?;
        let found = text.get(trailer..trailer.checked_add(6)?)?;
        let is_sum = found.starts_with(b"10=") && found.iter().skip(3).all(u8::is_ascii_digit);
        let before = text.get(trailer.checked_sub(separator.len())?..)?;
        let is_next = is_sum && without_separator(before, separator).is_some();
        let after = text.get(trailer + 6..).unwrap_or_default();
        let has_end = after.first().is_none_or(|byte| !byte.is_ascii_digit());
        (is_next && has_end).then(|| {
            let has_last = without_separator(after, separator).is_some();
            let end = trailer + 6 + if has_last { separator.len() } else { 0 };
            (begin.start..begin.start + end, body.starts_with(b"35="))
        })
    }

    /// Converts a message to wire form. Data fields may contain separators that no field follows:
    /// CheckSum shows whether these are data or were SOH.
    fn taken(&self, place: Range<usize>, separator: &[u8]) -> TextMessage<'t> {
        let text = self.text.get(place.clone()).unwrap_or_default();
        let mut notes = Vec::new();
        let is_wire = separator == [SOH];
        let mut bytes = match is_wire {
            true => Cow::Borrowed(text),
            false => Cow::Owned(with_soh(text, separator, false)),
        };
        if bytes.last() != Some(&SOH) {
            if is_wire {
                notes.push("the last delimiter is missing".to_owned());
            }
            bytes.to_mut().push(SOH);
        }
        if !is_wire && !has_right_sum(&bytes) {
            let mut all = with_soh(text, separator, true);
            if all.last() != Some(&SOH) {
                all.push(SOH);
            }
            if has_right_sum(&all) {
                bytes = Cow::Owned(all);
            }
        }
        TextMessage { place, bytes, notes, is_completed: false }
    }

    /// Splits fields by one separator, or by several if a value that cannot contain one does.
    fn split(&self, start: usize, end: usize, separator: &[u8]) -> TextMessage<'t> {
        let len_max = self.patterns.len_max;
        let limit = end.min(start + len_max);
        let mut found = self.walked(start, limit, separator);
        if let Some(mixed) = self.patterns.mixed.as_ref().filter(|m| m.is_in(&found.bytes)) {
            found = self.mixed(mixed, start, limit);
        }
        if limit < end && found.place.end >= limit {
            found.notes.push(format!("cut: longer than {len_max} bytes"));
        }
        found
    }

    /// Splits the fields of a line, each with its own separator, up to CheckSum or another message.
    fn mixed(&self, mixed: &Mixed, start: usize, end: usize) -> TextMessage<'t> {
        let rest = self.text.get(start..end).unwrap_or_default();
        let line = rest.get(..mixed_len(rest)).unwrap_or_default();
        let split = mixed.split(line, |value| self.without_closing(start, value));
        let end = start + split.len;
        let notes = if split.has_check_sum { None } else { self.cut(start, end) };
        let notes = notes.into_iter().collect();
        TextMessage { place: start..end, bytes: split.bytes.into(), notes, is_completed: false }
    }

    /// Returns an error if the text ends within a message.
    fn cut(&self, start: usize, end: usize) -> Option<String> {
        let is_cut = end == self.text.len() && self.text.last() != Some(&b'\n');
        is_cut.then(|| format!("truncated: the data ends after {} bytes of a message", end - start))
    }

    /// Splits fields up to CheckSum, another message or the end of the line.
    fn walked(&self, start: usize, end: usize, separator: &[u8]) -> TextMessage<'t> {
        let (mut bytes, mut notes, mut at) = (Vec::new(), Vec::new(), start);
        let end = loop {
            let rest = self.text.get(at..end).unwrap_or_default();
            if let Some(digits) = rest.strip_prefix(b"10=") {
                let len =
                    digits.iter().take(SUM_DIGITS_MAX).take_while(|b| b.is_ascii_digit()).count();
                bytes.extend_from_slice(rest.get(..3 + len).unwrap_or_default());
                bytes.push(SOH);
                let after = digits.get(len..).unwrap_or_default();
                let tail = [separator, separator.trim_ascii_end()];
                let closing =
                    tail.into_iter().find(|tail| !tail.is_empty() && after.starts_with(tail));
                if closing.is_none() && separator == [SOH] {
                    notes.push("the last delimiter is missing".to_owned());
                }
                break at + 3 + len + closing.map_or(0, <[u8]>::len);
            }
            let (value_end, goes_on, message_end) = match self.field_end(at, end, separator) {
                FieldEnd::Field(value_end) => (value_end, true, value_end),
                FieldEnd::Message(value_end) => (value_end, false, value_end + separator.len()),
                FieldEnd::Line(value_end) => (value_end, false, value_end),
            };
            let mut field = self.text.get(at..value_end).unwrap_or_default();
            if !goes_on {
                field = self.without_closing(start, field);
                field = field.strip_suffix(separator).unwrap_or(field);
                notes.extend(self.cut(start, message_end));
            }
            bytes.extend_from_slice(field);
            bytes.push(SOH);
            if !goes_on {
                break message_end;
            }
            at = value_end + separator.len();
        };
        TextMessage { place: start..end, bytes: bytes.into(), notes, is_completed: false }
    }

    /// Finds the end of the field at `at`, at most the end of its line.
    fn field_end(&self, at: usize, end: usize, separator: &[u8]) -> FieldEnd {
        let text = self.text.get(..end).unwrap_or_default();
        let has_lines = separator.contains(&b'\n');
        for (place, byte) in text.iter().enumerate().skip(at) {
            if *byte == b'\n' && !has_lines {
                let value = text.get(at..place).unwrap_or_default();
                return FieldEnd::Line(at + value.trim_ascii_end().len());
            }
            let rest = text.get(place..).unwrap_or_default();
            let is_inside = place == at || text.get(place - 1).is_some_and(u8::is_ascii_digit);
            if !is_inside && rest.starts_with(b"8=FIX") {
                // Another message, not preceded by a separator.
                return FieldEnd::Line(place);
            }
            let Some(next) = rest.strip_prefix(separator) else { continue };
            if next.starts_with(b"8=FIX") {
                return FieldEnd::Message(place);
            }
            // In wire form a delimiter ends a field even if no field follows.
            let is_wire = separator == [SOH] && !matches!(next, [] | [b'\r' | b'\n', ..]);
            if begins_field(next) || is_wire {
                return FieldEnd::Field(place);
            }
            if has_lines {
                return FieldEnd::Line(place);
            }
        }
        FieldEnd::Line(end)
    }

    /// Truncates a last value at the character that closes what was opened before the message.
    fn without_closing<'f>(&self, start: usize, field: &'f [u8]) -> &'f [u8] {
        let before = start.checked_sub(1).and_then(|at| self.text.get(at));
        let closing = CLOSING.iter().find(|(open, _)| Some(open) == before);
        let at = closing.and_then(|(_, close)| field.iter().position(|byte| byte == close));
        field.get(..at.unwrap_or(field.len())).unwrap_or_default()
    }
}

/// Returns the text after a separator at its start. Most separators are one byte: it is compared without a call.
fn without_separator<'t>(text: &'t [u8], separator: &[u8]) -> Option<&'t [u8]> {
    match (separator, text) {
        ([separator], [first, rest @ ..]) => (first == separator).then_some(rest),
        _ => text.strip_prefix(separator),
    }
}

/// Returns the length of the BeginString that begins with `8=FIX`.
fn begin_len(text: &[u8]) -> Option<usize> {
    let len = if text.get(5) == Some(&b'T') { 6 } else { 5 };
    let [b'.', major, b'.', minor, rest @ ..] = text.get(len..)? else { return None };
    let is_version = major.is_ascii_digit() && minor.is_ascii_digit();
    let has_pack = matches!(rest, [b'S', b'P', pack, ..] if pack.is_ascii_digit());
    is_version.then_some(len + if has_pack { 7 } else { 4 })
}

/// True if the text begins with a tag and `=`.
fn begins_field(text: &[u8]) -> bool {
    let digits = text.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
    (1..10).contains(&digits) && text.get(digits) == Some(&b'=')
}

/// Returns the length in the text of `body_len` bytes on the wire, where a separator is one byte.
fn text_len(text: &[u8], body_len: usize, separator: &[u8]) -> Option<usize> {
    if separator.len() == 1 {
        return Some(body_len);
    }
    let mut at = 0;
    for _ in 0..Some(body_len).filter(|len| *len <= COUNTED_LEN_MAX)? {
        at += match text.get(at..)? {
            [] => return None,
            rest if rest.starts_with(separator) => separator.len(),
            _ => 1,
        };
    }
    Some(at)
}

/// Returns the end of a message with any separators: at CheckSum, at the end of its line, or before
/// another message.
fn mixed_len(text: &[u8]) -> usize {
    let is_end = |pair: &[u8], rest: &[u8]| match pair {
        [_, b'\n'] => true,
        [before, b'8'] => !before.is_ascii_digit() && rest.starts_with(b"8=FIX"),
        [before, b'1'] => !before.is_ascii_alphanumeric() && rest.starts_with(b"10="),
        _ => false,
    };
    let found = text.windows(2).zip(1..).find(|(pair, at)| is_end(pair, &text[*at..]));
    let Some((_, at)) = found else { return text.len() };
    let sum = text[at..].strip_prefix(b"10=").map(|value| {
        3 + value.iter().take(SUM_DIGITS_MAX).take_while(|byte| byte.is_ascii_digit()).count()
    });
    at + sum.unwrap_or(0)
}

/// Replaces each separator by SOH, or only those that a field or nothing follows.
fn with_soh(text: &[u8], separator: &[u8], is_every: bool) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text);
    while let [first, others @ ..] = rest {
        rest = match rest.strip_prefix(separator) {
            Some(next) if is_every || next.is_empty() || begins_field(next) => {
                bytes.push(SOH);
                next
            }
            _ => {
                bytes.push(*first);
                others
            }
        };
    }
    bytes
}

/// True if the last field is a correct CheckSum.
fn has_right_sum(bytes: &[u8]) -> bool {
    let Some((message, sum)) = bytes.split_last_chunk::<SUM_LEN>() else { return false };
    let right = message.iter().copied().fold(0, u8::wrapping_add);
    *sum.as_slice() == *format!("10={right:03}\u{1}").as_bytes()
}

/// Returns the error of text that begins like a message.
fn broken(place: Range<usize>, after: &[u8]) -> TextMessage<'static> {
    let start = String::from_utf8_lossy(after.get(..after.len().min(40)).unwrap_or_default());
    let notes = vec![format!(
        "not a message: expected a separator and a field after BeginString; found {}",
        start.escape_debug()
    )];
    TextMessage { place, bytes: Cow::Borrowed(&[]), notes, is_completed: false }
}

/// Adds BeginString, BodyLength and MsgType at the front if they are missing. A message without
/// MsgType is broken.
fn complete(found: &mut TextMessage<'_>) {
    let head: [&[u8]; 3] = [b"8=", b"9=", b"35="];
    let mut first = found.bytes.split(|byte| *byte == SOH);
    if head.iter().all(|tag| first.next().is_some_and(|field| field.starts_with(tag))) {
        return;
    }
    let fields: Vec<&[u8]> = found.bytes.split_inclusive(|byte| *byte == SOH).collect();
    let [begin, length, msg_type] =
        head.map(|tag| fields.iter().position(|field| field.starts_with(tag)));
    let Some(msg_type) = msg_type else {
        let len_max = FixLimits::default().message_len_max;
        found.notes.push(format!(
            "not a message: expected 8=FIX..., 9= with a length of at most {len_max}, 35= with a MsgType"
        ));
        found.bytes = Cow::Borrowed(&[]);
        return;
    };
    let moved = [begin, length, Some(msg_type)];
    let body: Vec<&[u8]> = (0..fields.len())
        .filter(|at| !moved.contains(&Some(*at)))
        .filter_map(|at| fields.get(at).copied())
        .collect();
    let sum_len = body.last().filter(|last| last.starts_with(b"10=")).map_or(0, |last| last.len());
    let body_len = fields[msg_type].len() + body.concat().len() - sum_len;
    let mut bytes = match begin.and_then(|at| fields.get(at)) {
        Some(field) => field.to_vec(),
        None => [BEGIN_STRING, &[SOH]].concat(),
    };
    match length.and_then(|at| fields.get(at)) {
        Some(field) => {
            bytes.extend_from_slice(field);
            if begin.is_some() {
                found
                    .notes
                    .push("BeginString, BodyLength, MsgType are not the first fields".to_owned());
            }
        }
        None => {
            found.notes.push("BodyLength (9) is missing".to_owned());
            bytes.extend_from_slice(format!("9={body_len}\u{1}").as_bytes());
        }
    }
    bytes.extend_from_slice(fields[msg_type]);
    bytes.extend_from_slice(&body.concat());
    found.bytes = Cow::Owned(bytes);
    found.is_completed = true;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the messages of a text, with `|` between fields, and their notes.
    fn scan(text: &str) -> Vec<(String, Vec<String>)> {
        let mut scanner = Scanner::new(text.as_bytes(), None);
        let mut all = Vec::new();
        while let Some(found) = scanner.next_message() {
            assert!(scanner.at <= text.len());
            let bytes = String::from_utf8(found.bytes.into_owned()).unwrap().replace('\u{1}', "|");
            all.push((bytes, found.notes));
        }
        all
    }

    const ORDER: &str = "8=FIX.4.2|9=26|35=D|55=AB C|58=a|b c|44=1|10=077|";

    #[test]
    fn a_separator_may_be_in_begin_string() {
        let text = "8=FIX.4.2.9=20.35=D.58=a.10=5.55=A.10=077.";
        let wire = "8=FIX.4.2|9=20|35=D|58=a|10=5|55=A|10=077|";
        assert_eq!(scan(text), [(wire.to_owned(), vec![])]);
    }

    #[test]
    fn whatever_stands_between_fields_is_found() {
        let separators = [
            "\u{1}",
            "|",
            ";",
            "^A",
            "^",
            "~",
            "\t",
            " ",
            "<SOH>",
            "\\x01",
            "\\u0001",
            "\\\\u0001",
            "\u{2401}",
            "\\001",
            "[SOH]",
            "&#1;",
            " | ",
            "#",
            "\n",
            "\r\n",
            ",",
            ", ",
            "||",
            "<soh>",
        ];
        for separator in separators {
            let order = ORDER.replace("58=a|b c", "58=ab c");
            let text = order.replace('|', separator);
            for text in [
                text.clone(),
                format!("20260105 in {text} and more\nnothing\n"),
                format!("{{\"m\":\"{text}\",\"n\":1}}"),
                format!("['{}']", text.strip_suffix(separator).unwrap()),
            ] {
                let found = scan(&text);
                assert_eq!(found.len(), 1, "{text}: {found:?}");
                assert_eq!(found[0].0, order, "{text}");
                let is_cut = separator == "\u{1}" && text.starts_with('[');
                assert_eq!(found[0].1.is_empty(), !is_cut, "{:?}", found[0].1);
            }
        }
    }

    #[test]
    fn a_separator_in_a_text_is_part_of_it_where_no_field_follows() {
        let wanted = ORDER.replace("a|b c", "a\u{2402}b c");
        let text = ORDER.replace('|', ";").replace("a;b c", "a; b c");
        assert_eq!(scan(&text)[0].0, wanted.replace("a\u{2402}b c", "a; b c"));
    }

    #[test]
    fn each_message_has_its_own_separator_and_ends_with_its_line() {
        let text =
            "x 8=FIX.4.2|9=5|35=0|10=161|\ny 8=FIX.4.4^A9=5^A35=1^A\n(8=FIXT.1.1;9=5;35=5)\n";
        let found = scan(text);
        let bytes: Vec<&str> = found.iter().map(|(bytes, _)| bytes.as_str()).collect();
        let wanted = ["8=FIX.4.2|9=5|35=0|10=161|", "8=FIX.4.4|9=5|35=1|", "8=FIXT.1.1|9=5|35=5|"];
        assert_eq!(bytes, wanted);
        // A BeginString inside another field does not begin a message.
        let found = scan("35=D|49=A|58=FIX.4.2 test|10=001|");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0.contains("|58=FIX.4.2 test|10=001|"), "{found:?}");
        // Two on one line without CheckSum.
        let found = scan("[\"8=FIX.4.2|9=5|35=0|34=1\",\"8=FIX.4.2|9=5|35=1|34=2\"]");
        let bytes: Vec<&str> = found.iter().map(|(bytes, _)| bytes.as_str()).collect();
        assert_eq!(bytes, ["8=FIX.4.2|9=5|35=0|34=1|", "8=FIX.4.2|9=5|35=1|34=2|"]);
        // Two on one line, the first without CheckSum.
        let found = scan("8=FIX.4.2|9=5|35=0|8=FIX.4.2|9=5|35=1|10=162|");
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].0, "8=FIX.4.2|9=5|35=0|");
    }

    #[test]
    fn data_and_lines_within_a_length_that_is_right_belong_to_the_message() {
        let body = "35=B|95=7|96=10=000|\n|58=one\ntwo|".replace('|', "\u{1}");
        let text = format!("8=FIX.4.2|9={}|{body}10=000|", body.len()).replace('|', "\u{1}");
        let found = scan(&format!("log {text}\n"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, text.replace('\u{1}', "|"));
    }

    /// Returns a message with this body, and correct BodyLength and CheckSum.
    fn sealed(body: &str) -> String {
        let message = format!("8=FIX.4.2\u{1}9={}\u{1}{body}", body.len());
        let sum = message.bytes().fold(0, u8::wrapping_add);
        format!("{message}10={sum:03}\u{1}")
    }

    #[test]
    fn a_message_in_a_data_field_belongs_to_the_message_around_it() {
        let inner = sealed("35=0\u{1}34=2\u{1}");
        let (len, text) = (inner.len(), "58=after\u{1}");
        let outer = sealed(&format!("35=B\u{1}148=x\u{1}95={len}\u{1}96={inner}\u{1}{text}"));
        for separator in ["\u{1}", "|", ";", "~", "^A", "<SOH>", "\\x01", "\\u0001", "\u{2401}"] {
            let line = format!("12:00 {outer}\n12:01 {inner}\n").replace('\u{1}', separator);
            let found = scan(&line);
            let wanted = [&outer, &inner].map(|message| message.replace('\u{1}', "|"));
            let bytes: Vec<&str> = found.iter().map(|(bytes, _)| bytes.as_str()).collect();
            assert_eq!(bytes, wanted, "{line}");
            assert!(found.iter().all(|(_, notes)| notes.is_empty()), "{found:?}");
        }
    }

    #[test]
    fn separators_may_differ_within_a_line() {
        let first = |text: &str| scan(text).remove(0).0;
        assert_eq!(first(r"8=FIX.4.2|9=40;35=D\x0134=1^A49=A|"), "8=FIX.4.2|9=40|35=D|34=1|49=A|");
        assert_eq!(
            first("8=FIX.4.2|9=40|35=D;34=1;49=A;56=B|11=1|"),
            "8=FIX.4.2|9=40|35=D|34=1|49=A|56=B|11=1|"
        );
        assert_eq!(
            first("x 8=FIX.4.2|9=40|35=D|34=1|11=1^A58=a b; c<SOH>10=123|\n"),
            "8=FIX.4.2|9=40|35=D|34=1|11=1|58=a b; c|10=123|"
        );
        // Two on one line, and the line after them.
        let found = scan("8=FIX.4.2|9=5;35=0|10=161| 8=FIX.4.2;9=5|35=1;34=2\nnothing\n");
        let bytes: Vec<&str> = found.iter().map(|(bytes, _)| bytes.as_str()).collect();
        assert_eq!(bytes, ["8=FIX.4.2|9=5|35=0|10=161|", "8=FIX.4.2|9=5|35=1|34=2|"]);
        // A value may contain text in the form of a field.
        let text = "8=FIX.4.2|9=40|35=D|34=1|58=see 44=1; 54=2|10=123|";
        assert_eq!(first(text), text);
    }

    #[test]
    fn lines_without_their_head_are_completed() {
        let [(bytes, notes)] = &scan("12:00:01 INFO 35=D|49=A|10=001|\nprice 35=4\n")[..] else {
            panic!("one");
        };
        assert_eq!(bytes, "8=FIX.4.4|9=10|35=D|49=A|10=001|");
        assert_eq!(notes.len(), 2, "{notes:?}");
        let [(bytes, _)] = &scan("9=12 35=D 49=A")[..] else { panic!("one") };
        assert_eq!(bytes, "8=FIX.4.4|9=12|35=D|49=A|");
        let [(bytes, notes)] = &scan("8=FIX.4.2|35=D|9=5|49=A|\n")[..] else { panic!("one") };
        assert_eq!(bytes, "8=FIX.4.2|9=5|35=D|49=A|");
        assert_eq!(notes.len(), 1, "{notes:?}");
    }

    #[test]
    fn what_is_no_message_is_told_or_passed_over() {
        for text in ["8=FIX.4.2|9=x|", "8=FIX.4.2", "8=FIX.4.2 is a version\n"] {
            let found = scan(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].0.is_empty() && !found[0].1.is_empty(), "{found:?}");
        }
        assert!(scan("nothing 9=1 here, 1=2|3=4\n").is_empty());
        assert!(scan("").is_empty());
        let text = "8=FIX.4.2\u{1}9=5\u{1}35=0\u{1}58=x\u{1}\n12:00 another line\u{1} of the log\n";
        assert_eq!(scan(text)[0].0, "8=FIX.4.2|9=5|35=0|58=x|");
        let text = "8=FIX.4.2\n9=5\n35=0\n58=x\nanother\n\nline\n8=FIX.4.2\n9=5\n35=1\n10=162\n";
        assert_eq!(scan(text).len(), 2);
        assert_eq!(scan(text)[0].0, "8=FIX.4.2|9=5|35=0|58=x|");
        let [(_, notes)] = &scan("8=FIX.4.2\u{1}9=50\u{1}35=D\u{1}49=")[..] else { panic!("one") };
        assert!(notes[0].starts_with("truncated: the data ends after 23 bytes"), "{notes:?}");
    }

    #[test]
    fn many_messages_of_one_line_are_scanned_in_one_pass() {
        // A pass over the rest for each message would take minutes.
        for message in [
            "8=FIX.4.2^A9=5^A35=0^A10=161^A ",
            "8=FIX.4.2^A9=999^A35=0^A10=161^A ",
            "8=FIX.4.2|9=5;35=0^A10=161|",
            "35=D|49=A;50=B|10=001 ",
            "35=D|49=A|10=001\n",
            "35=D|49=A|10=001 ",
        ] {
            assert_eq!(scan(&message.repeat(20_000)).len(), 20_000, "{message}");
        }
    }

    /// Returns a text of messages and other lines, some of them wrong, truncated or long.
    fn random_log(random: &mut fastrand::Rng) -> Vec<u8> {
        let mut log = Vec::new();
        let separators = ["\u{1}", "|", "^A", ";", "<SOH>", "\n"];
        while log.len() < 120_000 {
            let fields = "58=x\u{1}".repeat(random.usize(..40));
            let message = sealed(&format!("35=D\u{1}{fields}"));
            let line = match random.u32(..12) {
                0 => "a line without any ".repeat(random.usize(..500)),
                1 => "INFO 35=D|49=A|".to_owned() + &"58=yy|".repeat(random.usize(..900)),
                2 => "8=FIX.4.2 is a version".to_owned(),
                3 => message[..random.usize(..message.len())].to_owned(),
                4 => message.replace("10=", "10=x"),
                5 => message.replacen("9=", "9=7", 1),
                6 => message.replacen('\u{1}', ";", 2),
                7 => format!("({message}"),
                _ => message.clone(),
            };
            let separator = separators[random.usize(..separators.len())];
            log.extend_from_slice(line.replace('\u{1}', separator).as_bytes());
            log.extend_from_slice(if random.u32(..5) == 0 { b" " } else { b"\n" });
        }
        log
    }

    #[test]
    fn a_text_in_parts_has_the_messages_of_the_whole() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..40 {
            let log = random_log(&mut random);
            let patterns = Arc::new(Patterns::new(None, 2_000));
            let paused = Paused { at: 0, begin: None, line: 1, counted: 0, patterns };
            let whole: Vec<_> = paused.clone().resume(&log).collect();
            assert!(whole.len() > 50, "{}", whole.len());
            let (mut parted, mut paused) = (Vec::new(), paused);
            let (mut first, mut end) = (0, 0);
            loop {
                end = log.len().min(end + random.usize(..30_000));
                let part = &log[first..end];
                let mut scanner = match end == log.len() {
                    true => paused.resume(part),
                    false => paused.resume_part(part),
                };
                for (line, mut found) in scanner.by_ref() {
                    found.place = found.place.start + first..found.place.end + first;
                    parted.push((line, found));
                }
                paused = scanner.pause();
                first += paused.pass(part);
                if end == log.len() {
                    break;
                }
            }
            assert_eq!(parted.len(), whole.len());
            for (part, whole) in parted.iter().zip(&whole) {
                assert_eq!(part, whole);
            }
        }
    }

    #[test]
    fn a_message_longer_than_the_limit_is_told() {
        let text =
            format!("8=FIX.4.2|35=D|{}\n8=FIX.4.2|9=5|35=0|10=161|\n", "58=x|".repeat(1 << 18));
        let found = scan(&text);
        assert!(
            found[0].1.iter().any(|note| note == "cut: longer than 1048576 bytes"),
            "{:?}",
            found[0].1
        );
        assert_eq!(found.last().unwrap().0, "8=FIX.4.2|9=5|35=0|10=161|");
    }

    #[test]
    fn any_bytes_are_scanned_to_their_end() {
        let mut random = fastrand::Rng::with_seed(7);
        let pieces = [
            "8=FIX.4.2",
            "\u{1}",
            "|",
            "9=5",
            "35=D",
            "10=",
            "161",
            "\n",
            "\"",
            "x",
            "=",
            "49=A",
            " ",
        ];
        let patterns = Arc::new(Patterns::new(None, 1 << 20));
        for _ in 0..20_000 {
            let count = random.usize(..14);
            let text: String = (0..count).map(|_| pieces[random.usize(..pieces.len())]).collect();
            let patterns = patterns.clone();
            let mut scanner = Scanner {
                text: text.as_bytes(),
                ready: text.len(),
                at: 0,
                begin: None,
                line: 1,
                counted: 0,
                patterns,
            };
            let mut end = 0;
            while let Some(found) = scanner.next_message() {
                assert!(
                    end <= found.place.start && found.place.start < found.place.end,
                    "{text:?}"
                );
                assert!(found.place.end <= text.len(), "{text:?}");
                end = found.place.end;
                let has_head = found.bytes.starts_with(b"8=FIX") && found.bytes.ends_with(&[SOH]);
                assert!(found.bytes.is_empty() || has_head, "{text:?}");
            }
        }
    }
}

//! Parts of a message, written by functions that are called one after the other.
//!
//! A [`Writer`](super::Writer) is too large to be passed and returned in registers. A sheet (the
//! target) and the state of writing take two registers each.

use super::text::Fraction;
use super::{TagText, text};
use crate::raw::{BufferOffset, Pen};
use crate::reader::SOH;
use crate::value::{
    FixDecimal, LocalMktDate, MonthYear, PackedTimestamp, Precision, UtcTime, UtcTimestamp,
};

/// The target of a message.
#[derive(Clone, Copy, Debug)]
pub struct Sheet<'b>(pub(super) Pen<'b>);

/// The end of a message written so far, and the faults of its texts.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct WriteState {
    pub(super) place: BufferOffset,
    pub(super) marks: u64,
}

/// Writes a part of a message, with the methods of [`Writer`](super::Writer) for fields.
#[derive(Debug)]
pub struct Part<'b> {
    pen: Pen<'b>,
    place: BufferOffset,
    marks: u64,
}

impl<'b> Part<'b> {
    /// Starts at the end of `written`.
    #[inline(always)]
    pub const fn new(sheet: Sheet<'b>, WriteState { place, marks }: WriteState) -> Self {
        Self { pen: sheet.0, place, marks }
    }

    /// Returns the end of what is written.
    #[inline(always)]
    pub const fn written(&self) -> WriteState {
        WriteState { place: self.place, marks: self.marks }
    }

    /// Writes a tag and returns the place after it.
    #[inline(always)]
    fn tag(&self, tag: impl Into<TagText>) -> BufferOffset {
        text::tag(self.pen, self.place, tag.into())
    }

    /// Writes bytes without a check.
    #[inline(always)]
    pub fn bytes(&mut self, tag: impl Into<TagText>, value: &[u8]) {
        (self.place, _) = text::text(self.pen, self.place, tag.into(), value);
    }

    /// Writes text.
    #[inline(always)]
    pub fn text(&mut self, tag: impl Into<TagText>, value: &[u8]) {
        let (place, marks) = text::text(self.pen, self.place, tag.into(), value);
        self.place = place;
        self.marks |= marks;
    }

    /// Writes a data field after its length field.
    #[inline(always)]
    pub fn data(&mut self, length: impl Into<TagText>, data: impl Into<TagText>, value: &[u8]) {
        self.uint(length, value.len() as u64);
        self.bytes(data, value);
    }

    /// Writes one character.
    #[inline(always)]
    pub fn char(&mut self, tag: impl Into<TagText>, value: u8) {
        self.place = text::char(self.pen, self.place, tag.into(), value);
        if value == SOH {
            self.marks |= text::delimiter();
        }
    }

    /// Writes `Y` or `N`.
    #[inline(always)]
    pub fn boolean(&mut self, tag: impl Into<TagText>, value: bool) {
        self.char(tag, if value { b'Y' } else { b'N' });
    }

    /// Writes an integer.
    #[inline(always)]
    pub fn int(&mut self, tag: impl Into<TagText>, value: i64) {
        let tag = tag.into();
        self.place = if value < 0 {
            let place = text::byte(self.pen, self.tag(tag), b'-');
            text::digits_of(self.pen, place, value.unsigned_abs())
        } else {
            text::number(self.pen, self.place, tag, value.unsigned_abs())
        };
    }

    /// Writes a length, count, NumInGroup or sequence number.
    #[inline(always)]
    pub fn uint(&mut self, tag: impl Into<TagText>, value: u64) {
        self.place = text::number(self.pen, self.place, tag.into(), value);
    }

    /// Writes a decimal with exactly its digits.
    #[inline(always)]
    pub fn decimal(&mut self, tag: impl Into<TagText>, value: FixDecimal) {
        self.place = text::decimal(self.pen, self.place, tag.into(), value);
    }

    /// Writes a UTCTimestamp.
    #[inline(always)]
    pub fn utc_timestamp(
        &mut self,
        tag: impl Into<TagText>,
        value: UtcTimestamp,
        precision: Precision,
    ) {
        let UtcTimestamp { date, time } = value;
        let moment = PackedTimestamp::of_date(date).and(PackedTimestamp::of_time(time));
        self.timestamp_of(tag, moment, Fraction::new(time.picos, precision));
    }

    /// Writes a UTCTimestamp from its parts.
    #[inline(always)]
    pub(crate) fn timestamp_of(
        &mut self,
        tag: impl Into<TagText>,
        moment: PackedTimestamp,
        fraction: Fraction,
    ) {
        self.place = text::timestamp(self.pen, self.place, tag.into(), moment, fraction);
    }

    /// Writes a UTCTimeOnly.
    #[inline(always)]
    pub fn utc_time(&mut self, tag: impl Into<TagText>, value: UtcTime, precision: Precision) {
        let fraction = Fraction::new(value.picos, precision);
        self.time_of(tag, PackedTimestamp::of_time(value), fraction);
    }

    /// Writes a UTCTimeOnly from its parts.
    #[inline(always)]
    pub(crate) fn time_of(
        &mut self,
        tag: impl Into<TagText>,
        moment: PackedTimestamp,
        fraction: Fraction,
    ) {
        self.place = text::time_of_day(self.pen, self.place, tag.into(), moment, fraction);
    }

    /// Writes a UTCDateOnly or LocalMktDate.
    #[inline(always)]
    pub fn date(&mut self, tag: impl Into<TagText>, value: LocalMktDate) {
        self.date_of(tag, PackedTimestamp::of_date(value));
    }

    /// Writes a UTCDateOnly or LocalMktDate from its parts.
    #[inline(always)]
    pub(crate) fn date_of(&mut self, tag: impl Into<TagText>, moment: PackedTimestamp) {
        self.place = text::day(self.pen, self.place, tag.into(), moment);
    }

    /// Writes a MonthYear.
    #[inline(always)]
    pub fn month_year(&mut self, tag: impl Into<TagText>, value: MonthYear) {
        self.place = text::month_year(self.pen, self.tag(tag), value);
    }
}

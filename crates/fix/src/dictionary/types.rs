//! Types of fields.

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FixFieldType {
    /// Amount of money.
    Amt,
    /// `Y` or `N`.
    Boolean,
    /// One character.
    Char,
    /// ISO 3166 country.
    Country,
    /// ISO 4217 currency.
    Currency,
    /// Bytes, which may include delimiters.
    Data,
    /// Day of a month.
    DayOfMonth,
    /// ISO 10383 market.
    Exchange,
    /// Decimal.
    Float,
    /// Integer.
    Int,
    /// ISO 639 language code.
    Language,
    /// Length of the data field that follows.
    Length,
    /// Day at the market.
    LocalMktDate,
    /// Month of a year.
    MonthYear,
    /// Characters separated by spaces.
    MultipleCharValue,
    /// Strings separated by spaces.
    MultipleStringValue,
    /// Number of entries of a group.
    NumInGroup,
    /// Decimal; 0.05 is five percent.
    Percentage,
    /// Price.
    Price,
    /// Difference of prices.
    PriceOffset,
    /// Quantity.
    Qty,
    /// Sequence number.
    SeqNum,
    /// Text without delimiters.
    String,
    /// Tag number.
    TagNum,
    /// Time of day with time zone.
    TzTimeOnly,
    /// Timestamp with time zone.
    TzTimestamp,
    /// A type that this library does not know; any value is allowed.
    Unknown,
    /// Day in UTC.
    UtcDateOnly,
    /// Time of day in UTC.
    UtcTimeOnly,
    /// Timestamp in UTC.
    UtcTimestamp,
    /// XML text; a data field.
    XmlData,
}

impl FixFieldType {
    /// Returns the type for its name in QuickFIX. Before FIX 4.2 a CHAR may have any length.
    pub(crate) fn from_quickfix(name: &str, before_42: bool) -> Self {
        match name {
            "AMT" => Self::Amt,
            "BOOLEAN" => Self::Boolean,
            "CHAR" if before_42 => Self::String,
            "CHAR" => Self::Char,
            "COUNTRY" => Self::Country,
            "CURRENCY" => Self::Currency,
            "DATA" => Self::Data,
            "DATE" | "UTCDATE" | "UTCDATEONLY" => Self::UtcDateOnly,
            "DAYOFMONTH" => Self::DayOfMonth,
            "EXCHANGE" => Self::Exchange,
            "FLOAT" => Self::Float,
            "INT" => Self::Int,
            "LANGUAGE" => Self::Language,
            "LENGTH" => Self::Length,
            "LOCALMKTDATE" => Self::LocalMktDate,
            "MONTHYEAR" => Self::MonthYear,
            "MULTIPLECHARVALUE" => Self::MultipleCharValue,
            "MULTIPLESTRINGVALUE" | "MULTIPLEVALUESTRING" => Self::MultipleStringValue,
            "NUMINGROUP" => Self::NumInGroup,
            "PERCENTAGE" => Self::Percentage,
            "PRICE" => Self::Price,
            "PRICEOFFSET" => Self::PriceOffset,
            "QTY" | "QUANTITY" => Self::Qty,
            "SEQNUM" => Self::SeqNum,
            "STRING" => Self::String,
            "TAGNUM" => Self::TagNum,
            "TIME" | "UTCTIMESTAMP" => Self::UtcTimestamp,
            "TZTIMEONLY" => Self::TzTimeOnly,
            "TZTIMESTAMP" => Self::TzTimestamp,
            "UTCTIMEONLY" => Self::UtcTimeOnly,
            "XMLDATA" => Self::XmlData,
            _ => Self::Unknown,
        }
    }

    /// True if the value may contain delimiters.
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::XmlData)
    }

    /// True if the value is a list of values separated by spaces.
    pub const fn is_multiple(self) -> bool {
        matches!(self, Self::MultipleCharValue | Self::MultipleStringValue)
    }
}

#[cfg(test)]
mod tests {
    use super::FixFieldType::{self, *};

    #[test]
    fn every_type_has_its_names() {
        let types: [(FixFieldType, &[&str]); 28] = [
            (Amt, &["AMT"]),
            (Boolean, &["BOOLEAN"]),
            (Char, &["CHAR"]),
            (Country, &["COUNTRY"]),
            (Currency, &["CURRENCY"]),
            (Data, &["DATA"]),
            (UtcDateOnly, &["DATE", "UTCDATE", "UTCDATEONLY"]),
            (DayOfMonth, &["DAYOFMONTH"]),
            (Exchange, &["EXCHANGE"]),
            (Float, &["FLOAT"]),
            (Int, &["INT"]),
            (Language, &["LANGUAGE"]),
            (Length, &["LENGTH"]),
            (LocalMktDate, &["LOCALMKTDATE"]),
            (MonthYear, &["MONTHYEAR"]),
            (MultipleCharValue, &["MULTIPLECHARVALUE"]),
            (MultipleStringValue, &["MULTIPLESTRINGVALUE", "MULTIPLEVALUESTRING"]),
            (NumInGroup, &["NUMINGROUP"]),
            (Percentage, &["PERCENTAGE"]),
            (Price, &["PRICE"]),
            (PriceOffset, &["PRICEOFFSET"]),
            (Qty, &["QTY", "QUANTITY"]),
            (SeqNum, &["SEQNUM"]),
            (FixFieldType::String, &["STRING"]),
            (TagNum, &["TAGNUM"]),
            (UtcTimestamp, &["TIME", "UTCTIMESTAMP"]),
            (XmlData, &["XMLDATA"]),
            (Unknown, &["", "INTEGER"]),
        ];
        for (field_type, names) in types {
            for name in names {
                assert_eq!(FixFieldType::from_quickfix(name, false), field_type, "{name}");
            }
        }
        for (name, field_type) in
            [("TZTIMEONLY", TzTimeOnly), ("TZTIMESTAMP", TzTimestamp), ("UTCTIMEONLY", UtcTimeOnly)]
        {
            assert_eq!(FixFieldType::from_quickfix(name, true), field_type);
        }
        assert_eq!(FixFieldType::from_quickfix("CHAR", true), FixFieldType::String);
    }
}

//! Setters for option structs. These are non-exhaustive, so other crates cannot write them as
//! literals.

/// Generates a setter per field of an options struct, named like the field.
macro_rules! setters {
    ($options:ty { $($field:ident: $value:ty),+ $(,)? }) => {
        impl $options {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](#structfield.", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, $field: $value) -> Self {
                    self.$field = $field;
                    self
                }
            )+
        }
    };
}

pub(crate) use setters;

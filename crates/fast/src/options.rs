//! Setters of option structs, which other crates cannot write as literals: more fields may come.

/// Gives an options struct a method for each field, of the field's name.
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

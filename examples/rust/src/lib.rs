//! Examples of Tickwire's crates: see the folder `examples` beside this one.
//!
//! The blocks of Rust in the book (`docs`) are doctests of this crate.
#![forbid(unsafe_code)]

/// Makes doctests of pages.
macro_rules! pages {
    ($($name:ident: $path:literal),* $(,)?) => {
        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../../docs/", $path))]
            pub struct $name;
        )*
    };
}

pages! {
    ComingFromMfast: "coming-from/mfast.md",
    Decode: "decode.md",
    FeedHandler: "feed-handler.md",
    FixSessions: "fix-sessions.md",
    GeneratedCode: "generated-code.md",
}

//! Examples of Tickwire's crates: see the folder `examples` beside this one.
//!
//! The Rust code blocks of the book (`docs`) are doctests of this crate.
#![forbid(unsafe_code)]

/// Turns pages into doctests.
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

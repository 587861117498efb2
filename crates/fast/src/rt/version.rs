//! Version of generated modules that [`rt`](super) accepts.

/// The version of the generator's output. A module of another version does not compile.
///
/// Raise it, here and in [`module_version!`](crate::module_version), whenever the generator's
/// output changes.
pub const MODULE_VERSION: u32 = 8;

/// Invoked at the top of each generated module: fails to compile if the module's version is not
/// [`MODULE_VERSION`].
///
/// ```
/// tickwire_fast::module_version!(8, "tickwire templates generate t.xml -o t.rs");
/// ```
///
/// ```compile_fail
/// tickwire_fast::module_version!(0, "tickwire templates generate t.xml -o t.rs");
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! module_version {
    (8, $command:literal) => {};
    ($version:literal, $command:literal) => {
        ::core::compile_error!(::core::concat!(
            "this module is from version ",
            $version,
            " of the generator, and this version of tickwire-fast needs version 8: generate again with `",
            $command,
            "`, by tickwire-fast-codegen of the version of tickwire-fast"
        ));
    };
}

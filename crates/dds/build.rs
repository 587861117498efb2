//! Builds Eclipse Cyclone DDS as a static library and compiles the type descriptors.
//!
//! Needs cmake, gcc and g++.

const DESCRIPTORS: [&str; 3] =
    ["idl/generated/Complex.c", "idl/generated/Done.c", "idl/generated/Simple.c"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=idl/generated");

    let mut build = cmake::Config::new(cyclonedds_src::source_dir());
    // An unoptimised middleware helps nobody, so a debug build of ours links the same library.
    build.profile("Release").define("CMAKE_INSTALL_LIBDIR", "lib");
    // Everything found by chance on the building machine stays out, and so does link-time
    // optimisation, whose objects only the same compiler can link.
    for off in [
        "BUILD_SHARED_LIBS",
        "BUILD_IDLC",
        "BUILD_DDSPERF",
        "BUILD_TESTING",
        "BUILD_EXAMPLES",
        "ENABLE_ICEORYX",
        "ENABLE_ICEORYX2",
        "ENABLE_LTO",
        "ENABLE_SECURITY",
        "ENABLE_SSL",
    ] {
        build.define(off, "OFF");
    }
    let prefix = build.build();
    println!("cargo:rustc-link-search=native={}", prefix.join("lib").display());
    println!("cargo:rustc-link-lib=static=ddsc");
    cc::Build::new()
        .files(DESCRIPTORS)
        .include(prefix.join("include"))
        .warnings(false)
        .compile("tickwire_dds_types");
}

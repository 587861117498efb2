//! Compresses the dictionaries that are part of the library.

fn main() {
    println!("cargo::rerun-if-changed=dictionaries");
    #[cfg(feature = "shipped")]
    compress();
}

#[cfg(feature = "shipped")]
fn compress() {
    use std::path::Path;
    use std::{env, fs};

    /// Highest level of compression: compressing all dictionaries takes one second per build.
    const LEVEL: u8 = 9;

    let folder = env::var("OUT_DIR").expect("set by cargo");
    for entry in fs::read_dir("dictionaries").expect("part of the package") {
        let file = entry.expect("a folder that can be read").path();
        if file.extension().is_some_and(|extension| extension == "xml") {
            let text = fs::read(&file).expect("a file that can be read");
            let compressed = miniz_oxide::deflate::compress_to_vec(&text, LEVEL);
            let name = file.file_stem().expect("a name");
            fs::write(Path::new(&folder).join(name), compressed).expect("room on the disk");
        }
    }
}

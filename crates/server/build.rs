//! Makes sure that the folder of the built page exists, so that the crate builds without Node; the server then
//! says how to build the page. Cargo looks at the folder again when its contents change.

use std::path::Path;

#[expect(clippy::disallowed_methods, reason = "a build script has no host to go through")]
fn main() {
    let built_page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
    if let Err(error) = std::fs::create_dir_all(&built_page) {
        println!("cargo::warning=cannot create {}: {error}", built_page.display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../web/dist");
}

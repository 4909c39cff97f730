//! Builds the agent for the platforms of nodes and packs it. In a target directory of its own: the outer build holds
//! the lock of the other one.
#![expect(clippy::disallowed_methods, reason = "a build script reads its variables and starts cargo")]

use std::path::{Path, PathBuf};
use std::process::Command;

const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];
/// With what comes with the compiler: no cross compiler, no linker of the system.
const FLAGS: &str = "-C linker-flavor=ld.lld -C link-self-contained=yes";

fn main() {
    let variable = |name: &str| std::env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    for source in ["crates/agent/src", "crates/agent/Cargo.toml", "rust-toolchain.toml"] {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    for target in TARGETS {
        build(&variable("CARGO"), &root, &out, target);
        let program = out.join("agent").join(target).join("agent/lilt-agent");
        let program =
            std::fs::read(&program).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let packed = lz4_flex::compress_prepend_size(&program);
        let name = target.split('-').next().unwrap_or(target);
        std::fs::write(out.join(format!("agent-{name}.lz4")), packed).expect("OUT_DIR can be written");
    }
}

fn build(cargo: &std::ffi::OsStr, root: &Path, out: &Path, target: &str) {
    let mut command = Command::new(cargo);
    command
        .args(["build", "--locked", "--package", "lilt-agent", "--bin", "lilt-agent", "--profile", "agent"])
        .args(["--target", target])
        .arg("--target-dir")
        .arg(out.join("agent"))
        .current_dir(root);
    // What the outer build is told is not meant for this one.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let kept = ["CARGO", "CARGO_HOME", "CARGO_NET_OFFLINE"].contains(&&*text)
            || text.starts_with("CARGO_REGISTR");
        if (text.starts_with("CARGO") && !kept) || text.starts_with("RUSTC") || text.ends_with("RUSTFLAGS") {
            command.env_remove(&name);
        }
    }
    let setting = format!("CARGO_TARGET_{}", target.to_uppercase().replace('-', "_"));
    command.env(format!("{setting}_LINKER"), "rust-lld").env(format!("{setting}_RUSTFLAGS"), FLAGS);
    let output = command.output().unwrap_or_else(|error| panic!("cannot start cargo: {error}"));
    assert!(
        output.status.success(),
        "cannot build the agent for {target} (`rustup target add {target}` gives what it needs):\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

//! The agent, and the agent as a container image: one file in one layer, made here without a builder.
//!
//! The same program gives the same image for a repository, byte by byte, so that its name tells what is in it and registries
//! and nodes that have it need nothing more.

use std::sync::OnceLock;

use serde_json::json;
use sha2::{Digest, Sha256};

static AMD64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent-x86_64.lz4"));
static ARM64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent-aarch64.lz4"));

/// Where the agent lies in the image.
pub const PROGRAM: &str = "/lilt-agent";
/// A number, so that it counts as not root where that is asked for; the agent needs nobody's rights.
const USER: &str = "65532:65532";

/// An image, as `docker load` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentImage {
    /// Tells what is in it.
    pub tag: String,
    pub archive: Vec<u8>,
}

/// The program for a machine, as `uname -m` names it; none if there is none.
pub fn program(machine: &str) -> Option<&'static [u8]> {
    static PROGRAMS: [OnceLock<Vec<u8>>; 2] = [OnceLock::new(), OnceLock::new()];
    let (program, packed) = match machine {
        "x86_64" => (&PROGRAMS[0], AMD64),
        "aarch64" => (&PROGRAMS[1], ARM64),
        _ => return None,
    };
    Some(program.get_or_init(|| unpack(packed)))
}

fn unpack(packed: &[u8]) -> Vec<u8> {
    lz4_flex::decompress_size_prepended(packed).expect("invariant: the build script packed it so")
}

/// The image for an architecture, as image configurations name it (`amd64`); none if there is none. `name` is the
/// repository under which the engine shall keep it.
pub fn image(architecture: &str, name: &str) -> Option<AgentImage> {
    let packed = match architecture {
        "amd64" => AMD64,
        "arm64" => ARM64,
        _ => return None,
    };
    let layer = archive(&[(PROGRAM.trim_start_matches('/'), 0o755, &unpack(packed))]);
    // Another image in each repository, of the same layer: a kubelet that has pulled an image under one name wants to pull it under
    // each, also where it was brought to the node.
    let configuration = json!({
        "architecture": architecture,
        "os": "linux",
        "config": {"User": USER, "Entrypoint": [PROGRAM], "Labels": {"lilt.dev/repository": name}},
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", hex(&layer))]},
    })
    .to_string();
    let digest = hex(configuration.as_bytes());
    let tag = format!("lilt-agent-{}", &digest[..16]);
    let configuration_name = format!("{digest}.json");
    let manifest = json!([
        {"Config": configuration_name, "RepoTags": [format!("{name}:{tag}")], "Layers": ["layer.tar"]}
    ])
    .to_string();
    let archive = archive(&[
        ("manifest.json", 0o644, manifest.as_bytes()),
        (&configuration_name, 0o644, configuration.as_bytes()),
        ("layer.tar", 0o644, &layer),
    ]);
    Some(AgentImage { tag, archive })
}

fn archive(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, mode, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_mode(*mode);
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, path, *content).expect("invariant: memory takes it");
    }
    builder.into_inner().expect("invariant: memory takes it")
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_small_image_for_each_architecture() {
        for architecture in ["amd64", "arm64"] {
            let made = image(architecture, "localhost:5000/web").unwrap();
            assert_eq!(Some(&made), image(architecture, "localhost:5000/web").as_ref(), "the same each time");
            assert!(made.archive.len() < 1 << 20, "{architecture}: {} bytes", made.archive.len());
        }
        let tag = |architecture| image(architecture, "web").unwrap().tag;
        assert_ne!(tag("amd64"), tag("arm64"));
        let elsewhere = image("amd64", "other").unwrap().tag;
        assert_ne!(tag("amd64"), elsewhere, "another image in another repository");
        assert_eq!(image("s390x", "web"), None);
        // What the file says it is for, as ELF numbers machines.
        for (machine, number) in [("x86_64", 62), ("aarch64", 183)] {
            let program = program(machine).unwrap();
            assert!(program.starts_with(b"\x7fELF\x02\x01"), "{machine}: for 64 bits, the small end first");
            assert_eq!(u16::from_le_bytes([program[18], program[19]]), number, "{machine}");
        }
        assert_eq!(program("s390x"), None);
    }
}

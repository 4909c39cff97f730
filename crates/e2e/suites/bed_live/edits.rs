//! Random edits, after which the trees are equal. `LILT_TEST_EDITS=3000` makes more of them, `LILT_TEST_SEED` other
//! ones.
#![allow(clippy::print_stderr, reason = "a test that fails shows what differed")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use lilt_e2e::seeded_random::{self, SeededRandom};
use lilt_e2e::site::Site;
use lilt_testbed_env::{Testbed, eventually};

use crate::small::{init_containers, lock, restarts, shell, site, with_steps};

/// The edits of a round, after which the trees are compared.
const EDITS: usize = 15;
const USUAL: usize = 10 * EDITS;
/// Open to others, to nobody else, with the bits for groups and for everybody; and closed to the owner, too.
const FOLDER_MODES: [u32; 7] = [0o755, 0o700, 0o775, 0o711, 0o2775, 0o1777, 0o555];

#[test]
fn random_edits_are_synced() {
    let base = format!("{}/distroless/static:nonroot", Testbed::get().registry());
    let site = site("live-edits", &base, "65532:65532");
    lock(&site);
    // The synced directory is the root of a volume: it may be deleted, and the server keeps working in it.
    arrive(&site, "", true);
}

/// With lilt's agent, sent over the connection.
#[test]
fn random_edits_are_synced_through_shell() {
    let site = site("live-edits-shell", "busybox", "0");
    arrive(&site, "", false);
    assert_eq!(init_containers(&site), "");
}

/// With the image's own `tar`.
#[test]
fn random_edits_are_synced_without_agent() {
    let site = site("live-edits-tar", "busybox", "0");
    arrive(&site, ", live_update_agent=False", false);
    assert_eq!(init_containers(&site), "");
}

/// `words` are further arguments of `k8s_resource`.
fn arrive(site: &Site, words: &str, with_root: bool) {
    with_steps(site, "sync('app/www', '/www')");
    let tiltfile = fs::read_to_string(site.project.file("Tiltfile")).expect("it is there");
    let forwarded = ":8080'";
    assert!(tiltfile.contains(forwarded), "{tiltfile}");
    site.project.write("Tiltfile", &tiltfile.replace(forwarded, &format!("{forwarded}{words}")));
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    let root = site.project.file("app/www");
    let mut random = SeededRandom::new(8);
    let edits = seeded_random::number("LILT_TEST_EDITS").map_or(USUAL, |edits| edits as usize);
    for round in 0..edits.div_ceil(EDITS) {
        for _ in 0..EDITS {
            edit(&root, &mut random);
        }
        if with_root && random.below(2) == 0 {
            edit_root(&root, &mut random);
        }
        // The last file of the round: when it has arrived, so have the earlier ones.
        fs::write(root.join("index.html"), format!("round {round}\n")).expect("it can be written");
        site.serves(&format!("round {round}"));
        are_equal(site, &pod, &root, &format!("round {round}"));
    }
    assert_eq!((site.only_pod(), restarts(site, &pod)), (pod, "0".to_owned()));
    lilt.has_lines("STEP 1/3", 1);
    lilt.quit();
}

/// Waits until the container has exactly the synced files of a directory.
pub(crate) fn are_equal(site: &Site, pod: &str, root: &Path, when: &str) {
    let expected = tree(root);
    let mut message = Vec::new();
    eventually(&format!("the trees are equal after {when}"), || {
        let line = "cd /www 2> /dev/null || exit 0; /busybox find . ! -path . | while IFS= read -r p; do if [ -L \"$p\" ]; then \
            echo \"$p -> $(/busybox readlink \"$p\")\"; elif [ -d \"$p\" ]; then \
            echo \"$p/ $(/busybox stat -c %a \"$p\")\"; else echo \"$p $(/busybox stat -c %a \"$p\") $(/busybox md5sum < \"$p\")\"; fi; done";
        let mut seen: Vec<String> = shell(site, pod, line).lines().map(str::to_owned).collect();
        seen.sort();
        let missing = expected.iter().filter(|line| !seen.contains(line)).map(|line| format!("- {line}"));
        let more = seen.iter().filter(|line| !expected.contains(line)).map(|line| format!("+ {line}"));
        let difference: Vec<String> = missing.chain(more).collect();
        if difference != message {
            eprintln!("{when}:\n{}", difference.join("\n"));
            message.clone_from(&difference);
        }
        difference.is_empty().then_some(())
    });
}

/// Makes one edit, if it is possible.
fn edit(root: &Path, random: &mut SeededRandom) {
    let names = ["a", "b", "c"];
    let depth = 1 + random.below(3);
    let path: std::path::PathBuf = (0..depth).map(|_| *random.of(&names)).collect();
    let path = root.join(path);
    let parent = path.parent().expect("it is below the root");
    // Skipped if a parent of the path is no directory.
    if parent.symlink_metadata().is_ok_and(|about| !about.is_dir()) || fs::create_dir_all(parent).is_err() {
        return;
    }
    let above_is_real = parent.ancestors().take_while(|it| *it != root).all(|it| !it.is_symlink());
    if !above_is_real {
        return;
    }
    match random.below(8) {
        0..=2 => {
            let size = *random.of(&[0, 1, 100, 10_000, 300_000]);
            let content: Vec<u8> = (0..size).map(|at| ((at * 31 + depth) % 251) as u8).collect();
            if !path.is_dir() && !path.is_symlink() {
                fs::write(&path, content).expect("it can be written");
            }
        }
        3 => drop(fs::create_dir(&path)),
        4 => drop(symlink(*random.of(&names), &path)),
        5 if path.exists() && !path.is_symlink() => {
            let modes = if path.is_dir() { &FOLDER_MODES[..] } else { &[0o644, 0o755, 0o600] };
            fs::set_permissions(&path, fs::Permissions::from_mode(*random.of(modes))).expect("it is ours");
        }
        6 => drop(fs::rename(&path, root.join(*random.of(&names)))),
        _ => match path.symlink_metadata() {
            Ok(about) if about.is_dir() => fs::remove_dir_all(&path).expect("it is ours"),
            Ok(_) => fs::remove_file(&path).expect("it is ours"),
            Err(_) => {}
        },
    }
}

/// Replaces the whole directory, with fewer or the same files.
fn edit_root(root: &Path, random: &mut SeededRandom) {
    // Outside of the build context.
    let with_home_of = root.ancestors().nth(2).expect("it lies in the build's directory");
    let (next, old) = (with_home_of.join("next"), with_home_of.join("old"));
    let copied = std::process::Command::new("cp").arg("-a").arg(root).arg(&next).status().expect("it runs");
    assert!(copied.success());
    edit(&next, random);
    if random.below(2) == 0 {
        fs::remove_dir_all(root).expect("it is ours");
    } else {
        fs::rename(root, &old).expect("it is ours");
    }
    fs::rename(&next, root).expect("it is ours");
    let _ = fs::remove_dir_all(&old);
}

/// A missing directory has no files.
fn tree(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    if root.exists() {
        walk(root, root, &mut lines);
    }
    lines.sort();
    lines
}

fn walk(root: &Path, folder: &Path, lines: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it can be read").path();
        let about = path.symlink_metadata().expect("it is there");
        let name = format!("./{}", path.strip_prefix(root).expect("it is below").display());
        if about.is_symlink() {
            let target = path.read_link().expect("it is a link");
            lines.push(format!("{name} -> {}", target.display()));
        } else if about.is_dir() {
            lines.push(format!("{name}/ {:o}", about.mode() & 0o7777));
            walk(root, &path, lines);
        } else {
            let sum = std::process::Command::new("md5sum").arg(&path).output().expect("it runs").stdout;
            let sum = String::from_utf8(sum).expect("it is text");
            let sum = sum.split_whitespace().next().expect("it says a sum").to_owned();
            // Times may differ if a file was saved twice in a second.
            lines.push(format!("{name} {:o} {sum}  -", about.mode() & 0o7777));
        }
    }
}

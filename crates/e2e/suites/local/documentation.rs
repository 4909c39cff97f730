//! The pages on the commands are written by lilt itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lilt_e2e::lilt::Start;
use lilt_testbed_env::Project;

fn pages(folder: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeMap::new() };
    let entries = entries.map(|entry| entry.expect("it can be read"));
    entries
        .map(|entry| {
            let text = std::fs::read_to_string(entry.path()).expect("it is text");
            (entry.file_name().to_string_lossy().into_owned(), text)
        })
        .collect()
}

/// When it fails it has written the pages: look at them, and commit.
#[test]
fn the_pages_are_those_that_the_commands_write() {
    let project = Project::new(&[]);
    Start::new(&project, &["dump", "cli-docs", "--dir", "pages"]).run().clean(0);
    let written = pages(&project.file("pages"));
    assert!(written.contains_key("lilt_up.md"));
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/cli"].iter().collect();
    let kept = pages(&folder);
    if written == kept {
        return;
    }
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    for (name, text) in &written {
        std::fs::write(folder.join(name), text).expect("a page can be written");
    }
    let changed = |name: &&String| written.get(*name) != kept.get(*name);
    let names: Vec<&String> = written.keys().chain(kept.keys()).filter(changed).collect();
    panic!("docs/cli was written anew: {names:?}");
}

/// Also those of groups.
#[test]
fn every_command_has_examples() {
    let project = Project::new(&[]);
    Start::new(&project, &["dump", "cli-docs", "--dir", "pages"]).run().clean(0);
    for (name, text) in pages(&project.file("pages")) {
        let is_group = text.contains("\n## Commands\n") && name != "lilt.md";
        assert!(
            is_group || name == "README.md" || text.contains("\n## Examples\n"),
            "{name} has no examples"
        );
    }
}

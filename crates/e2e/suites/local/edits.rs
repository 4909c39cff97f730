//! Random edits of real files: in the end every command has seen their last state, and no
//! command ran without a change.
//!
//! `LILT_TEST_EDITS=10000` makes more of them, `LILT_TEST_SEED` other ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lilt_e2e::lilt::Start;
use lilt_e2e::seeded_random::{self, SeededRandom};
use lilt_testbed_env::{Project, eventually};

/// Resources that watch a folder of their name each.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];
/// Edits between two looks at the results.
const ROUND: usize = 40;
const USUAL: usize = 1_200;

/// What a command sees of its folder; counts its runs.
const SHOW: &str = r#"
find "$1" \( -name skip -o -name .git \) -prune -o -type f ! -name '*.log' ! -name '*~' -print | LC_ALL=C sort |
while read -r file; do echo "$file"; cat "$file" 2>/dev/null; done > "out/$1.new"
echo run >> "out/$1.runs"
mv "out/$1.new" "out/$1"
"#;

#[test]
fn commands_see_the_last_state_of_edited_files() {
    let edits = seeded_random::number("LILT_TEST_EDITS").map_or(USUAL, |edits| edits as usize);
    let mut tiltfile = String::new();
    for name in NAMES {
        tiltfile += &format!(
            "local_resource('{name}', 'sh show.sh {name}', deps=['{name}'], ignore=['{name}/skip', '{name}/**/*.log'], allow_parallel=True)\n"
        );
    }
    let mut files =
        vec![("Tiltfile", tiltfile.as_str()), ("show.sh", SHOW), ("out/.keep", ""), ("away/.keep", "")];
    let firsts: Vec<String> = NAMES.iter().map(|name| format!("{name}/first")).collect();
    files.extend(firsts.iter().map(|first| (first.as_str(), "1")));
    let project = Project::new(&files);
    let lilt = Start::up(&project).start();
    for name in NAMES {
        lilt.wait_until_ready(name);
    }
    let mut editor = Editor {
        root: project.path().to_owned(),
        random: SeededRandom::new(0),
        count: 0,
        touched: BTreeSet::new(),
    };
    while editor.count < edits {
        let before: Vec<usize> = NAMES.iter().map(|name| runs(&project, name)).collect();
        for _ in 0..ROUND {
            editor.edit();
        }
        let touched = std::mem::take(&mut editor.touched);
        for name in NAMES {
            let expected = show(project.path(), name);
            let what = format!("{name} has seen edit {}", editor.count);
            eventually(&what, || (project.read(&format!("out/{name}")) == expected).then_some(()));
        }
        for (name, before) in NAMES.iter().zip(before) {
            let after = runs(&project, name);
            assert!(touched.contains(*name) || after == before, "{name} ran without a change");
            assert!(after <= before + ROUND, "{name} ran {} times for {ROUND} edits", after - before);
        }
    }
    lilt.quit();
}

fn runs(project: &Project, name: &str) -> usize {
    project.read(&format!("out/{name}.runs")).lines().count()
}

/// The same as the script.
fn show(root: &Path, name: &str) -> String {
    let mut files = Vec::new();
    let mut open = vec![PathBuf::from(name)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let (file, kind) =
                (entry.file_name().into_string().expect("text"), entry.file_type().expect("it is there"));
            if kind.is_dir() && !matches!(file.as_str(), "skip" | ".git") {
                open.push(folder.join(file));
            } else if kind.is_file() && !file.ends_with(".log") && !file.ends_with('~') {
                files.push(folder.join(file).into_os_string().into_string().expect("text"));
            }
        }
    }
    files.sort();
    let read = |file: &String| format!("{file}\n{}", fs::read_to_string(root.join(file)).expect("a file"));
    files.iter().map(read).collect()
}

struct Editor {
    root: PathBuf,
    random: SeededRandom,
    count: usize,
    /// Whose commands may have to run.
    touched: BTreeSet<&'static str>,
}

impl Editor {
    fn edit(&mut self) {
        self.count += 1;
        let name = *self.random.of(&NAMES);
        let kind = self.random.below(12);
        if kind < 3 {
            return self.edit_ignored(name, kind);
        }
        self.touched.insert(name);
        let (file, folder) = (self.file(name), self.folder(name));
        let text = format!("edit {}\n", self.count);
        // What is not there to be renamed, moved or removed is left alone.
        let _ = match kind {
            3..6 => {
                fs::create_dir_all(file.parent().expect("it has one")).and_then(|()| fs::write(&file, text))
            }
            6 => atomic_save(&file, &text),
            7 => fs::remove_file(&file),
            8 => fs::rename(&file, self.file(name)),
            9 => fs::remove_dir_all(&folder),
            // Out of sight or back, with all that is in it.
            10 => {
                let away = self.root.join("away").join(self.random.below(3).to_string());
                if away.exists() { fs::rename(&away, &folder) } else { fs::rename(&folder, &away) }
            }
            _ => {
                let other = *self.random.of(&NAMES);
                self.touched.insert(other);
                fs::rename(&folder, self.folder(other))
            }
        };
    }

    /// Nobody watches these.
    fn edit_ignored(&mut self, name: &str, kind: usize) {
        let file = match kind {
            0 => format!("{name}/skip/file"),
            1 => format!("{name}/build.log"),
            _ => format!("{name}/.git/index"),
        };
        let file = self.root.join(file);
        fs::create_dir_all(file.parent().expect("it has one")).expect("a folder");
        fs::write(&file, self.count.to_string()).expect("a file");
    }

    fn folder(&mut self, name: &str) -> PathBuf {
        let depth = 1 + self.random.below(2);
        (0..depth).fold(self.root.join(name), |path, _| path.join(format!("folder-{}", self.random.below(3))))
    }

    fn file(&mut self, name: &str) -> PathBuf {
        let folder = if self.random.below(3) == 0 { self.root.join(name) } else { self.folder(name) };
        folder.join(format!("file-{}", self.random.below(4)))
    }
}

/// As editors do it.
fn atomic_save(file: &Path, text: &str) -> std::io::Result<()> {
    let with_home_of = file.with_extension("tmp~");
    fs::create_dir_all(file.parent().expect("it has one"))?;
    fs::write(&with_home_of, text)?;
    fs::rename(&with_home_of, file)
}

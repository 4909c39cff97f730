//! File watching: one save among a thousand idle resources, a large tree, a branch switch.
//!
//! Commands create a file, which is polled here.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use lilt_testbed_env::Project;

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::Lilt;
use crate::samples::{Samples, milliseconds};
use crate::{memory, page};

const TIMEOUT: Duration = Duration::from_secs(60);
/// The pause between two saves, so that they are separate updates.
const PAUSE: Duration = Duration::from_millis(200);
const RESOURCES: usize = 1_000;
const DIRECTORIES: usize = 100_000;
const FILES: usize = 50_000;

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let mut figures = vec![save(lilt, effort)];
    figures.extend(directories(lilt, effort));
    figures.extend(branch(lilt, effort));
    figures
}

fn wait_for(path: &Path, begin: Instant) -> Duration {
    while fs::symlink_metadata(path).is_err() {
        assert!(begin.elapsed() < TIMEOUT, "{} never came", path.display());
        std::thread::sleep(Duration::from_micros(50));
    }
    begin.elapsed()
}

fn save(lilt: &Lilt, effort: Effort) -> Figure {
    let mut tiltfile = String::from("local_resource('hot', ': > ../ran', dir='hot', deps=['hot'])\n");
    for index in 1..RESOURCES {
        let _ = writeln!(
            tiltfile,
            "local_resource('idle-{index}', 'true', deps=['folder-{index}'], allow_parallel=True)"
        );
    }
    let project = Project::new(&[("Tiltfile", &tiltfile), ("hot/file", "0")]);
    for index in 1..RESOURCES {
        project.write(&format!("folder-{index}/file"), "");
    }
    let session = lilt.up(&project, []);
    page::wait_until_done(&session, &format!("idle-{}", RESOURCES - 1));
    std::thread::sleep(Duration::from_secs(2));
    let samples = Samples::collect(effort.samples(50), |index| {
        let ran = project.file("ran");
        fs::remove_file(&ran).expect("the last command ran");
        std::thread::sleep(PAUSE);
        let begin = Instant::now();
        project.write("hot/file", &index.to_string());
        milliseconds(wait_for(&ran, begin))
    });
    let work = "one save, 1,000 resources idle: save → command has begun";
    Figure::new("save", work, Unit::Milliseconds, samples).at_most(15.0)
}

fn directories(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").unwrap_or_default();
    let limit: usize = limit.trim().parse().unwrap_or(0);
    assert!(
        limit > DIRECTORIES + 1_000,
        "the system lets nobody watch {DIRECTORIES} directories, but {limit}"
    );
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true', deps=['tree'])\n")]);
    for index in 0..DIRECTORIES / 100 {
        for inner in 0..99 {
            let folder = project.file(&format!("tree/{}/{index}/{inner}", index % 10));
            fs::create_dir_all(&folder).expect("a folder");
        }
    }
    let small =
        Project::new(&[("Tiltfile", "local_resource('one', 'true', deps=['tree'])\n"), ("tree/file", "")]);
    let run = |project: &Project| {
        let session = lilt.up(project, []);
        let took = page::wait_until_done(&session, "one");
        std::thread::sleep(Duration::from_secs(1));
        let used = memory::megabytes(session.pid(), "status", "VmRSS").expect("the session runs");
        (took.as_secs_f64(), used)
    };
    let (_, idle) = run(&small);
    let runs: Vec<(f64, f64)> = (0..effort.samples(5)).map(|_| run(&project)).collect();
    let start = Samples::new(runs.iter().map(|(took, _)| *took).collect());
    let more = Samples::new(runs.iter().map(|(_, used)| used - idle).collect());
    vec![
        Figure::new("directories", "100,000 directories: start → watched, updated", Unit::Seconds, start)
            .at_most(2.0),
        Figure::new("directories-memory", "    memory (RSS) beyond that of one", Unit::Megabytes, more)
            .at_most(15.0),
    ]
}

fn branch(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let tiltfile = "local_resource('one', ': > ../ran; echo x >> ../runs', dir='tree', deps=['tree'])\n";
    let project = Project::new(&[("Tiltfile", tiltfile), ("runs", "")]);
    let tree = project.file("tree");
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "gc.auto=0"]);
        let output = command.args(arguments).current_dir(project.path()).output().expect("git runs");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["init", "-q", "-b", "first"]);
    for name in ["first", "second"] {
        for index in 0..FILES {
            let folder = tree.join(format!("{}", index % 500));
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join(format!("{index}.txt")), format!("{name} {index}\n")).expect("a file");
        }
        git(&["add", "tree"]);
        git(&["commit", "-q", "-m", name]);
        if name == "first" {
            git(&["checkout", "-q", "-b", "second"]);
        }
    }
    let session = lilt.up(&project, []);
    page::wait_until_done(&session, "one");
    let mut updates = Vec::new();
    let seen = Samples::collect(effort.samples(5), |index| {
        std::thread::sleep(Duration::from_secs(2));
        let _ = fs::remove_file(project.file("ran"));
        project.write("runs", "");
        git(&["checkout", "-q", if index % 2 == 0 { "first" } else { "second" }]);
        let begin = Instant::now();
        let took = wait_for(&project.file("ran"), begin);
        std::thread::sleep(Duration::from_secs(2));
        updates.push(project.read("runs").lines().count() as f64);
        milliseconds(took)
    });
    vec![
        Figure::new(
            "branch",
            "another branch, 50,000 files: git's end → command has begun",
            Unit::Milliseconds,
            seen,
        )
        .at_most(1_000.0),
        Figure::new("branch-updates", "    updates of it", Unit::Times, Samples::new(updates)).at_most(1.0),
    ]
}

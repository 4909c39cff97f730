//! A folder with one source file, a reloader that runs it, and an agent that writes it.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lilt_agent::protocol::Kind;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::support::{AgentClient, home, one};

/// Milliseconds between saves: two within one restart of the program, and one after the other during several.
const PAIRS: [u64; 6] = [30, 250, 300, 350, 400, 500];
const SERIES: [u64; 20] =
    [30, 300, 60, 270, 90, 240, 120, 210, 150, 180, 30, 30, 30, 300, 300, 300, 100, 200, 100, 250];

type Served = Box<dyn Fn(&Path) -> Option<String>>;

pub(crate) struct Project {
    folder: TempDir,
    source: PathBuf,
    /// The text of the source file, with `VERSION` in it.
    text: &'static str,
    version: u32,
    agent: AgentClient,
    agent_home: TempDir,
    reloader: Child,
    /// What is served or run: the version is somewhere in it.
    served: Served,
}

impl Project {
    /// Starts a reloader and waits until it serves the first version. Modules in `absent/` are in the place of installed ones.
    pub(crate) fn start(
        program: &Path,
        arguments: &[&str],
        source: &str,
        text: &'static str,
        files: &[(&str, &str)],
        served: impl Fn(&Path) -> Option<String> + 'static,
    ) -> Self {
        // air watches no folder whose name begins with a dot.
        let folder = TempDir::with_prefix("project").unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let (agent_home, agent_program) = home();
        let mut agent = AgentClient::start(&agent_program);
        let source = folder.path().join(source);
        save(&mut agent, &source, text, 0);
        // Outside of the folder: some reloaders watch all that is in it.
        let log = File::create(agent_home.path().join("log")).unwrap();
        let reloader = Command::new(program)
            .args(arguments)
            .current_dir(folder.path())
            .env("PYTHONPATH", folder.path().join("absent"))
            .env_remove("PYTHONDONTWRITEBYTECODE")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0)
            .spawn()
            .unwrap();
        let served = Box::new(served);
        let project = Self { folder, source, text, version: 0, agent, agent_home, reloader, served };
        project.wait_for_version();
        project
    }

    /// Saves pairs and a series of versions of the same size, and waits for the last of each.
    pub(crate) fn serves_the_last_save(mut self) {
        for gap in PAIRS {
            self.save();
            pause(gap);
            self.save();
            self.wait_for_version();
        }
        for gap in SERIES {
            self.save();
            pause(gap);
        }
        self.wait_for_version();
    }

    fn save(&mut self) {
        self.version += 1;
        save(&mut self.agent, &self.source, self.text, self.version);
    }

    fn wait_for_version(&self) {
        let version = version(self.version);
        let began = Instant::now();
        let mut last = None;
        while began.elapsed() < Duration::from_secs(60) {
            last = (self.served)(self.folder.path()).or(last);
            if last.as_ref().is_some_and(|text| text.contains(&version)) {
                return;
            }
            pause(20);
        }
        let log = fs::read_to_string(self.agent_home.path().join("log")).unwrap();
        panic!("{version} is not served, but {last:?}; the reloader printed:\n{log}");
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        // air runs the program in a process group of its own, and ends it when it is asked to end.
        let group = Pid::from_raw(self.reloader.id().cast_signed());
        let _ = killpg(group, Signal::SIGTERM);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(5) && matches!(self.reloader.try_wait(), Ok(None)) {
            pause(20);
        }
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.reloader.wait();
    }
}

fn save(agent: &mut AgentClient, path: &Path, text: &str, number: u32) {
    let (mut update, contents) = one(path, text.replace("VERSION", &version(number)).as_bytes());
    if let Kind::File { modified, .. } = &mut update.entries[0].kind {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        *modified = i64::try_from(now.as_micros()).unwrap();
    }
    agent.update(&update, &contents).unwrap();
}

/// All have the same length.
fn version(number: u32) -> String {
    format!("v{number:03}")
}

fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// A program that `scripts/install-reloaders` installed.
pub(crate) fn installed(path: &str) -> PathBuf {
    let home = std::env::var("HOME").unwrap();
    let program = Path::new(&home).join(".cache/lilt/reloaders").join(path);
    assert!(program.exists(), "{} is missing: run scripts/install-reloaders", program.display());
    program
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Returns the response, headers included, unless the server is not there or does not answer soon.
pub(crate) fn http_get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).ok()?;
    Some(response)
}

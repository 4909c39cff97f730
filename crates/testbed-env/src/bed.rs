//! The test bed as tests see it: where it is, its clients, and its programs to stop and start.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::Namespace;
use crate::api::Api;

/// The running test bed. There is one per machine.
#[derive(Debug)]
pub struct Bed {
    script: PathBuf,
    variables: BTreeMap<String, String>,
    pub(crate) api: Api,
    /// Locked by whoever uses the bed, by many at once, or by one who breaks it. Also from other checkouts.
    in_use: File,
}

impl Bed {
    /// The bed of this machine.
    ///
    /// # Panics
    /// If it is not up.
    pub fn get() -> &'static Bed {
        static BED: OnceLock<Result<Bed, String>> = OnceLock::new();
        match BED.get_or_init(Bed::find) {
            Ok(bed) => bed,
            Err(reason) => panic!("{reason}"),
        }
    }

    fn find() -> Result<Bed, String> {
        // Before the first question: somebody may have stopped a program for a test.
        let in_use = lock_file("lilt-testbed-in-use.lock", File::lock_shared)?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbed/testbed");
        let status = output(Command::new(&script).arg("status"));
        if !status.status.success() {
            let programs = String::from_utf8_lossy(&status.stdout);
            return Err(format!(
                "this test needs the test bed, which is not up: run testbed/testbed up\n{programs}"
            ));
        }
        // A shell reads the exports, as a user's shell would.
        let names = ["PATH", "KUBECONFIG", "DOCKER_HOST", "DOCKER_CONFIG", "LILT_TESTBED_REGISTRY"];
        let print = names.map(|name| format!("printf '%s\\n' \"${name}\"")).join("; ");
        let values = succeed(
            Command::new("sh").args(["-ec", &format!("eval \"$(\"$0\" env)\"; {print}")]).arg(&script),
        )?;
        let variables: BTreeMap<String, String> =
            names.iter().map(ToString::to_string).zip(values.lines().map(String::from)).collect();
        match names.iter().find(|name| variables.get(**name).is_none_or(String::is_empty)) {
            Some(missing) => Err(format!("testbed/testbed env does not export {missing}")),
            None => {
                let api = Api::of(Path::new(&variables["KUBECONFIG"]))?;
                Ok(Bed { script, variables, api, in_use })
            }
        }
    }

    /// The administrator's kubeconfig. Tests that deploy take a [`Namespace`]'s own instead.
    pub fn kubeconfig(&self) -> &Path {
        Path::new(&self.variables["KUBECONFIG"])
    }

    /// The Docker engine's address: `unix://…`.
    pub fn docker_host(&self) -> &str {
        &self.variables["DOCKER_HOST"]
    }

    /// `ctr` with the node's containerd.
    pub fn ctr(&self) -> String {
        format!("ctr --address {}", self.containerd())
    }

    /// The socket of the node's containerd.
    pub fn containerd(&self) -> String {
        self.docker_host().trim_start_matches("unix://").replace("docker.sock", "containerd.sock")
    }

    /// The registry that engine and cluster pull from: `host:port`.
    pub fn registry(&self) -> &str {
        &self.variables["LILT_TESTBED_REGISTRY"]
    }

    /// `PATH` with the bed's programs in front.
    pub fn path(&self) -> &OsStr {
        OsStr::new(&self.variables["PATH"])
    }

    /// What a program on the bed has in its environment, `PATH` and `KUBECONFIG` among it.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A program with the bed's environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.envs(self.variables());
        command
    }

    /// Runs kubectl as the administrator and returns what it prints.
    ///
    /// # Panics
    /// If kubectl fails.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        self.try_kubectl(arguments).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// [`Bed::kubectl`] that may fail; the error is what kubectl says.
    pub fn try_kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        succeed(self.command(self.program("kubectl")).args(arguments))
    }

    /// Runs docker and returns what it prints.
    ///
    /// # Panics
    /// If docker fails.
    pub fn docker(&self, arguments: &[&str]) -> String {
        self.try_docker(arguments).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// [`Bed::docker`] that may fail; the error is what docker says.
    pub fn try_docker(&self, arguments: &[&str]) -> Result<String, String> {
        succeed(self.command(self.program("docker")).args(arguments))
    }

    /// A namespace for one test, with `topic` in its name. It goes when the value is dropped.
    pub fn namespace(&'static self, topic: &str) -> Namespace {
        Namespace::create(self, topic)
    }

    /// Waits until nobody else on this machine uses the bed, and keeps others waiting until the value is dropped.
    /// The first line of every test that stops or restarts something. Such tests are in targets named `bed_faults…`,
    /// which run after all others.
    pub fn alone(&'static self) -> Alone {
        let turn =
            lock_file("lilt-testbed-faults.lock", File::lock).unwrap_or_else(|reason| panic!("{reason}"));
        self.in_use.lock().unwrap_or_else(|error| panic!("the bed cannot be locked: {error}"));
        Alone { bed: self, _turn: turn }
    }

    /// Stops one of the bed's programs (`apiserver`, `kubelet`, `registry`, `dockerd` …) until the value is dropped.
    /// Only for tests that are [`Bed::alone`].
    pub fn stop(&'static self, program: &str) -> Stopped {
        self.testbed(&["stop", program]);
        Stopped { bed: self, program: program.to_owned() }
    }

    /// Starts one of the bed's programs and waits until it answers.
    pub fn start(&self, program: &str) {
        self.testbed(&["start", program]);
    }

    /// Stops one of the bed's programs, starts it again and waits until it answers. Only for tests that are
    /// [`Bed::alone`].
    pub fn restart(&self, program: &str) {
        self.testbed(&["restart", program]);
    }

    fn testbed(&self, arguments: &[&str]) {
        if let Err(reason) = succeed(Command::new(&self.script).args(arguments)) {
            panic!("{reason}");
        }
    }

    /// Found by hand: `Command` looks a program up in this process's `PATH`, unless it is set for the child alone.
    fn program(&self, name: &str) -> PathBuf {
        std::env::split_paths(self.path())
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
            .unwrap_or_else(|| PathBuf::from(name))
    }
}

/// The right to break the bed. The kernel takes it back from a killed process.
#[must_use = "others go on when this is dropped"]
#[derive(Debug)]
pub struct Alone {
    bed: &'static Bed,
    /// The tests of one process share their lock of the bed: this one tells them apart.
    _turn: File,
}

impl Drop for Alone {
    fn drop(&mut self) {
        // Cannot be refused: a lock that is held only becomes weaker.
        let _ = self.bed.in_use.lock_shared();
    }
}

/// A program of the bed that a test stopped. Dropping it starts the program again and waits until it answers, also
/// when the test panics; after a killed test, `testbed up` does.
#[must_use = "the program is started again when this is dropped"]
#[derive(Debug)]
pub struct Stopped {
    bed: &'static Bed,
    program: String,
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let started = succeed(Command::new(&self.bed.script).args(["start", &self.program]));
        if let Err(reason) = started
            && !std::thread::panicking()
        {
            panic!("{reason}");
        }
    }
}

fn lock_file(name: &str, lock: fn(&File) -> std::io::Result<()>) -> Result<File, String> {
    let path = std::env::temp_dir().join(name);
    File::create(&path)
        .and_then(|file| lock(&file).map(|()| file))
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn output(command: &mut Command) -> Output {
    command.stdin(std::process::Stdio::null());
    command
        .output()
        .unwrap_or_else(|error| panic!("{} does not start: {error}", command.get_program().display()))
}

/// What a command prints, or a sentence with what it complains about.
fn succeed(command: &mut Command) -> Result<String, String> {
    let output = output(command);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(printed);
    }
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    let arguments: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    let program =
        Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    Err(format!("{program} {} failed ({}):\n{printed}{complaint}", arguments.join(" "), output.status))
}

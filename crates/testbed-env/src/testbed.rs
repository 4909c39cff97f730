//! The test bed for tests: its addresses, its clients, and control of its programs.

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
pub struct Testbed {
    script: PathBuf,
    variables: BTreeMap<String, String>,
    pub(crate) api: Api,
    /// Held shared by tests, and exclusively by fault tests, also of other checkouts.
    in_use: File,
}

impl Testbed {
    /// Returns the test bed of this machine.
    ///
    /// # Panics
    /// If it is not running.
    pub fn get() -> &'static Testbed {
        static TESTBED: OnceLock<Result<Testbed, String>> = OnceLock::new();
        match TESTBED.get_or_init(Testbed::find) {
            Ok(testbed) => testbed,
            Err(reason) => panic!("{reason}"),
        }
    }

    fn find() -> Result<Testbed, String> {
        // Taken first: a fault test may have stopped a program.
        let in_use = lock_file("lilt-testbed-in-use.lock", File::lock_shared)?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbed/testbed");
        let status = output(Command::new(&script).arg("status"));
        if !status.status.success() {
            let programs = String::from_utf8_lossy(&status.stdout);
            return Err(format!(
                "this test needs the test bed, which is not up: run testbed/testbed up\n{programs}"
            ));
        }
        // A shell evaluates the exports, like a user's shell.
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
                Ok(Testbed { script, variables, api, in_use })
            }
        }
    }

    /// Returns the administrator's kubeconfig. Tests that deploy use that of a [`Namespace`] instead.
    pub fn kubeconfig(&self) -> &Path {
        Path::new(&self.variables["KUBECONFIG"])
    }

    /// Returns the Docker engine's address: `unix://…`.
    pub fn docker_host(&self) -> &str {
        &self.variables["DOCKER_HOST"]
    }

    /// Returns the `ctr` command for the node's containerd.
    pub fn ctr(&self) -> String {
        format!("ctr --address {}", self.containerd())
    }

    /// Returns the socket of the node's containerd.
    pub fn containerd(&self) -> String {
        self.docker_host().trim_start_matches("unix://").replace("docker.sock", "containerd.sock")
    }

    /// Returns the registry of engine and cluster: `host:port`.
    pub fn registry(&self) -> &str {
        &self.variables["LILT_TESTBED_REGISTRY"]
    }

    /// Returns `PATH` with the test bed's programs first.
    pub fn path(&self) -> &OsStr {
        OsStr::new(&self.variables["PATH"])
    }

    /// Returns the environment variables for programs that use the test bed.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns a command with the test bed's environment.
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

    /// [`Testbed::kubectl`] that may fail; the error is what kubectl says.
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

    /// [`Testbed::docker`] that may fail; the error is what docker says.
    pub fn try_docker(&self, arguments: &[&str]) -> Result<String, String> {
        succeed(self.command(self.program("docker")).args(arguments))
    }

    /// Creates a namespace for one test, with `topic` in its name. Dropping the value deletes it.
    pub fn namespace(&'static self, topic: &str) -> Namespace {
        Namespace::create(self, topic)
    }

    /// Waits until no other test on this machine uses the test bed, and blocks others until the value is dropped.
    /// The first line of every test that stops or restarts something. Such tests are in targets named `bed_faults…`,
    /// which run after all others.
    pub fn lock_exclusively(&'static self) -> ExclusiveLock {
        let turn =
            lock_file("lilt-testbed-faults.lock", File::lock).unwrap_or_else(|reason| panic!("{reason}"));
        self.in_use.lock().unwrap_or_else(|error| panic!("the bed cannot be locked: {error}"));
        ExclusiveLock { testbed: self, _turn: turn }
    }

    /// Stops one of the test bed's programs (`apiserver`, `kubelet`, `registry`, `dockerd` …) until the value is dropped.
    /// Only for tests that hold [`Testbed::lock_exclusively`].
    pub fn stop(&'static self, program: &str) -> Stopped {
        self.testbed(&["stop", program]);
        Stopped { testbed: self, program: program.to_owned() }
    }

    /// Starts one of the test bed's programs and waits until it responds.
    pub fn start(&self, program: &str) {
        self.testbed(&["start", program]);
    }

    /// Restarts one of the test bed's programs and waits until it responds. Only for tests that hold
    /// [`Testbed::lock_exclusively`].
    pub fn restart(&self, program: &str) {
        self.testbed(&["restart", program]);
    }

    fn testbed(&self, arguments: &[&str]) {
        if let Err(reason) = succeed(Command::new(&self.script).args(arguments)) {
            panic!("{reason}");
        }
    }

    /// Searched here, because `Command` searches this process's `PATH`.
    fn program(&self, name: &str) -> PathBuf {
        std::env::split_paths(self.path())
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
            .unwrap_or_else(|| PathBuf::from(name))
    }
}

/// Exclusive use of the test bed. The kernel releases it when the process is killed.
#[must_use = "others go on when this is dropped"]
#[derive(Debug)]
pub struct ExclusiveLock {
    testbed: &'static Testbed,
    /// The tests of one process share the other lock: this one separates them.
    _turn: File,
}

impl Drop for ExclusiveLock {
    fn drop(&mut self) {
        // Cannot fail: a held lock is only downgraded.
        let _ = self.testbed.in_use.lock_shared();
    }
}

/// A program of the test bed that a test stopped. Dropping it starts the program again and waits until it responds, also
/// when the test panics; after a killed test, `testbed up` starts it.
#[must_use = "the program is started again when this is dropped"]
#[derive(Debug)]
pub struct Stopped {
    testbed: &'static Testbed,
    program: String,
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let started = succeed(Command::new(&self.testbed.script).args(["start", &self.program]));
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

/// Returns the output of a command, or a message with its errors.
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

//! A session, and commands that use it.

use lilt_e2e::lilt::{Lilt, Start};
use lilt_testbed_env::Project;
use serde_json::Value;

const TILTFILE: &str = "\
local_resource('one', 'echo ran one', labels=['front'])
local_resource('two', 'echo ran two', serve_cmd='echo serving; exec sleep 987', labels=['back'])
";

/// A ConfigMap with two values and a label.
pub(crate) const MAP: &str = "apiVersion: tilt.dev/v1alpha1\nkind: ConfigMap\nmetadata: {name: values, labels: {app: shop}}\ndata: {a: '1', b: '2'}\n";

pub(crate) struct Session {
    pub(crate) project: Project,
    pub(crate) lilt: Lilt,
}

impl Session {
    pub(crate) fn start() -> Session {
        let project = Project::new(&[("Tiltfile", TILTFILE), ("map.yaml", MAP)]);
        let lilt = Start::up(&project).start();
        lilt.wait_until_ready("one");
        lilt.wait_until_ready("two");
        Session { project, lilt }
    }

    /// Another command for the same session.
    pub(crate) fn command(&self, arguments: &[&str]) -> Start {
        let mut start = Start::new(&self.project, arguments).with_home_of(&self.lilt);
        for name in ["TILT_CONFIG", "TILT_EDITOR", "KUBE_EDITOR", "EDITOR"] {
            start = start.variable(name, "");
        }
        start
    }

    /// Returns the output of a command that must succeed without warnings.
    #[track_caller]
    pub(crate) fn prints(&self, arguments: &[&str]) -> String {
        let ended = self.command(arguments).run().expect_clean_exit(0);
        assert_eq!(ended.stderr(), "", "{arguments:?}");
        ended.stdout()
    }

    /// The same for output without a final newline.
    #[track_caller]
    pub(crate) fn output_of(&self, arguments: &[&str]) -> String {
        self.prints(arguments).trim_end().to_owned()
    }

    /// Returns the errors of a command that must fail without output.
    #[track_caller]
    pub(crate) fn fails(&self, arguments: &[&str]) -> String {
        let ended = self.command(arguments).run().expect_clean_exit(1);
        assert_eq!(ended.stdout(), "", "{arguments:?}");
        ended.stderr()
    }

    /// Checks the errors of commands.
    #[track_caller]
    pub(crate) fn complaints(&self, commands: &[&[&str]]) -> String {
        let message =
            |arguments: &&[&str]| format!("$ lilt {}\n{}\n", arguments.join(" "), self.fails(arguments));
        commands.iter().map(message).collect()
    }

    /// Returns the outputs and the exit code of a command that reads a file on stdin.
    #[track_caller]
    pub(crate) fn given(&self, text: &str, arguments: &[&str]) -> (i32, String, String) {
        self.project.write("given", text);
        let ended = self.command(arguments).reading(&self.project.file("given")).run();
        (ended.code().expect("it exits"), ended.stdout(), ended.stderr())
    }

    #[track_caller]
    pub(crate) fn object(&self, name: &str) -> Value {
        serde_json::from_str(&self.prints(&["get", name, "-o", "json"])).expect("it prints JSON")
    }
}

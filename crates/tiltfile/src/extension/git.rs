//! The calls of git that bring a repository onto this machine.
//!
//! Every step may be repeated: one that was interrupted, by Ctrl-C or the network, is completed by the next run, and
//! nothing is ever removed. A clone that Tilt made is used, too.

use std::path::Path;

use lilt_model::command::Command;
use lilt_model::{Failure, Unreachable};

use super::credentials::Credentials;
use crate::failure::cancelled;
use crate::load_state::LoadState;

/// A clone, which may not exist yet.
pub(super) struct Clone<'s, 'a> {
    pub(super) state: &'s LoadState<'a>,
    pub(super) folder: &'s Path,
    /// The address without credentials.
    pub(super) shown: &'s str,
    pub(super) credentials: Option<&'s Credentials>,
}

impl Clone<'_, '_> {
    /// Fetches all branches and tags; touches no file of the working tree.
    ///
    /// Branches and tags that the repository does not have are removed if what is here cannot be trusted.
    pub(super) fn fetch(&self, is_trusted: bool) -> Result<(), Failure> {
        let state = self.state;
        state.print(&format!("Fetching the extension repository {}", self.shown));
        if !state.system.exists(&self.folder.join(".git/HEAD")) {
            // The folder must exist before git can initialize it.
            let note = self.folder.join(".git/description");
            state.system.write_file(&note, b"Tilt extensions").map_err(|error| {
                let folder = self.folder.display();
                Failure::environment(format!(
                    "cannot keep the extension repository {} in {folder}: {error}",
                    self.shown
                ))
                .hint("set XDG_DATA_HOME to a folder that can be written")
            })?;
            self.git(&["init", "--quiet"])?;
        }
        self.set_url()?;
        self.git(&["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"])?;
        if is_trusted {
            self.git(&["fetch", "--quiet", "--force", "--tags", "origin"])?;
        } else {
            let all = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];
            self.git(&["fetch", "--quiet", "--force", "--prune", "origin", all[0], all[1]])?;
        }
        Ok(())
    }

    /// Returns the URL in the configuration of the clone.
    pub(super) fn configured_url(&self) -> Option<String> {
        let configuration = self.state.system.read_file(&self.folder.join(".git/config")).ok()?;
        let configuration = String::from_utf8_lossy(&configuration);
        let mut is_origin = false;
        configuration.lines().map(str::trim).find_map(|line| {
            if line.starts_with('[') {
                is_origin = line == "[remote \"origin\"]";
            }
            let (name, value) = line.split_once('=')?;
            (is_origin && name.trim() == "url").then(|| value.trim().to_owned())
        })
    }

    /// Writes the URL, without credentials, into the configuration of the clone.
    pub(super) fn set_url(&self) -> Result<(), Failure> {
        self.git(&["config", "remote.origin.url", self.shown]).map(drop)
    }

    /// Checks out the newest commit of the default branch.
    ///
    /// Discards the local branch if it cannot be trusted.
    pub(super) fn check_out_newest(&self, is_trusted: bool) -> Result<(), Failure> {
        // The default branch may have been renamed.
        self.git(&["remote", "set-head", "origin", "--auto"])?;
        let newest = self.git(&["symbolic-ref", "--short", "refs/remotes/origin/HEAD"])?;
        let branch = newest.strip_prefix("origin/").unwrap_or(&newest).to_owned();
        if is_trusted {
            // A local branch that is only fast-forwarded, as Tilt does: Tilt's pulls keep working.
            self.git(&["checkout", "--quiet", &branch, "--"])?;
            self.git(&["merge", "--quiet", "--ff-only", &newest])?;
        } else {
            self.git(&["checkout", "--quiet", "--force", "-B", &branch, &newest, "--"])?;
        }
        self.update_submodules()
    }

    /// Checks out a branch, tag or commit.
    pub(super) fn check_out(&self, reference: &str) -> Result<(), Failure> {
        let commit =
            [format!("{reference}^{{commit}}"), format!("refs/remotes/origin/{reference}^{{commit}}")]
                .iter()
                .find_map(|name| self.find(name).transpose())
                .transpose()?;
        let Some(commit) = commit else {
            let failure =
                Failure::user(format!("the extension repository {} has no {reference:?}", self.shown));
            return Err(failure.hint("ref must be a branch, a tag or a commit of it"));
        };
        self.git(&["checkout", "--quiet", "--detach", &commit, "--"])?;
        self.update_submodules()
    }

    /// Returns the commit that is checked out.
    pub(super) fn head(&self) -> Result<String, Failure> {
        self.git(&["rev-parse", "HEAD"])
    }

    fn update_submodules(&self) -> Result<(), Failure> {
        if self.state.system.exists(&self.folder.join(".gitmodules")) {
            self.git(&["submodule", "--quiet", "update", "--init", "--recursive"])?;
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<Option<String>, Failure> {
        let output = self.execute(&["rev-parse", "--verify", "--quiet", "--end-of-options", name])?;
        Ok((output.exit_code == Some(0)).then(|| text(&output.stdout)))
    }

    /// Runs git and returns its output; fails if git does.
    fn git(&self, words: &[&str]) -> Result<String, Failure> {
        let output = self.execute(words)?;
        if output.exit_code == Some(0) {
            return Ok(text(&output.stdout));
        }
        let how = output
            .exit_code
            .map_or("was ended by a signal".into(), |code| format!("exited with code {code}"));
        let verb = words.first().unwrap_or(&"");
        let failure = Failure::environment(format!(
            "cannot fetch the extension repository {}: git {verb} {how}",
            self.shown
        ));
        Err(failure.detail(format!("its stderr:\n{}", text(&output.stderr))).hint(
            "check the network and the address. Once fetched, extensions work offline. Or clone the repository yourself \
             and say where before the load: v1alpha1.extension_repo(name='default', url='file:///folder/of/the/clone')",
        ))
    }

    fn execute(&self, words: &[&str]) -> Result<crate::system::CommandOutput, Failure> {
        let folder = self.folder.display();
        let state = self.state;
        // Explicit, because lilt may run in a hook of git, which sets variables that name another repository.
        let mut argv =
            vec!["git".to_owned(), format!("--git-dir={folder}/.git"), format!("--work-tree={folder}")];
        argv.extend(self.credentials.iter().flat_map(|credentials| credentials.options()));
        argv.extend(words.iter().map(|word| (*word).to_owned()));
        let start = state.request.path.parent().unwrap_or(Path::new("/"));
        let dir = if state.system.is_dir(self.folder) { self.folder } else { start };
        // There is no terminal to ask for a password.
        let mut env = vec![("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned())];
        env.extend(self.credentials.iter().flat_map(|credentials| credentials.environment()));
        let command = Command { argv, dir: dir.to_owned(), env, unset: Vec::new() };
        let mut shown = format!("git {}", words.join(" "));
        if !shown.contains(self.shown) {
            shown = format!("{shown} ({})", self.shown);
        }
        state.run(&shown, &command, None, &mut |_| {}).map_err(|error| match error.kind() {
            std::io::ErrorKind::Interrupted => cancelled(),
            std::io::ErrorKind::NotFound => Failure::environment(format!(
                "git is needed to fetch the extension repository {}, and it was not found",
                self.shown
            ))
            .hint("install git, and see that it is on the PATH"),
            // No more processes are allowed, for now.
            std::io::ErrorKind::WouldBlock => {
                Failure::environment("cannot run git: too many processes run").of_kind(Unreachable::Machine)
            }
            _ => Failure::environment(format!("cannot run git: {error}")).caused_by(&error),
        })
    }
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim_end().to_owned()
}

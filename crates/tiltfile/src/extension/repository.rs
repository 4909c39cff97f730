//! A repository of extensions: a local folder, or a clone in the folder that Tilt uses, too.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lilt_model::{Class, Failure};

use super::credentials::Credentials;
use super::git::Clone;
use super::registered::RepositorySpec;
use crate::load_state::LoadState;
use crate::paths::clean;

pub(super) const OFFICIAL: &str = "https://github.com/tilt-dev/tilt-extensions";

/// How old a clone of a repository without a ref may be before it is fetched again. Tilt fetches at each start; here
/// reloads and restarts do not wait for the network.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);
/// Written when a repository was fetched, or the fetch has failed. Contains the commit that is checked out.
const STAMP: &str = ".git/lilt-fetched";
/// Not empty: the clone contains data that came over http://, although its repository has an https:// URL.
const UNTRUSTED: &str = ".git/lilt-untrusted";

#[derive(Debug)]
pub(super) struct Repository {
    spec: RepositorySpec,
    /// The address without credentials.
    shown: String,
    credentials: Option<Credentials>,
}

impl Repository {
    pub(super) fn new(spec: RepositorySpec) -> Self {
        let (shown, credentials) = Credentials::split(&spec.url);
        Self { spec, shown, credentials }
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) fn subpath(&self) -> &str {
        &self.spec.subpath
    }

    /// Whether the bundled extensions replace those of this repository. Not if a ref is pinned.
    pub(super) fn is_replaced_by_bundled(&self) -> bool {
        let url = self.spec.url.trim_end_matches('/');
        url.strip_suffix(".git").unwrap_or(url) == OFFICIAL
            && self.pinned().is_none()
            && self.subpath().is_empty()
    }

    /// The branch, tag or commit that is wanted; none for the newest.
    fn pinned(&self) -> Option<&str> {
        Some(self.spec.reference.as_str()).filter(|reference| !matches!(*reference, "" | "HEAD"))
    }

    /// Returns the folder with its files, and why they may be outdated.
    pub(super) fn provide(&self, state: &LoadState<'_>) -> Result<(PathBuf, Option<String>), Failure> {
        let url = &self.spec.url;
        if self.credentials.as_ref().is_some_and(|credentials| !credentials.is_valid()) {
            let message =
                format!("the address of the extension repository {} has control characters", self.spec.name);
            return Err(Failure::user(message).hint("check the user name and the password in it"));
        }
        if url.starts_with("http://") && !is_loopback(&self.shown) {
            state.warn_once(format!(
                "the extension repository {} is fetched without encryption: others on the network can change the code \
                 that it runs here. Use https:// if the server has it.",
                self.shown
            ));
        }
        match (url.strip_prefix("file://"), self.pinned()) {
            (Some(folder), None) => self.local_folder(state, folder).map(|folder| (folder, None)),
            (Some(_), _) => self.fetched(state),
            _ if url.starts_with("https://") || url.starts_with("http://") => self.fetched(state),
            _ => Err(Failure::user(format!(
                "the extension repository {} has the address {:?}, which is neither http(s):// nor file://",
                self.spec.name, self.shown
            ))),
        }
    }

    fn local_folder(&self, state: &LoadState<'_>, folder: &str) -> Result<PathBuf, Failure> {
        let folder = Path::new(folder);
        let problem = if !folder.is_absolute() {
            "its path must be absolute"
        } else if !state.system.exists(folder) {
            "there is no such folder"
        } else if !state.system.is_dir(folder) {
            "it is no folder"
        } else {
            return Ok(clean(folder));
        };
        if folder.is_absolute() {
            state.watch_entry(&clean(folder));
        }
        Err(Failure::user(format!("cannot use the extension repository {}: {problem}", self.shown)))
    }

    /// Returns the commit that is checked out, and how long ago it was fetched.
    pub(super) fn describe(
        &self,
        state: &LoadState<'_>,
        folder: &Path,
    ) -> Result<(Option<String>, Option<Duration>), Failure> {
        let stamp = folder.join(STAMP);
        let Some(age) = state.system.file_age(&stamp) else {
            return Ok((None, state.system.file_age(folder)));
        };
        let clone = self.clone_in(state, folder);
        Ok((Some(clone.head()?), Some(age)))
    }

    fn clone_in<'s, 'a>(&'s self, state: &'s LoadState<'a>, folder: &'s Path) -> Clone<'s, 'a> {
        Clone { state, folder, shown: &self.shown, credentials: self.credentials.as_ref() }
    }

    fn fetched(&self, state: &LoadState<'_>) -> Result<(PathBuf, Option<String>), Failure> {
        let folder = self.folder(state)?;
        let clone = self.clone_in(state, &folder);
        let configured_url = clone.configured_url();
        let has_http = configured_url.as_ref().is_some_and(|address| address.starts_with("http://"));
        let is_trusted = read_line(state, &folder, UNTRUSTED).is_empty()
            && !(has_http && self.shown.starts_with("https://"));
        if !is_trusted {
            // Before the URL is corrected: the clone must not be used if the fetch fails.
            self.write(state, &folder.join(UNTRUSTED), "http")?;
        }
        if configured_url.is_some_and(|address| has_credentials(&address)) {
            // Clones of Tilt and of older versions have the URL with credentials in their configuration.
            clone.set_url()?;
        }
        let stale = match self.pinned() {
            Some(reference) => self.provide_pinned(&clone, reference, is_trusted).map(|()| None),
            None => self.provide_newest(&clone, is_trusted),
        }?;
        if !is_trusted {
            self.write(state, &folder.join(UNTRUSTED), "")?;
        }
        self.warn_of_submodules(state, &folder);
        Ok((folder, stale))
    }

    fn provide_pinned(
        &self,
        clone: &Clone<'_, '_>,
        reference: &str,
        is_trusted: bool,
    ) -> Result<(), Failure> {
        let Clone { state, folder, .. } = *clone;
        if is_trusted && is_checked_out(state, folder, reference) {
            return Ok(());
        }
        let stamp = folder.join(STAMP);
        // Without the network, if the ref was fetched before.
        if !is_trusted || !state.system.exists(&stamp) || clone.check_out(reference).is_err() {
            clone.fetch(is_trusted)?;
            clone.check_out(reference)?;
        }
        self.write(state, &stamp, &clone.head()?)
    }

    /// Returns why the files may be outdated.
    fn provide_newest(&self, clone: &Clone<'_, '_>, is_trusted: bool) -> Result<Option<String>, Failure> {
        let Clone { state, folder, .. } = *clone;
        let stamp = folder.join(STAMP);
        let is_fresh = state.system.file_age(&stamp).is_some_and(|age| age < MAX_AGE);
        // Another program may have checked out another commit.
        let is_own =
            || checked_out_commit(state, folder).is_some_and(|it| it == read_line(state, folder, STAMP));
        if is_trusted && is_fresh && is_own() {
            return Ok(None);
        }
        let mut stale = None;
        if let Err(failure) = clone.fetch(is_trusted).and_then(|()| clone.check_out_newest(is_trusted)) {
            // An old copy helps against a network that fails, not when the load is cancelled.
            if !is_trusted || failure.class() != Class::Environment || !has_files(state, folder) {
                return Err(failure);
            }
            state.print(&format!("{failure}"));
            stale = Some(failure.message.clone());
            state.print(&format!("Going on with the copy in {}, which may be old", folder.display()));
        }
        // Also when it failed: reloads without a network must not wait for the fetch each time.
        self.write(state, &stamp, &checked_out_commit(state, folder).unwrap_or_default())?;
        Ok(stale)
    }

    fn warn_of_submodules(&self, state: &LoadState<'_>, folder: &Path) {
        let modules = state.system.read_file(&folder.join(".gitmodules")).unwrap_or_default();
        let modules = String::from_utf8_lossy(&modules);
        let addresses =
            modules.lines().filter_map(|line| line.trim().strip_prefix("url")?.trim().strip_prefix('='));
        for address in addresses.map(str::trim).filter(|it| it.starts_with("http://") && !is_loopback(it)) {
            state.warn_once(format!(
                "the extension repository {} has the submodule {}, which is fetched without encryption: others on the \
                 network can change the code that it runs here.",
                self.shown,
                Credentials::split(address).0
            ));
        }
    }

    fn write(&self, state: &LoadState<'_>, file: &Path, text: &str) -> Result<(), Failure> {
        state.system.write_file(file, text.as_bytes()).map_err(|error| {
            Failure::environment(format!("cannot write {}: {error}", file.display())).caused_by(&error)
        })
    }

    /// Returns the folder of the clone: for https:// the one that Tilt uses.
    ///
    /// Each ref has a folder of its own, so that two refs do not replace each other, and so has each scheme: what came
    /// over http:// must not be used for https://.
    fn folder(&self, state: &LoadState<'_>) -> Result<PathBuf, Failure> {
        let modules = super::tilt_data_folder(state)?.join("tilt_modules");
        let (scheme, address) = self.shown.split_once("://").unwrap_or(("https", &self.shown));
        // An `@` is only before the ref and after the scheme.
        let mut name = address.trim_matches('/').replace('@', "%40");
        if name.is_empty() {
            return Err(Failure::user(format!("{:?} is no address of a repository", self.shown)));
        }
        if scheme != "https" {
            name = format!("{scheme}@/{name}");
        }
        if let Some(reference) = self.pinned() {
            name.push('@');
            name.push_str(&reference.replace('%', "%25").replace('/', "%2F"));
        }
        let folder = clean(&modules.join(&name));
        if folder == modules || !folder.starts_with(&modules) {
            return Err(Failure::user(format!("{:?} is no address of a repository", self.shown)));
        }
        Ok(folder)
    }
}

/// Whether the commit that was checked out for a ref still is.
fn is_checked_out(state: &LoadState<'_>, folder: &Path, reference: &str) -> bool {
    let commit = read_line(state, folder, STAMP);
    let is_wanted = !is_commit(reference) || commit.eq_ignore_ascii_case(reference);
    !commit.is_empty() && commit == read_line(state, folder, ".git/HEAD") && is_wanted
}

/// Returns the commit of the working tree, without running git.
fn checked_out_commit(state: &LoadState<'_>, folder: &Path) -> Option<String> {
    let head = read_line(state, folder, ".git/HEAD");
    let Some(branch) = head.strip_prefix("ref: ") else { return Some(head).filter(|head| is_commit(head)) };
    let commit = read_line(state, folder, &format!(".git/{branch}"));
    if is_commit(&commit) {
        return Some(commit);
    }
    let packed = state.system.read_file(&folder.join(".git/packed-refs")).ok()?;
    let packed = String::from_utf8_lossy(&packed).into_owned();
    let entry = packed.lines().filter_map(|line| line.split_once(' ')).find(|(_, name)| *name == branch);
    entry.map(|(commit, _)| commit.to_owned())
}

/// Returns the text of a small file; nothing if it cannot be read.
fn read_line(state: &LoadState<'_>, folder: &Path, file: &str) -> String {
    let content = state.system.read_file(&folder.join(file)).unwrap_or_default();
    String::from_utf8_lossy(&content).trim().to_owned()
}

fn has_credentials(address: &str) -> bool {
    let is_http = address.starts_with("https://") || address.starts_with("http://");
    is_http && Credentials::split(address).1.is_some()
}

fn has_files(state: &LoadState<'_>, folder: &Path) -> bool {
    let entries = state.system.list_directory(folder).unwrap_or_default();
    entries.iter().any(|entry| !entry.path.ends_with(".git"))
}

/// Whether a URL is of this machine, so that no network is involved.
fn is_loopback(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a ref is a full commit hash.
fn is_commit(reference: &str) -> bool {
    matches!(reference.len(), 40 | 64) && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(url: &str, reference: &str) -> Repository {
        let spec = RepositorySpec {
            url: url.to_owned(),
            reference: reference.to_owned(),
            ..RepositorySpec::default()
        };
        Repository::new(spec)
    }

    #[test]
    fn loopback_addresses_are_recognized() {
        assert!(
            is_loopback("http://localhost:3000/x")
                && is_loopback("http://[::1]:1/")
                && is_loopback("http://127.0.0.9")
        );
        assert!(!is_loopback("http://localhost.example.test/") && !is_loopback("http://10.0.0.1/127.0.0.1"));
    }

    #[test]
    fn bundled_extensions_replace_the_unpinned_official_repository_only() {
        assert!(repository(OFFICIAL, "").is_replaced_by_bundled());
        assert!(
            repository("https://github.com/tilt-dev/tilt-extensions.git/", "HEAD").is_replaced_by_bundled()
        );
        assert!(!repository(OFFICIAL, "v1").is_replaced_by_bundled());
        assert!(!repository("https://github.com/team/tilt-extensions", "").is_replaced_by_bundled());
    }
}

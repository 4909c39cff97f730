//! A repository of extensions: a folder of this machine, or one that git fetches into the folder where Tilt keeps
//! them, too.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lilt_model::{Class, Failure};

use super::git::Clone;
use super::registered::RepositoryFacts;
use crate::session::{Session, clean};

pub(super) const OFFICIAL: &str = "https://github.com/tilt-dev/tilt-extensions";

/// How old a copy of a repository without a ref may be before it is asked for news. Tilt asks at each start; reloads
/// and restarts in a row shall not wait for the network.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// Written when a repository was fetched, or its fetch was tried in vain.
const STAMP: &str = ".git/lilt-fetched";

#[derive(Debug)]
pub(super) struct Repository {
    facts: RepositoryFacts,
    /// The address without credentials.
    shown: String,
}

impl Repository {
    pub(super) fn new(facts: RepositoryFacts) -> Self {
        let shown = without_credentials(&facts.url);
        Self { facts, shown }
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) fn subpath(&self) -> &str {
        &self.facts.subpath
    }

    /// Whether the extensions that lilt carries stand for those of this repository. Not for a ref: who pins one wants that one.
    pub(super) fn is_what_is_bundled(&self) -> bool {
        let url = self.facts.url.trim_end_matches('/');
        url.strip_suffix(".git").unwrap_or(url) == OFFICIAL
            && self.pinned().is_none()
            && self.subpath().is_empty()
    }

    /// The branch, tag or commit that is wanted; none for the newest.
    fn pinned(&self) -> Option<&str> {
        Some(self.facts.reference.as_str()).filter(|reference| !matches!(*reference, "" | "HEAD"))
    }

    /// The folder that holds its files; with why they may be outdated.
    pub(super) fn provide(&self, session: &Session<'_>) -> Result<(PathBuf, Option<String>), Failure> {
        let url = &self.facts.url;
        match (url.strip_prefix("file://"), self.pinned()) {
            (Some(folder), None) => self.local_folder(session, folder).map(|folder| (folder, None)),
            (Some(_), _) => self.fetched(session),
            _ if url.starts_with("https://") || url.starts_with("http://") => self.fetched(session),
            _ => Err(Failure::user(format!(
                "the extension repository {} has the address {:?}, which is neither http(s):// nor file://",
                self.facts.name, self.shown
            ))),
        }
    }

    fn local_folder(&self, session: &Session<'_>, folder: &str) -> Result<PathBuf, Failure> {
        let folder = Path::new(folder);
        let problem = if !folder.is_absolute() {
            "its path must be absolute"
        } else if !session.outside.exists(folder) {
            "there is no such folder"
        } else if !session.outside.is_dir(folder) {
            "it is no folder"
        } else {
            return Ok(clean(folder));
        };
        Err(Failure::user(format!("cannot use the extension repository {}: {problem}", self.shown)))
    }

    /// What is checked out of it, and how long ago it was fetched.
    pub(super) fn describe(
        &self,
        session: &Session<'_>,
        folder: &Path,
    ) -> Result<(Option<String>, Option<Duration>), Failure> {
        let stamp = folder.join(STAMP);
        let Some(age) = session.outside.age(&stamp) else { return Ok((None, session.outside.age(folder))) };
        let clone = Clone { session, folder, url: &self.facts.url, shown: &self.shown };
        Ok((Some(clone.head()?), Some(age)))
    }

    fn fetched(&self, session: &Session<'_>) -> Result<(PathBuf, Option<String>), Failure> {
        let folder = self.folder(session)?;
        let stamp = folder.join(STAMP);
        let clone = Clone { session, folder: &folder, url: &self.facts.url, shown: &self.shown };
        if let Some(reference) = self.pinned() {
            if !session.outside.exists(&stamp) {
                clone.fetch()?;
                clone.check_out(reference)?;
                self.stamp(session, &stamp)?;
            }
            return Ok((folder, None));
        }
        if session.outside.age(&stamp).is_some_and(|age| age < FRESH) {
            return Ok((folder, None));
        }
        let mut stale = None;
        if let Err(failure) = clone.fetch().and_then(|()| clone.check_out_newest()) {
            // A load that was cancelled is the user's wish, not the network's fault.
            if failure.class != Class::Environment || !has_files(session, &folder) {
                return Err(failure);
            }
            session.print(&format!("{failure}"));
            stale = Some(failure.message.clone());
            session.print(&format!("Going on with the copy in {}, which may be old", folder.display()));
        }
        // Also when it failed: an old copy that is used without a network shall not be waited for at each reload.
        self.stamp(session, &stamp)?;
        Ok((folder, stale))
    }

    fn stamp(&self, session: &Session<'_>, stamp: &Path) -> Result<(), Failure> {
        session
            .outside
            .write_file(stamp, b"")
            .map_err(|error| Failure::environment(format!("cannot write {}: {error}", stamp.display())))
    }

    /// Where Tilt keeps it, too; one of a ref has a folder of its own, so that two refs do not drive each other out.
    fn folder(&self, session: &Session<'_>) -> Result<PathBuf, Failure> {
        let modules = super::tilt_folder(session)?.join("tilt_modules");
        let address = self.shown.split_once("://").map_or(self.shown.as_str(), |(_, address)| address);
        let mut name = address.trim_matches('/').to_owned();
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

fn has_files(session: &Session<'_>, folder: &Path) -> bool {
    let entries = session.outside.list_directory(folder).unwrap_or_default();
    entries.iter().any(|entry| !entry.path.ends_with(".git"))
}

fn without_credentials(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            match path {
                Some(path) => format!("{scheme}://{host}/{path}"),
                None => format!("{scheme}://{host}"),
            }
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(url: &str, reference: &str) -> Repository {
        let facts = RepositoryFacts {
            url: url.to_owned(),
            reference: reference.to_owned(),
            ..RepositoryFacts::default()
        };
        Repository::new(facts)
    }

    #[test]
    fn hides_credentials() {
        assert_eq!(without_credentials("https://me:secret@host/a@b"), "https://host/a@b");
        assert_eq!(without_credentials("https://host"), "https://host");
        assert_eq!(without_credentials("file:///a@b/c"), "file:///a@b/c");
    }

    #[test]
    fn the_bundled_ones_stand_for_the_newest_of_the_official_ones_only() {
        assert!(repository(OFFICIAL, "").is_what_is_bundled());
        assert!(repository("https://github.com/tilt-dev/tilt-extensions.git/", "HEAD").is_what_is_bundled());
        assert!(!repository(OFFICIAL, "v1").is_what_is_bundled());
        assert!(!repository("https://github.com/team/tilt-extensions", "").is_what_is_bundled());
    }
}

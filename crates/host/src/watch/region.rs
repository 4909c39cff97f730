//! A region: one root with its ignore rules. Subscriptions that name the same one share it.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use lilt_model::Failure;
use lilt_model::files::IgnoreRule;
use lilt_model::ignore::Matcher;

use super::SubscriptionId;
use super::service::Job;
use super::table::NodeId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RegionId(pub(super) u64);

#[derive(Debug)]
pub(super) struct Region {
    pub(super) root: PathBuf,
    pub(super) ignores: Vec<IgnoreRule>,
    pub(super) matcher: Arc<Matcher>,
    pub(super) subscribers: Vec<SubscriptionId>,
    /// The directories it holds in the table: those of its tree, and those above a root that is a file, a link or
    /// missing.
    pub(super) held: HashSet<NodeId>,
    /// Where a root that is a link to a file leads.
    pub(super) target: Option<PathBuf>,
    /// Whether there was something at the root when it was last looked at.
    pub(super) existed: bool,
    /// Some of it is looked at again and again.
    pub(super) looked_at: bool,
    /// Directories still to be walked. The last comes first: so few wait at a time, where a walk by levels would keep
    /// the paths of nearly all directories at once.
    pub(super) walks: Vec<Job>,
    /// Directories still to be walked or looked at for the first time; zero: it is ready.
    pub(super) jobs: usize,
    /// Why it does not see everything. It then places no further watches.
    pub(super) failure: Option<Failure>,
}

impl Region {
    pub(super) fn new(root: PathBuf, ignores: Vec<IgnoreRule>, matcher: Arc<Matcher>) -> Self {
        Self {
            root,
            ignores,
            matcher,
            subscribers: Vec::new(),
            held: HashSet::new(),
            target: None,
            existed: false,
            looked_at: false,
            walks: Vec::new(),
            jobs: 0,
            failure: None,
        }
    }
}

/// What to tell of the files that a walk finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// They were there before the subscription.
    Nothing,
    /// They are new with their directory.
    Everything,
    /// Events were lost: those that were touched since.
    ChangedSince(SystemTime),
}

impl Report {
    pub(super) fn wants(self, path: &Path) -> bool {
        match self {
            Report::Nothing => false,
            Report::Everything => true,
            Report::ChangedSince(time) => changed_since(path, time),
        }
    }
}

/// By the time of the last change of the inode, which no program can set back. Unsure counts as changed.
fn changed_since(path: &Path, time: SystemTime) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(metadata), Ok(time)) = (fs::symlink_metadata(path), time.duration_since(SystemTime::UNIX_EPOCH))
    else {
        return true;
    };
    metadata.ctime() >= i64::try_from(time.as_secs()).unwrap_or(0)
}

/// What is at a root.
#[derive(Debug)]
pub(super) enum Found {
    Directory {
        link: bool,
    },
    File {
        target: Option<PathBuf>,
    },
    /// Nothing; `ancestor` is the nearest directory above it, `next` what must appear in it.
    Missing {
        ancestor: PathBuf,
        next: PathBuf,
    },
}

pub(super) fn look(root: &Path) -> Found {
    let link = fs::symlink_metadata(root).is_ok_and(|metadata| metadata.is_symlink());
    match fs::metadata(root) {
        Ok(metadata) if metadata.is_dir() => Found::Directory { link },
        Ok(_) => Found::File { target: link.then(|| fs::canonicalize(root).ok()).flatten() },
        Err(_) => {
            let mut next = root;
            let mut above = root.ancestors().skip(1);
            loop {
                match above.next() {
                    Some(directory) if !directory.is_dir() => next = directory,
                    directory => {
                        let ancestor = directory.unwrap_or(Path::new("/"));
                        return Found::Missing { ancestor: ancestor.into(), next: next.into() };
                    }
                }
            }
        }
    }
}

/// The directory that has this path as an entry; the root of the file system has none and is its own.
pub(super) fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// The directory is no longer there: another event tells of that.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What `inotify_add_watch` says when the user's watches are used up.
pub(super) fn is_limit(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::StorageFull
}

pub(super) fn watch_failure(path: &Path, error: &io::Error) -> Failure {
    Failure::environment(format!("cannot watch {}: {error}", path.display()))
}

/// Why a place is looked at again and again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reason {
    /// It lies on this.
    Mount(String),
    /// The system gives no more watches.
    Limit,
    /// The system gives no inotify instance.
    NoInstance,
}

impl Reason {
    pub(super) fn notice(&self, path: &Path, watches: usize) -> Failure {
        let path = path.display();
        match self {
            Reason::Mount(kind) => {
                Failure::environment(format!("{path} lies on {kind}: lilt looks for changes twice a second"))
                    .hint("LILT_WATCH=events trusts the file system")
            }
            Reason::Limit => Failure::environment(format!(
                "the system's limit of watched directories is reached ({watches} watched by lilt): it looks for changes \
                 in {path} and others twice a second"
            ))
            .hint(
                "raise it with `sudo sysctl fs.inotify.max_user_watches=524288`, or name directories that need no \
                 watching in .tiltignore",
            ),
            Reason::NoInstance => Failure::environment(
                "the system's limit of programs that watch files is reached: lilt looks for changes twice a second",
            )
            .hint("raise it with `sudo sysctl fs.inotify.max_user_instances=512`"),
        }
    }
}

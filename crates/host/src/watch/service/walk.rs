//! Placing watches: at a region's root, and in every directory below it that is not ignored.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lilt_model::Failure;
use lilt_model::os_error::is_shortage;

use super::State;
use crate::watch::delivery::Content;
use crate::watch::region::{Found, Kind, Reason, RegionId, Report, is_gone, is_limit, parent, watch_failure};
use crate::watch::table::{Interest, Links};
use crate::watch::temporary::{is_private_folder, is_temporary};

/// How many directories are walked before events and commands get their turn: about a millisecond's worth.
const AT_ONCE: usize = 64;
/// How often a root may come and go under our eyes before we give up.
const LOOKS: usize = 100;

/// Between two attempts to read a directory while no descriptor is free.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);

/// Until what the kernel had no memory for is tried again.
const DELAY: Duration = Duration::from_millis(500);

/// A directory to watch and read.
#[derive(Debug)]
pub(in crate::watch) struct Job {
    directory: PathBuf,
    report: Report,
    links: Links,
}

/// What this machine had no memory for.
#[derive(Debug)]
pub(in crate::watch) enum Delayed {
    Walk(RegionId, Job),
    /// All that a region needs.
    Settle(RegionId, Report),
}

impl Delayed {
    fn region(&self) -> RegionId {
        match self {
            Delayed::Walk(region, _) | Delayed::Settle(region, _) => *region,
        }
    }
}

impl State {
    pub(super) fn has_work(&self) -> bool {
        !self.turns.is_empty()
    }

    pub(super) fn walk_some(&mut self) {
        for _ in 0..AT_ONCE {
            let Some(id) = self.turns.pop_front() else { return };
            let Some(region) = self.regions.get_mut(&id) else { continue };
            let Some(job) = region.walks.pop() else { continue };
            if region.walks.is_empty() {
                region.walks = Vec::new();
            } else {
                self.turns.push_back(id);
            }
            self.walk(id, job);
            if let Some(region) = self.regions.get_mut(&id) {
                region.jobs -= 1;
            }
            self.tell_ready(id);
        }
    }

    /// Does something for a region later, which is not ready before.
    pub(super) fn delay(&mut self, delayed: Delayed) {
        let Some(region) = self.regions.get_mut(&delayed.region()) else { return };
        region.jobs += 1;
        self.delayed.push(delayed);
        self.retry = Some(Instant::now() + DELAY);
    }

    /// Does what was delayed, if it is time.
    pub(super) fn retry_delayed(&mut self) {
        if self.retry.is_none_or(|retry| retry > Instant::now()) {
            return;
        }
        self.retry = None;
        for delayed in std::mem::take(&mut self.delayed) {
            let id = delayed.region();
            // It may have been removed meanwhile.
            let Some(region) = self.regions.get_mut(&id) else { continue };
            region.jobs -= 1;
            match delayed {
                Delayed::Walk(_, job) => self.push_job(id, job.directory, job.report, job.links),
                Delayed::Settle(_, report) => self.settle(id, report),
            }
            self.tell_ready(id);
        }
    }

    pub(super) fn push_job(&mut self, id: RegionId, directory: PathBuf, report: Report, links: Links) {
        let Some(region) = self.regions.get_mut(&id) else { return };
        if region.walks.is_empty() {
            self.turns.push_back(id);
        }
        region.jobs += 1;
        region.walks.push(Job { directory, report, links });
    }

    /// Resolves the root of a region and places the watches that its files need, from scratch.
    pub(super) fn settle(&mut self, id: RegionId, report: Report) {
        let Some(region) = self.regions.get_mut(&id) else { return };
        let root = region.root.clone();
        let held = std::mem::take(&mut region.held);
        if let Some(kind) = self.mounts.eventless(&root) {
            held.into_iter().for_each(|node| self.table.release(node, id));
            self.look_instead(id, root, Reason::Mount(kind));
            return;
        }
        let before = region.found.clone();
        if let Err(failure) = self.hold_root(id, &root, &before, report) {
            self.fail(id, failure);
        }
        let Some(region) = self.regions.get_mut(&id) else { return };
        let is_replaced = region.found.replaces(&before);
        let no_longer: Vec<_> = held.into_iter().filter(|node| !region.held.contains(node)).collect();
        for node in no_longer {
            self.table.release(node, id);
        }
        if is_replaced {
            self.report(id, &root, Content::Complete);
        }
    }

    /// Watches what reports changes of the root itself, and asks for a walk if it is a directory whose files count.
    fn hold_root(
        &mut self,
        id: RegionId,
        root: &Path,
        before: &Found,
        report: Report,
    ) -> Result<(), Failure> {
        for _ in 0..LOOKS {
            let found = Found::at(root);
            let held = self.hold_path(id, &found);
            let Some(region) = self.regions.get_mut(&id) else { return Ok(()) };
            region.found = found.clone();
            match held {
                Ok(()) if Found::at(root) == found => {
                    let is_tree = found.is_directory() && !region.is_entry;
                    let report = if found.replaces(before) { Report::Everything } else { report };
                    if is_tree {
                        self.push_job(id, root.to_path_buf(), report, Links::Follow);
                    } else if found.kind.is_some() && report.wants(root) {
                        self.report(id, root, Content::Found);
                    }
                    return Ok(());
                }
                // It became another one before the watches were placed.
                Ok(()) => {}
                Err(error) if is_gone(&error) => {}
                Err(error) if is_limit(&error) => {
                    let reason = self.limit();
                    self.look_instead(id, root.to_path_buf(), reason);
                    return Ok(());
                }
                Err(error) if is_shortage(&error) => {
                    region.found = before.clone();
                    self.delay(Delayed::Settle(id, report));
                    return Ok(());
                }
                Err(error) => {
                    region.found.kind = None;
                    return Err(watch_failure(root, error));
                }
            }
        }
        if let Some(region) = self.regions.get_mut(&id) {
            region.found.kind = None;
        }
        Err(Failure::environment(format!("cannot watch {}: it comes and goes all the time", root.display())))
    }

    fn hold_path(&mut self, id: RegionId, found: &Found) -> io::Result<()> {
        for link in &found.links {
            self.hold_if_permitted(id, parent(link))?;
        }
        let is_entry = self.regions.get(&id).is_some_and(|region| region.is_entry);
        match (&found.kind, &found.ancestor) {
            // The walk watches it, and what is above it after that: it needs the first of few watches more.
            (Some(Kind::Directory { .. }), _) if !is_entry => Ok(()),
            // The directory, not the file: editors put a new file in the place of the old one.
            (Some(_), _) => self.hold(id, parent(&found.resolved), Links::Follow, Interest::Content),
            (None, Some(ancestor)) => self.hold(id, ancestor, Links::Follow, Interest::Entries),
            (None, None) => Ok(()),
        }
    }

    /// Watches the entries of a directory that the user may be allowed to pass through, but not to read.
    fn hold_if_permitted(&mut self, id: RegionId, directory: &Path) -> io::Result<()> {
        match self.hold(id, directory, Links::Follow, Interest::Entries) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            held => held,
        }
    }

    /// Whether the walk of a root found what was resolved; from now on the directory above tells if it is replaced.
    ///
    /// The directory itself does not tell as long as a process has it open or works in it.
    fn confirm_root(&mut self, id: RegionId) -> bool {
        let Some(region) = self.regions.get(&id) else { return false };
        let (root, found) = (region.root.clone(), region.found.clone());
        if let Err(error) = self.hold_if_permitted(id, parent(&found.resolved)) {
            tracing::debug!(path = %root.display(), %error, "cannot watch the directory above");
        }
        Kind::of(&root) == found.kind
    }

    fn limit(&self) -> Reason {
        if self.table.inotify().is_some() { Reason::Limit } else { Reason::NoInstance }
    }

    fn hold(&mut self, id: RegionId, directory: &Path, links: Links, interest: Interest) -> io::Result<()> {
        let node = self.table.hold(directory, id, links, interest)?;
        if let Some(region) = self.regions.get_mut(&id) {
            region.held.insert(node);
        }
        Ok(())
    }

    /// Watches one directory, then reads it: what was made in it before the watch is found by reading, what is made
    /// later comes as an event.
    fn walk(&mut self, id: RegionId, job: Job) {
        let Some(region) = self.regions.get(&id).filter(|region| region.failure.is_none()) else {
            return;
        };
        let is_root = region.root == job.directory;
        if !is_root && let Some(kind) = self.mounts.eventless_point(&job.directory) {
            return self.look_instead(id, job.directory, Reason::Mount(kind));
        }
        match self.hold(id, &job.directory, job.links, Interest::Content) {
            Ok(()) if is_root && !self.confirm_root(id) => self.settle(id, Report::Everything),
            Ok(()) => self.read(id, &job),
            Err(error) if is_gone(&error) => {
                if is_root {
                    self.settle(id, Report::Everything);
                }
            }
            // Other people's data, such as a database's folder, lies in many projects.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !is_root => {
                tracing::warn!(path = %job.directory.display(), "no permission to watch a directory");
            }
            Err(error) if is_limit(&error) => {
                let reason = self.limit();
                self.look_instead(id, job.directory, reason);
            }
            // The kernel has no memory for a watch: it may have some later.
            Err(error) if is_shortage(&error) => self.delay(Delayed::Walk(id, job)),
            Err(error) => self.fail(id, watch_failure(&job.directory, error)),
        }
    }

    fn read(&mut self, id: RegionId, job: &Job) {
        let entries = match fs::read_dir(&job.directory) {
            Ok(entries) => entries,
            // Without what is in it, saves would be missed: it is read when there are descriptors again.
            Err(error) if is_shortage(&error) => {
                std::thread::sleep(SHORTAGE_PAUSE);
                return self.push_job(id, job.directory.clone(), job.report, job.links);
            }
            Err(error) => {
                if !is_gone(&error) {
                    tracing::warn!(path = %job.directory.display(), %error, "cannot read a watched directory");
                }
                return;
            }
        };
        let Some(region) = self.regions.get(&id) else { return };
        let matcher = region.matcher.clone();
        let is_new = job.report == Report::Everything && region.root != job.directory;
        let mut is_empty = is_new;
        if let Report::ChangedSince(_) = job.report
            && job.report.wants(&job.directory)
        {
            // Entries may have been deleted; which ones is not known.
            region.subscribers.iter().for_each(|subscription| self.delivery.lost(*subscription));
            self.report(id, &job.directory, Content::Complete);
        }
        self.note_mode(id, &job.directory, is_new);
        for entry in entries.flatten() {
            is_empty = false;
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_directory && job.report == Report::Nothing {
                continue;
            }
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if is_directory {
                if !is_private_folder(&name) {
                    let path = entry.path();
                    if !matcher.ignores_all_below(&path) {
                        self.push_job(id, path, job.report, Links::Refuse);
                    }
                }
            } else if !is_temporary(&name) {
                let path = entry.path();
                if job.report.wants(&path) {
                    self.report(id, &path, Content::Found);
                }
            }
        }
        if is_empty {
            self.report(id, &job.directory, Content::Folder);
        }
    }

    /// Where the modes of folders count, a new one is told with whatever is in it, and of the others it is known what changes.
    pub(super) fn note_mode(&mut self, id: RegionId, directory: &Path, is_new: bool) {
        let Some(region) = self.regions.get(&id) else { return };
        if region.matcher.ignores(directory) {
            return;
        }
        for subscription in &region.subscribers {
            self.delivery.note_mode(*subscription, directory, is_new);
        }
    }
}

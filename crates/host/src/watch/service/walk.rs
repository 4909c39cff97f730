//! Adds watches: at a region's root, and in every directory below it that is not ignored.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lilt_model::Failure;
use lilt_model::os_error::is_shortage;

use super::State;
use crate::watch::Label;
use crate::watch::delivery::ChangeKind;
use crate::watch::region::{
    EntryKind, PollReason, RegionId, Report, ResolvedRoot, is_limit, is_missing, parent, watch_failure,
};
use crate::watch::table::{Interest, Links};
use crate::watch::temporary::{is_private_folder, is_temporary};

/// How many directories are walked before events and commands are handled: about a millisecond's worth.
const WALK_BATCH: usize = 64;
/// How often a root may change while it is resolved before giving up.
const RESOLVE_ATTEMPTS: usize = 100;

/// The pause between two attempts to read a directory while no descriptor is free.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);

/// The delay before work is retried that failed for lack of memory.
const DELAY: Duration = Duration::from_millis(500);

/// A directory to watch and read.
#[derive(Debug)]
pub(in crate::watch) struct Job {
    directory: PathBuf,
    report: Report,
    links: Links,
}

/// Work to retry after a shortage of memory.
#[derive(Debug)]
pub(in crate::watch) enum Delayed {
    Walk(RegionId, Job),
    /// Resolves the root of a region and adds all its watches.
    SetUp(RegionId, Report),
}

impl Delayed {
    fn region(&self) -> RegionId {
        match self {
            Delayed::Walk(region, _) | Delayed::SetUp(region, _) => *region,
        }
    }
}

impl<L: Label> State<L> {
    pub(super) fn has_work(&self) -> bool {
        !self.turns.is_empty()
    }

    pub(super) fn walk_some(&mut self) {
        for _ in 0..WALK_BATCH {
            let Some(id) = self.turns.pop_front() else { return };
            let Some(region) = self.regions.get_mut(&id) else { continue };
            let Some(job) = region.pending_walks.pop() else { continue };
            if region.pending_walks.is_empty() {
                region.pending_walks = Vec::new();
            } else {
                self.turns.push_back(id);
            }
            self.walk(id, job);
            if let Some(region) = self.regions.get_mut(&id) {
                region.pending_jobs -= 1;
            }
            self.notify_ready(id);
        }
    }

    /// Delays work of a region, which is not ready until it is done.
    pub(super) fn delay(&mut self, delayed: Delayed) {
        let Some(region) = self.regions.get_mut(&delayed.region()) else { return };
        region.pending_jobs += 1;
        self.delayed.push(delayed);
        self.retry = Some(Instant::now() + DELAY);
    }

    /// Retries delayed work, if it is time.
    pub(super) fn retry_delayed(&mut self) {
        if self.retry.is_none_or(|retry| retry > Instant::now()) {
            return;
        }
        self.retry = None;
        for delayed in std::mem::take(&mut self.delayed) {
            let id = delayed.region();
            // The region may have been removed meanwhile.
            let Some(region) = self.regions.get_mut(&id) else { continue };
            region.pending_jobs -= 1;
            match delayed {
                Delayed::Walk(_, job) => self.push_job(id, job.directory, job.report, job.links),
                Delayed::SetUp(_, report) => self.set_up(id, report),
            }
            self.notify_ready(id);
        }
    }

    pub(super) fn push_job(&mut self, id: RegionId, directory: PathBuf, report: Report, links: Links) {
        let Some(region) = self.regions.get_mut(&id) else { return };
        if region.pending_walks.is_empty() {
            self.turns.push_back(id);
        }
        region.pending_jobs += 1;
        region.pending_walks.push(Job { directory, report, links });
    }

    /// Resolves the root of a region and adds all watches for its files, from scratch.
    pub(super) fn set_up(&mut self, id: RegionId, report: Report) {
        let Some(region) = self.regions.get_mut(&id) else { return };
        let root = region.root.clone();
        let held = std::mem::take(&mut region.held);
        if let Some(kind) = self.mounts.eventless(&root) {
            held.into_iter().for_each(|node| self.table.release(node, id));
            self.poll_instead(id, root, PollReason::Mount(kind));
            return;
        }
        let before = region.resolved_root.clone();
        if let Err(failure) = self.hold_root(id, &root, &before, report) {
            self.fail(id, failure);
        }
        let Some(region) = self.regions.get_mut(&id) else { return };
        let is_replaced = region.resolved_root.replaces(&before);
        let no_longer: Vec<_> = held.into_iter().filter(|node| !region.held.contains(node)).collect();
        for node in no_longer {
            self.table.release(node, id);
        }
        if is_replaced {
            self.report(id, &root, ChangeKind::Complete);
        }
    }

    /// Watches the directories that report changes of the root itself, and schedules a walk if the root is a watched
    /// tree.
    fn hold_root(
        &mut self,
        id: RegionId,
        root: &Path,
        before: &ResolvedRoot,
        report: Report,
    ) -> Result<(), Failure> {
        for _ in 0..RESOLVE_ATTEMPTS {
            let resolved_root = ResolvedRoot::at(root);
            let held = self.hold_path(id, &resolved_root);
            let Some(region) = self.regions.get_mut(&id) else { return Ok(()) };
            region.resolved_root = resolved_root.clone();
            match held {
                Ok(()) if ResolvedRoot::at(root) == resolved_root => {
                    let is_tree = resolved_root.is_directory() && !region.is_entry;
                    let report = if resolved_root.replaces(before) { Report::Everything } else { report };
                    if is_tree {
                        self.push_job(id, root.to_path_buf(), report, Links::Follow);
                    } else if resolved_root.kind.is_some() && report.includes(root) {
                        self.report(id, root, ChangeKind::Discovered);
                    }
                    return Ok(());
                }
                // The root changed before the watches were added.
                Ok(()) => {}
                Err(error) if is_missing(&error) => {}
                Err(error) if is_limit(&error) => {
                    let reason = self.limit();
                    self.poll_instead(id, root.to_path_buf(), reason);
                    return Ok(());
                }
                Err(error) if is_shortage(&error) => {
                    region.resolved_root = before.clone();
                    self.delay(Delayed::SetUp(id, report));
                    return Ok(());
                }
                Err(error) => {
                    region.resolved_root.kind = None;
                    return Err(watch_failure(root, error));
                }
            }
        }
        if let Some(region) = self.regions.get_mut(&id) {
            region.resolved_root.kind = None;
        }
        Err(Failure::environment(format!("cannot watch {}: it comes and goes all the time", root.display())))
    }

    fn hold_path(&mut self, id: RegionId, resolved_root: &ResolvedRoot) -> io::Result<()> {
        for link in &resolved_root.links {
            self.hold_if_permitted(id, parent(link))?;
        }
        let is_entry = self.regions.get(&id).is_some_and(|region| region.is_entry);
        match (&resolved_root.kind, &resolved_root.ancestor) {
            // The walk watches the root first and its parent after that: with few watches left, the root matters more.
            (Some(EntryKind::Directory { .. }), _) if !is_entry => Ok(()),
            // The directory, not the file: editors replace the file.
            (Some(_), _) => self.hold(id, parent(&resolved_root.resolved), Links::Follow, Interest::Content),
            (None, Some(ancestor)) => self.hold(id, ancestor, Links::Follow, Interest::Entries),
            (None, None) => Ok(()),
        }
    }

    /// Watches the entries of a directory, if the user may read it and not only traverse it.
    fn hold_if_permitted(&mut self, id: RegionId, directory: &Path) -> io::Result<()> {
        match self.hold(id, directory, Links::Follow, Interest::Entries) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            held => held,
        }
    }

    /// Returns whether the walked root is still the resolved one. From now on its parent directory reports a
    /// replacement.
    /// The directory itself does not report its deletion while a process has it open or as its working directory.
    fn confirm_root(&mut self, id: RegionId) -> bool {
        let Some(region) = self.regions.get(&id) else { return false };
        let (root, resolved_root) = (region.root.clone(), region.resolved_root.clone());
        if let Err(error) = self.hold_if_permitted(id, parent(&resolved_root.resolved)) {
            tracing::debug!(path = %root.display(), %error, "cannot watch the directory above");
        }
        EntryKind::of(&root) == resolved_root.kind
    }

    fn limit(&self) -> PollReason {
        if self.table.inotify().is_some() { PollReason::Limit } else { PollReason::NoInstance }
    }

    fn hold(&mut self, id: RegionId, directory: &Path, links: Links, interest: Interest) -> io::Result<()> {
        let node = self.table.hold(directory, id, links, interest)?;
        if let Some(region) = self.regions.get_mut(&id) {
            region.held.insert(node);
        }
        Ok(())
    }

    /// Watches one directory, then reads it: entries created before the watch are found by reading, later ones by
    /// events.
    fn walk(&mut self, id: RegionId, job: Job) {
        let Some(region) = self.regions.get(&id).filter(|region| region.failure.is_none()) else {
            return;
        };
        let is_root = region.root == job.directory;
        if !is_root && let Some(kind) = self.mounts.eventless_point(&job.directory) {
            return self.poll_instead(id, job.directory, PollReason::Mount(kind));
        }
        match self.hold(id, &job.directory, job.links, Interest::Content) {
            Ok(()) if is_root && !self.confirm_root(id) => self.set_up(id, Report::Everything),
            Ok(()) => self.read(id, &job),
            Err(error) if is_missing(&error) => {
                if is_root {
                    self.set_up(id, Report::Everything);
                }
            }
            // Many projects contain data of other users, such as a database's folder.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !is_root => {
                tracing::warn!(path = %job.directory.display(), "no permission to watch a directory");
            }
            Err(error) if is_limit(&error) => {
                let reason = self.limit();
                self.poll_instead(id, job.directory, reason);
            }
            // The kernel has no memory for a watch now.
            Err(error) if is_shortage(&error) => self.delay(Delayed::Walk(id, job)),
            Err(error) => self.fail(id, watch_failure(&job.directory, error)),
        }
    }

    fn read(&mut self, id: RegionId, job: &Job) {
        let entries = match fs::read_dir(&job.directory) {
            Ok(entries) => entries,
            // Skipping it would miss saves, so reading is retried until a descriptor is free.
            Err(error) if is_shortage(&error) => {
                std::thread::sleep(SHORTAGE_PAUSE);
                return self.push_job(id, job.directory.clone(), job.report, job.links);
            }
            Err(error) => {
                if !is_missing(&error) {
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
            && job.report.includes(&job.directory)
        {
            // Entries may have been deleted; which ones is unknown.
            region.subscribers.iter().for_each(|subscription| self.delivery.lost(*subscription));
            self.report(id, &job.directory, ChangeKind::Complete);
        }
        self.record_mode(id, &job.directory, is_new);
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
                if job.report.includes(&path) {
                    self.report(id, &path, ChangeKind::Discovered);
                }
            }
        }
        if is_empty {
            self.report(id, &job.directory, ChangeKind::Folder);
        }
    }

    /// Where modes are watched, records the mode of a folder, and reports a new folder even if it is not empty.
    pub(super) fn record_mode(&mut self, id: RegionId, directory: &Path, is_new: bool) {
        let Some(region) = self.regions.get(&id) else { return };
        if region.matcher.ignores(directory) {
            return;
        }
        for subscription in &region.subscribers {
            self.delivery.record_mode(*subscription, directory, is_new);
        }
    }
}

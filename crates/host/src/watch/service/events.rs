//! Translates inotify events into changes of the regions that hold the directory.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use inotify::{Event, EventMask};

use super::State;
use crate::watch::Label;
use crate::watch::delivery::ChangeKind;
use crate::watch::region::{Region, RegionId, Report};
use crate::watch::table::{Holders, Links, NodeId, WatchedPath};
use crate::watch::temporary::{is_private_folder, is_temporary};

/// File systems have coarse timestamps, some only whole seconds.
const CLOCK_SLACK: Duration = Duration::from_secs(2);

const APPEARED: EventMask = EventMask::CREATE.union(EventMask::MOVED_TO);
const DISAPPEARED: EventMask = EventMask::DELETE.union(EventMask::MOVED_FROM);
const SELF_REMOVED: EventMask =
    EventMask::DELETE_SELF.union(EventMask::MOVE_SELF).union(EventMask::UNMOUNT).union(EventMask::IGNORED);

impl<L: Label> State<L> {
    pub(super) fn handle_event(&mut self, event: &Event<&OsStr>) {
        if event.mask.contains(EventMask::Q_OVERFLOW) {
            self.rescan_after_overflow();
            return;
        }
        let watched_paths = self.table.paths_of(&event.wd);
        if event.mask.intersects(SELF_REMOVED) {
            self.directory_gone(event, &watched_paths);
            return;
        }
        let Some(name) = event.name else {
            // Other changes of a directory itself are reported by its parent.
            if event.mask.contains(EventMask::ATTRIB) {
                self.root_touched(&watched_paths);
            }
            return;
        };
        for watched in &watched_paths {
            let path = watched.path.join(name);
            if event.mask.contains(EventMask::MOVED_FROM | EventMask::ISDIR) {
                self.directory_moved(&path);
            }
            for holder in watched.holders.as_slice() {
                self.entry_changed(*holder, &path, &name.to_string_lossy(), event.mask);
            }
        }
    }

    /// Rescans all files after lost events, comparing with the time of the last complete read.
    fn rescan_after_overflow(&mut self) {
        tracing::warn!("more file events came than the kernel keeps; looking at all watched files");
        let since = self.drained_at.checked_sub(CLOCK_SLACK).unwrap_or(self.drained_at);
        let regions: Vec<RegionId> = self.regions.keys().copied().collect();
        for region in regions {
            self.set_up(region, Report::ChangedSince(since));
        }
    }

    /// Handles that a watched directory itself is gone from its path.
    fn directory_gone(&mut self, event: &Event<&OsStr>, watched_paths: &[WatchedPath]) {
        let moved = event.mask.contains(EventMask::MOVE_SELF);
        let is_root = |state: &Self, watched: &WatchedPath| {
            let holders = watched.holders.as_slice().iter().filter_map(|holder| state.regions.get(holder));
            holders.into_iter().any(|region| region.depends_on(&watched.path))
        };
        for watched in watched_paths {
            // Below a root, the parent reports the move; and after a move back this event is outdated.
            if moved && is_root(self, watched) {
                self.directory_moved(&watched.path);
            }
        }
        if moved {
            return;
        }
        self.table.remove_ended_watch(&event.wd);
        self.remove_nodes(
            watched_paths.iter().map(|watched| (watched.node, &watched.holders, watched.path.as_path())),
        );
    }

    /// Forgets everything watched in a directory that was moved: its new path may be unknown.
    fn directory_moved(&mut self, directory: &Path) {
        let removed = self.table.moved_away(directory);
        self.remove_nodes(removed.iter().map(|(node, holders)| (*node, holders, directory)));
    }

    /// Removes nodes whose directory is gone from their regions. Regions whose root was at or below it are set up
    /// again, but only after all nodes are forgotten, because node ids are reused.
    fn remove_nodes<'a>(&mut self, removed: impl Iterator<Item = (NodeId, &'a Holders, &'a Path)>) {
        let mut affected = Vec::new();
        for (node, holders, removed) in removed {
            for holder in holders.as_slice() {
                let Some(region) = self.regions.get_mut(holder) else { continue };
                region.held.remove(&node);
                if region.depends_on(removed) && !affected.contains(holder) {
                    affected.push(*holder);
                }
            }
        }
        for region in affected {
            self.set_up(region, Report::Everything);
        }
    }

    fn entry_changed(&mut self, id: RegionId, path: &Path, name: &str, mask: EventMask) {
        let Some(region) = self.regions.get(&id) else { return };
        if path == region.root || path == region.resolved_root.resolved {
            let root = region.root.clone();
            self.root_changed(id, &root, mask);
        } else if path.starts_with(&region.root) {
            // Events below a directory entry arrive if a link on its path leads there; they are ignored.
            if !region.is_entry {
                self.content_changed(id, path, name, mask);
            }
        } else if region.depends_on(path) && mask.intersects(APPEARED | DISAPPEARED) {
            self.set_up(id, Report::Everything);
        }
    }

    fn root_touched(&mut self, watched_paths: &[WatchedPath]) {
        for watched in watched_paths {
            for holder in watched.holders.as_slice() {
                let is_root = |region: &Region| region.root == watched.path && !region.is_entry;
                if self.regions.get(holder).is_some_and(is_root) {
                    self.report_mode(*holder, &watched.path);
                }
            }
        }
    }

    fn root_changed(&mut self, id: RegionId, root: &Path, mask: EventMask) {
        if mask.intersects(APPEARED | DISAPPEARED) {
            self.set_up(id, Report::Everything);
        } else if !mask.contains(EventMask::ISDIR) {
            self.report(id, root, change_kind(mask));
        }
    }

    fn content_changed(&mut self, id: RegionId, path: &Path, name: &str, mask: EventMask) {
        if !mask.contains(EventMask::ISDIR) {
            if !is_temporary(name) {
                self.report(id, path, change_kind(mask));
            }
            return;
        }
        if is_private_folder(name) {
            return;
        }
        if mask.intersects(APPEARED) {
            let ignored = self.regions.get(&id).is_none_or(|region| region.matcher.ignores_all_below(path));
            if !ignored {
                self.push_job(id, path.to_path_buf(), Report::Everything, Links::Refuse);
            }
        } else if mask.intersects(DISAPPEARED) && (mask.intersects(EventMask::MOVED_FROM) || !path.exists()) {
            // Files that were moved away with it cause no events, even if another directory is there by now. Deleted
            // files do, and the directory is deleted last.
            self.report(id, path, ChangeKind::Complete);
        } else if mask.contains(EventMask::ATTRIB) {
            self.report_mode(id, path);
        }
    }
}

fn change_kind(mask: EventMask) -> ChangeKind {
    if mask.contains(EventMask::CREATE) {
        ChangeKind::Created
    } else if mask.contains(EventMask::MODIFY) {
        ChangeKind::Writing
    } else if mask.intersects(DISAPPEARED) {
        ChangeKind::Deleted
    } else if mask.contains(EventMask::ATTRIB) {
        ChangeKind::MetadataChanged
    } else {
        ChangeKind::Complete
    }
}

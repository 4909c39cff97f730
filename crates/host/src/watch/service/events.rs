//! What the kernel tells, and what it means for the regions that hold the directory.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use inotify::{Event, EventMask};

use super::State;
use crate::watch::delivery::Content;
use crate::watch::region::{Region, RegionId, Report};
use crate::watch::table::{Holders, Links, NodeId, Place};
use crate::watch::temporary::{is_private_folder, is_temporary};

/// File systems keep coarse times, some only whole seconds.
const CLOCK_SLACK: Duration = Duration::from_secs(2);

const APPEARED: EventMask = EventMask::CREATE.union(EventMask::MOVED_TO);
const DISAPPEARED: EventMask = EventMask::DELETE.union(EventMask::MOVED_FROM);
const SELF_GONE: EventMask =
    EventMask::DELETE_SELF.union(EventMask::MOVE_SELF).union(EventMask::UNMOUNT).union(EventMask::IGNORED);

impl State {
    pub(super) fn see(&mut self, event: &Event<&OsStr>) {
        if event.mask.contains(EventMask::Q_OVERFLOW) {
            self.look_at_everything();
            return;
        }
        let places = self.table.places(&event.wd);
        if event.mask.intersects(SELF_GONE) {
            self.directory_gone(event, &places);
            return;
        }
        let Some(name) = event.name else {
            // Of others the directory above tells.
            if event.mask.contains(EventMask::ATTRIB) {
                self.root_touched(&places);
            }
            return;
        };
        for place in &places {
            let path = place.path.join(name);
            if event.mask.contains(EventMask::MOVED_FROM | EventMask::ISDIR) {
                self.directory_moved(&path);
            }
            for holder in place.holders.as_slice() {
                self.entry_changed(*holder, &path, &name.to_string_lossy(), event.mask);
            }
        }
    }

    /// Events were lost: compare with the time of the last one that was not.
    fn look_at_everything(&mut self) {
        tracing::warn!("more file events came than the kernel keeps; looking at all watched files");
        let since = self.quiet.checked_sub(CLOCK_SLACK).unwrap_or(self.quiet);
        let regions: Vec<RegionId> = self.regions.keys().copied().collect();
        for region in regions {
            self.settle(region, Report::ChangedSince(since));
        }
    }

    /// A watched directory itself is gone from its path.
    fn directory_gone(&mut self, event: &Event<&OsStr>, places: &[Place]) {
        let moved = event.mask.contains(EventMask::MOVE_SELF);
        let is_root = |state: &State, place: &Place| {
            let holders = place.holders.as_slice().iter().filter_map(|holder| state.regions.get(holder));
            holders.into_iter().any(|region| region.depends_on(&place.path))
        };
        for place in places {
            // Below a root, the directory above tells of a move; and after the move back this is news of old.
            if moved && is_root(self, place) {
                self.directory_moved(&place.path);
            }
        }
        if moved {
            return;
        }
        self.table.ended(&event.wd);
        self.forget(places.iter().map(|place| (place.node, &place.holders, place.path.as_path())));
    }

    /// Everything watched in this directory now has another path, or none that we know.
    fn directory_moved(&mut self, directory: &Path) {
        let gone = self.table.moved_away(directory);
        self.forget(gone.iter().map(|(node, holders)| (*node, holders, directory)));
    }

    /// These nodes are no longer in the table, because the directory named with each is gone. Regions whose root was
    /// at or below it look for it anew, but only when all nodes are forgotten: then their numbers are used again.
    fn forget<'a>(&mut self, gone: impl Iterator<Item = (NodeId, &'a Holders, &'a Path)>) {
        let mut homeless = Vec::new();
        for (node, holders, gone) in gone {
            for holder in holders.as_slice() {
                let Some(region) = self.regions.get_mut(holder) else { continue };
                region.held.remove(&node);
                if region.depends_on(gone) && !homeless.contains(holder) {
                    homeless.push(*holder);
                }
            }
        }
        for region in homeless {
            self.settle(region, Report::Everything);
        }
    }

    fn entry_changed(&mut self, id: RegionId, path: &Path, name: &str, mask: EventMask) {
        let Some(region) = self.regions.get(&id) else { return };
        if path == region.root || path == region.found.resolved {
            let root = region.root.clone();
            self.root_changed(id, &root, mask);
        } else if path.starts_with(&region.root) {
            // What is below an entry that is a directory reaches it if a link of its path leads there.
            if !region.is_entry {
                self.content_changed(id, path, name, mask);
            }
        } else if region.depends_on(path) && mask.intersects(APPEARED | DISAPPEARED) {
            self.settle(id, Report::Everything);
        }
    }

    fn root_touched(&mut self, places: &[Place]) {
        for place in places {
            for holder in place.holders.as_slice() {
                let is_root = |region: &Region| region.root == place.path && !region.is_entry;
                if self.regions.get(holder).is_some_and(is_root) {
                    self.report_mode(*holder, &place.path);
                }
            }
        }
    }

    fn root_changed(&mut self, id: RegionId, root: &Path, mask: EventMask) {
        if mask.intersects(APPEARED | DISAPPEARED) {
            self.settle(id, Report::Everything);
        } else if !mask.contains(EventMask::ISDIR) {
            self.report(id, root, content(mask));
        }
    }

    fn content_changed(&mut self, id: RegionId, path: &Path, name: &str, mask: EventMask) {
        if !mask.contains(EventMask::ISDIR) {
            if !is_temporary(name) {
                self.report(id, path, content(mask));
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
            // What was moved away with it is not told of one by one, also if there is another directory by now. What is
            // deleted is, and the directory only in the end.
            self.report(id, path, Content::Complete);
        } else if mask.contains(EventMask::ATTRIB) {
            self.report_mode(id, path);
        }
    }
}

fn content(mask: EventMask) -> Content {
    if mask.contains(EventMask::CREATE) {
        Content::New
    } else if mask.contains(EventMask::MODIFY) {
        Content::Writing
    } else if mask.intersects(DISAPPEARED) {
        Content::Gone
    } else if mask.contains(EventMask::ATTRIB) {
        Content::Touched
    } else {
        Content::Complete
    }
}

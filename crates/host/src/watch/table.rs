//! The watched directories: which watch belongs to which path, and which regions hold it.
//!
//! A directory is watched while at least one region holds it. The kernel gives one watch per directory, so two paths
//! that lead to the same directory (by a link) share one.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use inotify::{WatchDescriptor, WatchMask, Watches};

use super::region::RegionId;

#[derive(Debug)]
pub(super) struct Table {
    /// None: the system gives no inotify instance.
    watches: Option<Watches>,
    /// Fewer than the system's limit.
    pub(super) limit: usize,
    by_watch: HashMap<WatchDescriptor, Vec<Place>>,
    by_path: HashMap<Arc<Path>, WatchDescriptor>,
}

#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) path: Arc<Path>,
    /// Seldom more than a few.
    pub(super) holders: Vec<RegionId>,
}

/// Whether a directory that turns out to be a link is followed: only roots and what is above them are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    Follow,
    Refuse,
}

impl Table {
    pub(super) fn new(watches: Option<Watches>) -> Self {
        Self { watches, limit: usize::MAX, by_watch: HashMap::new(), by_path: HashMap::new() }
    }

    /// Whether the system lets us watch at all.
    pub(super) fn is_usable(&self) -> bool {
        self.watches.is_some()
    }

    pub(super) fn count(&self) -> usize {
        self.by_watch.len()
    }

    /// The paths that a watch stands for.
    pub(super) fn places(&self, watch: &WatchDescriptor) -> Vec<Place> {
        self.by_watch.get(watch).cloned().unwrap_or_default()
    }

    /// Watches a directory for a region. Always asks the kernel, even for a path that is known: another directory may
    /// have taken its place.
    pub(super) fn hold(&mut self, path: &Path, holder: RegionId, links: Links) -> io::Result<Arc<Path>> {
        if self.by_watch.len() >= self.limit && !self.by_path.contains_key(path) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let watches = self.watches.as_mut().ok_or(io::ErrorKind::StorageFull)?;
        let watch = watches.add(path, mask(links))?;
        let known = self.by_path.get_key_value(path).map(|(path, watch)| (path.clone(), watch.clone()));
        let mut holders = Vec::new();
        let path = match known {
            Some((path, old)) if old == watch => path,
            Some((path, old)) => {
                // Its other holders want the new directory as well.
                holders = self.forget_place(&old, &path);
                path
            }
            None => Arc::from(path),
        };
        self.by_path.insert(path.clone(), watch.clone());
        let places = self.by_watch.entry(watch).or_default();
        let place = match places.iter_mut().position(|place| place.path == path) {
            Some(index) => &mut places[index],
            None => {
                places.push(Place { path: path.clone(), holders });
                places.last_mut().expect("invariant: one was just pushed")
            }
        };
        if !place.holders.contains(&holder) {
            place.holders.push(holder);
        }
        Ok(path)
    }

    /// Gives a directory up for a region; the watch goes with the last holder of its last path.
    pub(super) fn release(&mut self, path: &Path, holder: RegionId) {
        let Some(watch) = self.by_path.get(path).cloned() else { return };
        let Some(places) = self.by_watch.get_mut(&watch) else { return };
        let Some(place) = places.iter_mut().find(|place| *place.path == *path) else { return };
        place.holders.retain(|held| *held != holder);
        if place.holders.is_empty() {
            self.by_path.remove(path);
            self.forget_place(&watch, path);
        }
    }

    /// The kernel has ended this watch.
    pub(super) fn ended(&mut self, watch: &WatchDescriptor) {
        for place in self.by_watch.remove(watch).unwrap_or_default() {
            self.by_path.remove(&place.path);
        }
    }

    /// A directory was moved away: what was watched in it has other paths now. Says who held what.
    pub(super) fn moved_away(&mut self, directory: &Path) -> Vec<Place> {
        let below = self.by_path.iter().filter(|(path, _)| path.starts_with(directory));
        let below: Vec<_> = below.map(|(path, watch)| (path.clone(), watch.clone())).collect();
        let mut gone = Vec::with_capacity(below.len());
        for (path, watch) in below {
            self.by_path.remove(&path);
            let holders = self.forget_place(&watch, &path);
            gone.push(Place { path, holders });
        }
        gone
    }

    fn forget_place(&mut self, watch: &WatchDescriptor, path: &Path) -> Vec<RegionId> {
        let Some(places) = self.by_watch.get_mut(watch) else { return Vec::new() };
        let index = places.iter().position(|place| *place.path == *path);
        let holders = index.map(|index| places.swap_remove(index).holders).unwrap_or_default();
        if places.is_empty() {
            self.by_watch.remove(watch);
            // The kernel may have ended it already, with its directory.
            let _ = self.watches.as_mut().map(|watches| watches.remove(watch.clone()));
        }
        holders
    }
}

fn mask(links: Links) -> WatchMask {
    let mask = WatchMask::CREATE
        | WatchMask::DELETE
        | WatchMask::MODIFY
        | WatchMask::CLOSE_WRITE
        | WatchMask::ATTRIB
        | WatchMask::MOVE
        | WatchMask::DELETE_SELF
        | WatchMask::MOVE_SELF
        | WatchMask::EXCL_UNLINK
        | WatchMask::ONLYDIR;
    match links {
        Links::Follow => mask,
        Links::Refuse => mask | WatchMask::DONT_FOLLOW,
    }
}

//! The watched directories: which watch belongs to which path, and which regions hold it.
//!
//! A directory is watched while at least one region holds it. The kernel gives one watch per directory, so two paths
//! that lead to the same directory (by a link) share one.
//!
//! There may be hundreds of thousands of them, so all that is kept of one is a small node in a tree of names.

mod holders;
mod name;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::HashMap;
use std::io;
use std::num::NonZeroI32;
use std::path::{Path, PathBuf};

use inotify::{Inotify, WatchDescriptor};
use rustix::fs::inotify::{WatchFlags, add_watch, remove_watch};

use super::region::RegionId;
pub(super) use holders::Holders;
pub(super) use tree::NodeId;
use tree::Tree;

/// The kernel's number for a watched directory: it counts from one. The `inotify` crate's own type is four times as
/// big.
type Watch = NonZeroI32;

#[derive(Debug)]
pub(super) struct Table {
    /// None: the system gives no inotify instance.
    inotify: Option<Inotify>,
    /// Fewer than the system's limit.
    pub(super) limit: usize,
    tree: Tree,
    /// One of the paths of each watch; the tree leads from it to the others.
    by_watch: HashMap<Watch, NodeId>,
}

/// A path that a watch stands for.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) node: NodeId,
    pub(super) path: PathBuf,
    pub(super) holders: Holders,
}

/// Whether a directory that turns out to be a link is followed: only roots and what is above them are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    Follow,
    Refuse,
}

/// What a directory is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    /// All changes of its files.
    Content,
    /// Which entries it has. Others may watch the same directory for its content, too.
    Entries,
}

impl Table {
    pub(super) fn new(inotify: Option<Inotify>) -> Self {
        Self { inotify, limit: usize::MAX, tree: Tree::new(), by_watch: HashMap::new() }
    }

    /// What the kernel's events are read from; none if the system does not let us watch at all.
    pub(super) fn inotify(&self) -> Option<&Inotify> {
        self.inotify.as_ref()
    }

    pub(super) fn inotify_mut(&mut self) -> Option<&mut Inotify> {
        self.inotify.as_mut()
    }

    pub(super) fn count(&self) -> usize {
        self.by_watch.len()
    }

    /// The paths that a watch stands for.
    pub(super) fn places(&self, watch: &WatchDescriptor) -> Vec<Place> {
        let nodes = self.nodes(watch).into_iter();
        let place =
            |node| Place { node, path: self.tree.path(node), holders: self.tree[node].holders.clone() };
        nodes.map(place).collect()
    }

    /// Watches a directory for a region. Always asks the kernel, even for a path that is known: another directory may
    /// have taken its place.
    pub(super) fn hold(
        &mut self,
        path: &Path,
        holder: RegionId,
        links: Links,
        interest: Interest,
    ) -> io::Result<NodeId> {
        let (nearest, missing) = self.tree.locate(path);
        let is_known = missing.clone().next().is_none() && self.tree[nearest].watch.is_some();
        if self.by_watch.len() >= self.limit && !is_known {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let inotify = self.inotify.as_ref().ok_or(io::ErrorKind::StorageFull)?;
        let watch = Watch::new(add_watch(inotify, path, flags(links, interest))?)
            .ok_or(io::ErrorKind::InvalidData)?;
        let node = self.tree.extend(nearest, missing);
        if self.tree[node].watch != Some(watch) {
            // Its other holders want the new directory as well.
            self.unwatch(node);
            self.join(node, watch);
        }
        self.tree[node].holders.add(holder);
        Ok(node)
    }

    /// Gives a directory up for a region; the watch goes with the last holder of its last path.
    pub(super) fn release(&mut self, node: NodeId, holder: RegionId) {
        let holders = &mut self.tree[node].holders;
        if holders.remove(holder) && holders.is_empty() {
            self.unwatch(node);
            self.tree.prune(node);
        }
    }

    /// The kernel has ended this watch. Its nodes may stand for others from now on.
    pub(super) fn ended(&mut self, watch: &WatchDescriptor) {
        for node in self.nodes(watch) {
            self.tree[node].holders = Holders::default();
            self.part(node);
            self.tree.prune(node);
        }
    }

    /// A directory was moved away: what was watched in it has other paths now. Says who held what; these nodes may
    /// stand for others from now on.
    pub(super) fn moved_away(&mut self, directory: &Path) -> Vec<(NodeId, Holders)> {
        let Some(top) = self.tree.find(directory) else { return Vec::new() };
        let below = self.tree.watched_within(top);
        below.into_iter().map(|node| (node, self.forget(node))).collect()
    }

    fn forget(&mut self, node: NodeId) -> Holders {
        let holders = std::mem::take(&mut self.tree[node].holders);
        self.unwatch(node);
        self.tree.prune(node);
        holders
    }

    fn nodes(&self, watch: &WatchDescriptor) -> Vec<NodeId> {
        let watch = Watch::new(watch.get_watch_descriptor_id());
        let first = watch.and_then(|watch| self.by_watch.get(&watch));
        first.map(|first| self.tree.ring(*first).collect()).unwrap_or_default()
    }

    /// One more path of a watch.
    fn join(&mut self, node: NodeId, watch: Watch) {
        self.tree[node].watch = Some(watch);
        match self.by_watch.get(&watch) {
            Some(other) => self.tree.join_ring(node, *other),
            None => {
                self.by_watch.insert(watch, node);
            }
        }
    }

    /// Takes a node's watch from it, and from the kernel if this was its last path.
    fn unwatch(&mut self, node: NodeId) {
        if let Some(watch) = self.part(node)
            && let Some(inotify) = &self.inotify
        {
            // The kernel may have ended it already, with its directory.
            let _ = remove_watch(inotify, watch.get());
        }
    }

    /// One path less of a watch; says which, if it has none left.
    fn part(&mut self, node: NodeId) -> Option<Watch> {
        let watch = self.tree[node].watch.take()?;
        match self.tree.leave_ring(node) {
            Some(other) => {
                self.by_watch.insert(watch, other);
                None
            }
            None => {
                self.by_watch.remove(&watch);
                Some(watch)
            }
        }
    }
}

fn flags(links: Links, interest: Interest) -> WatchFlags {
    let entries = WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MOVE
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::EXCL_UNLINK
        | WatchFlags::ONLYDIR;
    let flags = match interest {
        Interest::Content => entries | WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::ATTRIB,
        // There is one watch for all: what others want to know of the directory is kept.
        Interest::Entries => entries | WatchFlags::MASK_ADD,
    };
    match links {
        Links::Follow => flags,
        Links::Refuse => flags | WatchFlags::DONT_FOLLOW,
    }
}

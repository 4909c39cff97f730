//! The table of watched directories: which watch belongs to which path, and which regions hold it.
//!
//! A directory is watched while at least one region holds it. The kernel has one watch per directory, so two paths to
//! the same directory (by a link) share it.
//!
//! There may be hundreds of thousands of directories, so each is only a small node in a tree of names.

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

/// The kernel's watch descriptor, which counts from one. The `inotify` crate's own type is four times as big.
type Watch = NonZeroI32;

#[derive(Debug)]
pub(super) struct Table {
    /// `None` if the limit of inotify instances is reached.
    inotify: Option<Inotify>,
    /// The maximum number of watches; tests set it below the system's limit.
    pub(super) limit: usize,
    tree: Tree,
    /// One node of each watch; the tree links it to the others.
    by_watch: HashMap<Watch, NodeId>,
}

/// A path of a watch.
#[derive(Debug)]
pub(super) struct WatchedPath {
    pub(super) node: NodeId,
    pub(super) path: PathBuf,
    pub(super) holders: Holders,
}

/// Whether to follow a link: only for roots and the directories above them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    Follow,
    Refuse,
}

/// Which changes of a directory to watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    /// All changes of its files.
    Content,
    /// Only created, deleted and moved entries. Other regions may watch the same directory for its content.
    Entries,
}

impl Table {
    pub(super) fn new(inotify: Option<Inotify>) -> Self {
        Self { inotify, limit: usize::MAX, tree: Tree::new(), by_watch: HashMap::new() }
    }

    /// Returns the inotify instance to read events from.
    pub(super) fn inotify(&self) -> Option<&Inotify> {
        self.inotify.as_ref()
    }

    pub(super) fn inotify_mut(&mut self) -> Option<&mut Inotify> {
        self.inotify.as_mut()
    }

    pub(super) fn count(&self) -> usize {
        self.by_watch.len()
    }
    /// Returns the paths of a watch.
    pub(super) fn paths_of(&self, watch: &WatchDescriptor) -> Vec<WatchedPath> {
        let nodes = self.nodes(watch).into_iter();
        let watched =
            |node| WatchedPath { node, path: self.tree.path(node), holders: self.tree[node].holders.clone() };
        nodes.map(watched).collect()
    }

    /// Watches a directory for a region. Always calls the kernel, even for a known path, because another directory may
    /// have replaced it.
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
            // The other holders of the path get the new directory as well.
            self.unwatch(node);
            self.attach(node, watch);
        }
        self.tree[node].holders.add(holder);
        Ok(node)
    }

    /// Releases a directory for a region. The watch is removed with the last holder of its last path.
    pub(super) fn release(&mut self, node: NodeId, holder: RegionId) {
        let holders = &mut self.tree[node].holders;
        if holders.remove(holder) && holders.is_empty() {
            self.unwatch(node);
            self.tree.prune(node);
        }
    }

    /// Handles that the kernel has removed a watch. Its node ids may be reused from now on.
    pub(super) fn remove_ended_watch(&mut self, watch: &WatchDescriptor) {
        for node in self.nodes(watch) {
            self.tree[node].holders = Holders::default();
            self.detach(node);
            self.tree.prune(node);
        }
    }

    /// Removes all watches in a directory that was moved away. Returns their nodes, whose ids may be reused from now
    /// on, and the holders.
    pub(super) fn moved_away(&mut self, directory: &Path) -> Vec<(NodeId, Holders)> {
        let Some(top) = self.tree.find(directory) else { return Vec::new() };
        let below = self.tree.watched_within(top);
        below.into_iter().map(|node| (node, self.remove_nodes(node))).collect()
    }

    fn remove_nodes(&mut self, node: NodeId) -> Holders {
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
    /// Adds a path to a watch.
    fn attach(&mut self, node: NodeId, watch: Watch) {
        self.tree[node].watch = Some(watch);
        match self.by_watch.get(&watch) {
            Some(other) => self.tree.join_ring(node, *other),
            None => {
                self.by_watch.insert(watch, node);
            }
        }
    }

    /// Removes the watch of a node, and from the kernel if this was its last path.
    fn unwatch(&mut self, node: NodeId) {
        if let Some(watch) = self.detach(node)
            && let Some(inotify) = &self.inotify
        {
            // The kernel may have removed it already, with its directory.
            let _ = remove_watch(inotify, watch.get());
        }
    }

    /// Removes a path from a watch. Returns the watch if no path is left.
    fn detach(&mut self, node: NodeId) -> Option<Watch> {
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
        // All regions share one watch: MASK_ADD keeps the events that others need.
        Interest::Entries => entries | WatchFlags::MASK_ADD,
    };
    match links {
        Links::Follow => flags,
        Links::Refuse => flags | WatchFlags::DONT_FOLLOW,
    }
}

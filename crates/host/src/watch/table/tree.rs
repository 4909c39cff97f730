//! Paths as a tree of names, so that a directory takes little more memory than its own name.
//!
//! A node is kept while it is watched or has children; after that its id may be reused.

use std::ffi::OsStr;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::{Index, IndexMut};
use std::path::{Components, Path, PathBuf};

use hashbrown::HashTable;

use super::name::Name;
use super::{Holders, Watch};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::watch) struct NodeId(u32);

impl NodeId {
    fn chunk(self) -> usize {
        self.0 as usize / CHUNK
    }

    fn offset(self) -> usize {
        self.0 as usize % CHUNK
    }
}

/// How many nodes are allocated at a time. A vector that grows by doubling would leave freed blocks of the same total
/// size.
const CHUNK: usize = 1024;

/// The root node, with an empty path. It is never removed.
const TOP: NodeId = NodeId(0);

#[derive(Debug)]
pub(super) struct Node {
    parent: NodeId,
    /// The number of child nodes.
    children: u32,
    /// The next node of the same watch, in a circular list. It has one node unless a link leads to the same directory.
    next: NodeId,
    pub(super) watch: Option<Watch>,
    name: Name,
    pub(super) holders: Holders,
}

impl Node {
    fn new(name: &OsStr) -> Node {
        Node {
            parent: TOP,
            children: 0,
            next: TOP,
            watch: None,
            name: name.into(),
            holders: Holders::default(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Tree {
    /// Chunks; all but the last are full.
    nodes: Vec<Vec<Node>>,
    free: Vec<NodeId>,
    /// The nodes by parent and name.
    children: HashTable<NodeId>,
    hasher: RandomState,
}

impl Tree {
    pub(super) fn new() -> Tree {
        let mut tree = Tree {
            nodes: Vec::new(),
            free: Vec::new(),
            children: HashTable::new(),
            hasher: RandomState::new(),
        };
        tree.push(Node::new(OsStr::new("")));
        tree
    }

    /// Returns the node of a path, or its nearest ancestor and the missing components.
    pub(super) fn locate<'p>(&self, path: &'p Path) -> (NodeId, Components<'p>) {
        let (mut node, mut missing) = (TOP, path.components());
        loop {
            let mut rest = missing.clone();
            match rest.next().and_then(|name| self.child(node, name.as_os_str())) {
                Some(child) => (node, missing) = (child, rest),
                None => return (node, missing),
            }
        }
    }

    pub(super) fn find(&self, path: &Path) -> Option<NodeId> {
        let (node, mut missing) = self.locate(path);
        missing.next().is_none().then_some(node)
    }

    /// Adds the components that [`Tree::locate`] found missing.
    pub(super) fn extend(&mut self, nearest: NodeId, missing: Components<'_>) -> NodeId {
        missing.fold(nearest, |parent, name| self.add(parent, name.as_os_str()))
    }

    /// Removes an unused node, and ancestors that were needed only for it.
    pub(super) fn prune(&mut self, mut node: NodeId) {
        while node != TOP && self[node].watch.is_none() && self[node].children == 0 {
            let parent = self[node].parent;
            let hash = self.hash(parent, self[node].name.as_ref());
            if let Ok(entry) = self.children.find_entry(hash, |other| *other == node) {
                entry.remove();
            }
            self[node].name = Name::default();
            self.free.push(node);
            self[parent].children -= 1;
            node = parent;
        }
    }

    pub(super) fn path(&self, node: NodeId) -> PathBuf {
        let mut names: Vec<&OsStr> = Vec::new();
        let mut node = node;
        while node != TOP {
            names.push(self[node].name.as_ref());
            node = self[node].parent;
        }
        names.into_iter().rev().collect()
    }

    /// Returns the watched nodes at and below `top`.
    pub(super) fn watched_within(&self, top: NodeId) -> Vec<NodeId> {
        let all = (0..).map(NodeId).zip(self.nodes.iter().flatten());
        let watched = all.filter(|(_, node)| node.watch.is_some()).map(|(id, _)| id);
        watched.filter(|node| self.is_within(*node, top)).collect()
    }

    fn is_within(&self, mut node: NodeId, top: NodeId) -> bool {
        while node != top && node != TOP {
            node = self[node].parent;
        }
        node == top
    }

    /// Returns a node and the others of the same watch.
    pub(super) fn ring(&self, first: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(first), move |node| Some(self[*node].next).filter(|next| *next != first))
    }

    pub(super) fn join_ring(&mut self, node: NodeId, other: NodeId) {
        self[node].next = self[other].next;
        self[other].next = node;
    }

    /// Removes a node from its ring. Returns a node that is still in it.
    pub(super) fn leave_ring(&mut self, node: NodeId) -> Option<NodeId> {
        let before = self.ring(node).last().filter(|before| *before != node)?;
        self[before].next = self[node].next;
        self[node].next = node;
        Some(before)
    }

    fn hash(&self, parent: NodeId, name: &OsStr) -> u64 {
        self.hasher.hash_one((parent, name))
    }

    fn child(&self, parent: NodeId, name: &OsStr) -> Option<NodeId> {
        let matches = |node: &NodeId| self[*node].parent == parent && self[*node].name.as_ref() == name;
        self.children.find(self.hash(parent, name), matches).copied()
    }

    fn add(&mut self, parent: NodeId, name: &OsStr) -> NodeId {
        let new = Node { parent, ..Node::new(name) };
        let node = match self.free.pop() {
            Some(free) => {
                self[free] = new;
                free
            }
            None => self.push(new),
        };
        self[node].next = node;
        self[parent].children += 1;
        let (nodes, hasher) = (&self.nodes, &self.hasher);
        let rehash = |node: &NodeId| {
            let node = &nodes[node.chunk()][node.offset()];
            hasher.hash_one((node.parent, AsRef::<OsStr>::as_ref(&node.name)))
        };
        self.children.insert_unique(hasher.hash_one((parent, name)), node, rehash);
        node
    }

    fn push(&mut self, node: Node) -> NodeId {
        if self.nodes.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.nodes.push(Vec::with_capacity(CHUNK));
        }
        let full = (self.nodes.len() - 1) * CHUNK;
        let last = self.nodes.last_mut().expect("invariant: one was just pushed");
        last.push(node);
        NodeId(
            u32::try_from(full + last.len() - 1).expect("invariant: the kernel has fewer watches than this"),
        )
    }
}

impl Index<NodeId> for Tree {
    type Output = Node;

    fn index(&self, node: NodeId) -> &Node {
        &self.nodes[node.chunk()][node.offset()]
    }
}

impl IndexMut<NodeId> for Tree {
    fn index_mut(&mut self, node: NodeId) -> &mut Node {
        &mut self.nodes[node.chunk()][node.offset()]
    }
}

#[cfg(test)]
impl Tree {
    pub(super) fn insert(&mut self, path: &Path) -> NodeId {
        let (nearest, missing) = self.locate(path);
        self.extend(nearest, missing)
    }

    /// Returns the number of nodes.
    pub(super) fn len(&self) -> usize {
        self.children.len()
    }

    /// Returns the largest number of nodes so far.
    pub(super) fn capacity(&self) -> usize {
        self.nodes.iter().map(Vec::len).sum()
    }

    /// Returns the bytes on the heap.
    pub(super) fn size(&self) -> usize {
        let names = self.nodes.iter().flatten().map(|node| node.name.size()).sum::<usize>();
        let nodes = self.nodes.iter().map(|chunk| chunk.capacity() * size_of::<Node>()).sum::<usize>();
        nodes + names + self.free.capacity() * size_of::<NodeId>() + self.children.allocation_size()
    }
}

//! All resources by name.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use lilt_model::ResourceName;
use serde::Serialize;

use super::resource::ResourceState;

/// Each is boxed: a tree that grew in order is half empty, which would double the memory for ten thousand
/// resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Resources(BTreeMap<ResourceName, Box<ResourceState>>);

impl Resources {
    pub(crate) fn get<N: Ord + ?Sized>(&self, name: &N) -> Option<&ResourceState>
    where
        ResourceName: Borrow<N>,
    {
        self.0.get(name).map(Box::as_ref)
    }

    pub(crate) fn get_mut<N: Ord + ?Sized>(&mut self, name: &N) -> Option<&mut ResourceState>
    where
        ResourceName: Borrow<N>,
    {
        self.0.get_mut(name).map(Box::as_mut)
    }

    pub(crate) fn contains_key(&self, name: &ResourceName) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn insert(&mut self, name: ResourceName, resource: ResourceState) {
        self.0.insert(name, Box::new(resource));
    }

    pub(crate) fn remove(&mut self, name: &ResourceName) -> Option<ResourceState> {
        self.0.remove(name).map(|resource| *resource)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &ResourceName> {
        self.0.keys()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &ResourceState> {
        self.0.values().map(Box::as_ref)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ResourceName, &ResourceState)> {
        self.0.iter().map(|(name, resource)| (name, resource.as_ref()))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&ResourceName, &mut ResourceState)> {
        self.0.iter_mut().map(|(name, resource)| (name, resource.as_mut()))
    }
}

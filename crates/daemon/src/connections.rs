//! The connections of a session: to the Docker engine of this machine, and to clusters.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use lilt_cluster::Cluster;
use lilt_docker::Engine;
use lilt_model::command::Command;
use lilt_model::{ClusterName, Failure};

use crate::minikube::ClusterEngine;

/// A connected cluster.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) cluster: Cluster,
    /// An engine inside the cluster that builds its images.
    pub(crate) engine: Option<Arc<ClusterEngine>>,
    /// The kubeconfig for commands that deploy to it, if it differs from the session's.
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// The connections that exist when a task starts.
///
/// The task table owns them, and gives each task a snapshot. Tasks that need a cluster are planned only after it is
/// connected.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    docker: Result<Arc<Engine>, Failure>,
    clusters: BTreeMap<ClusterName, Connection>,
}

impl Connections {
    pub(crate) fn new(docker: Result<Arc<Engine>, Failure>) -> Self {
        Self { docker, clusters: BTreeMap::new() }
    }

    /// Adds a cluster, or replaces its connection.
    pub(crate) fn insert(&mut self, name: ClusterName, connection: Connection) {
        self.clusters.insert(name, connection);
    }

    pub(crate) fn cluster(&self, name: &ClusterName) -> Result<Cluster, Failure> {
        let connection = self.clusters.get(name).map(|connection| connection.cluster.clone());
        connection.ok_or_else(|| {
            Failure::internal("a task that needs the cluster was started before it was connected")
        })
    }

    /// Returns the Docker engine of this machine.
    pub(crate) fn docker(&self) -> Result<&Arc<Engine>, &Failure> {
        self.docker.as_ref()
    }

    /// Returns the engine inside a cluster, if it has one that builds.
    pub(crate) fn cluster_engine(&self, name: &ClusterName) -> Option<&ClusterEngine> {
        self.clusters.get(name)?.engine.as_deref()
    }

    /// Returns the engine that builds for a cluster: its own, or the one of this machine.
    pub(crate) fn build_engine(&self, name: &ClusterName) -> Result<Arc<Engine>, Failure> {
        match self.cluster_engine(name) {
            Some(inside) => Ok(Arc::clone(&inside.engine)),
            None => self.docker.clone(),
        }
    }

    /// Sets `KUBECONFIG` so that the command talks to the cluster.
    pub(crate) fn with_kubeconfig(&self, name: &ClusterName, command: &Command) -> Command {
        let mut command = command.clone();
        if let Some(Connection { kubeconfig: Some(path), .. }) = self.clusters.get(name) {
            command.env.push(("KUBECONFIG".to_owned(), path.display().to_string()));
        }
        command
    }
}

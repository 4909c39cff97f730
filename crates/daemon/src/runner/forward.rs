//! Leads a local port to a pod. The port stays open while pods come and go.

use std::time::Duration;

use lilt_cluster::{Cluster, PortStream};
use lilt_engine::{Event, ForwardState, ForwardTarget, TaskSpec};
use lilt_model::kubernetes::Forward;
use lilt_model::log::Level;
use lilt_model::{Failure, ResourceName};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::context::Context;

/// How long a connection waits for a pod to take it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between attempts to reach a pod, or to bind a port that is taken.
const PAUSE: Duration = Duration::from_millis(250);

pub(crate) async fn run(
    context: Context,
    resource: ResourceName,
    object: Option<(String, u16)>,
    forward: Forward,
    spec: Receiver<TaskSpec>,
) {
    let cancel = context.cancel.clone();
    let mut port = Port { context, resource, object, local_port: forward.local_port, forward };
    tokio::select! {
        () = port.serve(spec) => {}
        () = cancel.cancelled() => {}
    }
}

struct Port {
    context: Context,
    /// Whose log it writes to.
    resource: ResourceName,
    /// The `PortForward` that asks for it, with its place there; none: the resource does.
    object: Option<(String, u16)>,
    /// The port that it has, or is to have; 0: whichever is free.
    local_port: u16,
    forward: Forward,
}

impl Port {
    async fn serve(&mut self, spec: Receiver<TaskSpec>) {
        if !self.context.settings.forwards {
            return;
        }
        let Ok(cluster) = self.context.cluster() else { return };
        let listener = self.bind().await;
        self.local_port = listener.local_addr().map_or(self.local_port, |address| address.port());
        self.tell(ForwardState::Listening).await;
        // Connections end with this task.
        let mut connections = JoinSet::new();
        let mut last: Option<Failure> = None;
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((client, _)) => {
                        connections.spawn(connect(client, cluster.clone(), spec.clone()));
                    }
                    // Out of descriptors, say: what is open goes on, new ones wait.
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
                Some(ended) = connections.join_next() => {
                    let failure = ended.unwrap_or_else(|panic| Err(Failure::internal(panic.to_string()))).err();
                    if failure != last {
                        self.note(failure.as_ref()).await;
                        last = failure;
                    }
                }
            }
        }
    }

    /// Takes the port; says so and tries on while somebody else has it.
    async fn bind(&self) -> TcpListener {
        let default = &self.context.settings.forward_host;
        let host = if self.forward.host.is_empty() { default } else { &self.forward.host };
        let mut told = false;
        loop {
            match TcpListener::bind((host.as_str(), self.forward.local_port)).await {
                Ok(listener) => return listener,
                Err(error) if !told => {
                    told = true;
                    let failure = Failure::environment(format!(
                        "cannot forward local port {}: {error}",
                        self.forward.local_port
                    ))
                    .hint("end the program that has the port, or choose another one in port_forwards; trying again meanwhile");
                    self.note(Some(&failure)).await;
                }
                Err(_) => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn note(&self, failure: Option<&Failure>) {
        let Some(failure) = failure else { return self.tell(ForwardState::Listening).await };
        let id = format!("forward:{}:{}", self.resource, self.forward.local_port);
        self.context.runtime_span(&self.resource, id).print(Level::Error, &format!("ERROR: {failure}"));
        self.tell(ForwardState::Failed(failure.clone())).await;
    }

    async fn tell(&self, state: ForwardState) {
        let (resource, local_port) = (self.resource.clone(), self.local_port);
        let event = match self.object.clone() {
            Some((name, place)) => Event::ObjectForwardChanged { name, place, local_port, state },
            None => Event::ForwardChanged { resource, local_port, state },
        };
        self.context.tell(event).await;
    }
}

/// Serves one connection to its end.
async fn connect(mut client: TcpStream, cluster: Cluster, spec: Receiver<TaskSpec>) -> Result<(), Failure> {
    // Small packets must not wait for more: Nagle costs 40 ms an exchange.
    let _ = client.set_nodelay(true);
    let mut pod = open(&cluster, spec).await?;
    match copy_bidirectional(&mut client, &mut pod).await {
        Ok(_) => Ok(()),
        // The client going away is no fault of the forward.
        Err(error) => PortStream::failure(&error).cloned().map_or(Ok(()), Err),
    }
}

/// Opens the port of whichever pod is the target, also one that only comes now.
async fn open(cluster: &Cluster, mut spec: Receiver<TaskSpec>) -> Result<PortStream, Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let target = target(&mut spec);
        let failure = match target {
            Some(ForwardTarget { pod, port }) => match cluster.open_port(&pod, port).await {
                Ok(stream) => return Ok(stream),
                Err(failure) => failure,
            },
            None => Failure::environment("no pod is running to forward to"),
        };
        if Instant::now() >= deadline {
            return Err(failure);
        }
        tokio::select! {
            // A new target is tried at once.
            changed = spec.changed() => if changed.is_err() { return Err(failure) },
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

fn target(spec: &mut Receiver<TaskSpec>) -> Option<ForwardTarget> {
    match &*spec.borrow_and_update() {
        TaskSpec::Forward { target, .. } => target.clone(),
        _ => None,
    }
}

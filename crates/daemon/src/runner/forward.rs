//! Forwards a local port to a pod. The port stays open while pods come and go.

mod listen;
mod slots;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use lilt_cluster::{Forwarder, PortStream};
use lilt_engine::{Event, ForwardSlot, ForwardState, ForwardTarget, Owner, Task};
use lilt_model::kubernetes::Forward;
use lilt_model::log::Level;
use lilt_model::{ClusterName, Failure, FailureKind, ResourceName};
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::TcpStream;
use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::context::Context;
use listen::Listeners;
use slots::ConnectionPermit;
pub(crate) use slots::ConnectionSlots;

/// How long a connection waits for a pod that accepts it.
const OPEN_TIMEOUT: Duration = Duration::from_secs(20);
/// Between attempts to connect to a pod, or to bind a port that is in use.
const PAUSE: Duration = Duration::from_millis(250);
/// An error that did not occur for this long is logged again.
const QUIET: Duration = Duration::from_secs(60);
/// The buffer for each direction of a connection.
const BUFFER: usize = 64 * 1024;

/// A forwarded port of this machine.
pub(crate) struct Port {
    context: Context,
    slots: ConnectionSlots,
    owner: Owner,
    slot: ForwardSlot,
    /// The resource whose log it writes to.
    resource: ResourceName,
    cluster: ClusterName,
    forward: Forward,
    /// The bound port, or the one to bind; 0: any free one.
    local_port: u16,
}

/// Returns why a local port cannot be bound, and which program uses it.
async fn unavailable(port: u16, error: &std::io::Error) -> Failure {
    if error.kind() != std::io::ErrorKind::AddrInUse {
        return Failure::environment(format!("cannot forward local port {port}: {error}"));
    }
    // Reads all of /proc.
    let holder = tokio::task::spawn_blocking(move || lilt_host::ports::holder(port)).await;
    let by = match holder.ok().flatten() {
        Some(holder) => format!(" by {} (pid {})", holder.program, holder.pid),
        None => String::new(),
    };
    Failure::environment(format!("cannot forward local port {port}: it is in use{by}"))
}

impl Port {
    pub(crate) fn new(
        context: Context,
        slots: ConnectionSlots,
        owner: Owner,
        slot: ForwardSlot,
        resource: ResourceName,
        cluster: ClusterName,
        forward: Forward,
    ) -> Self {
        Self { context, slots, owner, slot, resource, cluster, local_port: forward.local_port, forward }
    }

    /// Forwards until it is cancelled. `feed` delivers new targets.
    pub(crate) async fn run(mut self, feed: Receiver<Task>) {
        let cancel = self.context.cancel.clone();
        tokio::select! {
            () = self.serve(feed) => {}
            () = cancel.cancelled() => {}
        }
    }

    async fn serve(&mut self, spec: Receiver<Task>) {
        if !self.context.settings.forwards {
            return;
        }
        let Ok(cluster) = self.context.connections.cluster(&self.cluster) else { return };
        let forwarder = Arc::new(cluster.forwarder());
        let mut listeners = self.bind().await;
        self.local_port = listeners.port().unwrap_or(self.local_port);
        if let Some(taken) = listeners.taken() {
            self.warn_of(taken);
        }
        self.send_state(ForwardState::Listening).await;
        // Connections end with this task.
        let mut connections = JoinSet::new();
        let mut reported = ReportedErrors::default();
        let slots = self.slots.of_forward();
        // A connection that waits for a permit. No more are accepted meanwhile.
        let mut waiting: Option<BoxFuture<'static, (TcpStream, ConnectionPermit)>> = None;
        loop {
            let accepts = waiting.is_none();
            let permitted = async {
                match &mut waiting {
                    Some(waiting) => waiting.await,
                    None => std::future::pending().await,
                }
            };
            let (client, permit) = tokio::select! {
                permitted = permitted => {
                    waiting = None;
                    permitted
                }
                accepted = listeners.accept(), if accepts => match accepted {
                    Ok(client) => match slots.try_acquire() {
                        Some(permit) => (client, permit),
                        None => {
                            self.warn_of_limit(&mut reported, slots.most());
                            let permit = slots.acquire();
                            waiting = Some(Box::pin(async move { (client, permit.await) }));
                            continue;
                        }
                    },
                    // For example out of file descriptors: open connections go on, new ones wait.
                    Err(_) => {
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    }
                },
                Some(ended) = connections.join_next() => {
                    let failure = ended.unwrap_or_else(|panic| Err(Failure::internal(panic.to_string()))).err();
                    self.note_end(&mut reported, failure).await;
                    continue;
                }
            };
            let connection = connect(client, self.local_port, Arc::clone(&forwarder), spec.clone());
            connections.spawn(async move {
                let ended = connection.await;
                drop(permit);
                ended
            });
        }
    }

    /// Binds the port. Reports once if it is in use, and retries until it is free.
    async fn bind(&self) -> Listeners {
        let default = &self.context.settings.forward_host;
        let host = if self.forward.host.is_empty() { default } else { &self.forward.host };
        let mut is_reported = false;
        loop {
            match Listeners::bind(host, self.forward.local_port).await {
                Ok(listeners) => return listeners,
                Err(error) if !is_reported => {
                    is_reported = true;
                    let failure = unavailable(self.forward.local_port, &error).await.hint("end the program that has the port, or choose another one in port_forwards; trying again meanwhile");
                    self.print_error(&failure);
                    self.send_state(ForwardState::Failed(failure)).await;
                }
                Err(_) => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Reports the state of the port after a connection has ended.
    async fn note_end(&self, reported: &mut ReportedErrors, failure: Option<Failure>) {
        if let Some(failure) = &failure
            && reported.is_new(&failure.message)
        {
            self.print_error(failure);
        }
        if reported.last_failure != failure {
            reported.last_failure.clone_from(&failure);
            self.send_state(failure.map_or(ForwardState::Listening, ForwardState::Failed)).await;
        }
    }

    /// Warns that only one of the loopback addresses could be bound: the other belongs to another program.
    fn warn_of(&self, taken: SocketAddr) {
        let port = self.local_port;
        self.print(
            Level::Warn,
            &format!(
                "WARNING: port {port} is forwarded on 127.0.0.1 alone: another program has {taken}; \
                 end it, or choose another port in port_forwards"
            ),
        );
    }

    /// Warns that new connections wait, because all descriptors for forwards are in use.
    fn warn_of_limit(&self, reported: &mut ReportedErrors, most: usize) {
        let warning = format!(
            "WARNING: {most} connections are open through forwarded ports, as many as the limit of open files allows: new \
             ones wait until others are closed; raise the limit with `ulimit -n` before `lilt up`"
        );
        if reported.is_new(&warning) {
            self.print(Level::Warn, &warning);
        }
    }

    fn print_error(&self, failure: &Failure) {
        self.print(Level::Error, &format!("ERROR: {failure}"));
    }

    fn print(&self, level: Level, message: &str) {
        let id = format!("forward:{}:{}", self.resource, self.forward.local_port);
        self.context.runtime_span(&self.resource, id).print(level, message);
    }

    async fn send_state(&self, state: ForwardState) {
        let (owner, slot) = (self.owner.clone(), self.slot.clone());
        let event = Event::ForwardChanged { owner, slot, local_port: self.local_port, state };
        self.context.send(event).await;
    }
}

/// What was reported about a port, so that a page that reconnects continuously does not fill the log.
#[derive(Default)]
struct ReportedErrors {
    /// How the last connection ended.
    last_failure: Option<Failure>,
    /// When each message occurred last.
    printed: HashMap<String, Instant>,
}

impl ReportedErrors {
    fn is_new(&mut self, message: &str) -> bool {
        self.printed.retain(|_, at| at.elapsed() < QUIET);
        let is_new = !self.printed.contains_key(message);
        // Also if it is not printed: it stays silent for as long as it keeps occurring.
        self.printed.insert(message.to_owned(), Instant::now());
        is_new
    }
}

/// Forwards one connection to its end.
async fn connect(
    mut client: TcpStream,
    local_port: u16,
    forwarder: Arc<Forwarder>,
    spec: Receiver<Task>,
) -> Result<(), Failure> {
    // Nagle's algorithm would cost 40 ms per exchange of small packets.
    let _ = client.set_nodelay(true);
    let mut pod = open(local_port, &forwarder, spec).await?;
    match copy_bidirectional_with_sizes(&mut client, &mut pod, BUFFER, BUFFER).await {
        Ok(_) => Ok(()),
        // A client that disconnects is no failure of the forward.
        Err(error) => PortStream::failure(&error).cloned().map_or(Ok(()), Err),
    }
}

/// Opens the port of the current target. Waits for a target if there is none.
async fn open(
    local_port: u16,
    forwarder: &Forwarder,
    mut spec: Receiver<Task>,
) -> Result<PortStream, Failure> {
    let deadline = Instant::now() + OPEN_TIMEOUT;
    let mut last: Option<Failure> = None;
    loop {
        let failure = match target(&mut spec) {
            Some(target) => tokio::select! {
                opened = forwarder.open(&target.pod, target.port) => match opened {
                    Ok(stream) => return Ok(stream),
                    Err(failure) => failure,
                },
                // The former target may be on a node that never responds.
                () = target_changed(&mut spec, &target) => continue,
                // An earlier failure says more than a timeout.
                () = tokio::time::sleep_until(deadline) => last.unwrap_or_else(|| not_opened(&target)),
            },
            None => Failure::environment(format!("no pod is running to forward port {local_port} to")),
        };
        if Instant::now() >= deadline || failure.kind == FailureKind::Forbidden {
            return Err(failure);
        }
        tokio::select! {
            // A new target is tried at once.
            changed = spec.changed() => if changed.is_err() { return Err(failure) },
            () = tokio::time::sleep(PAUSE) => {}
        }
        last = Some(failure);
    }
}

fn not_opened(target: &ForwardTarget) -> Failure {
    let ForwardTarget { pod, port } = target;
    let seconds = OPEN_TIMEOUT.as_secs();
    Failure::environment(format!("port {port} of the pod {} did not open within {seconds} seconds", pod.name))
        .hint("is its node reachable?")
}

/// Returns when the target is another one than `known`.
async fn target_changed(spec: &mut Receiver<Task>, known: &ForwardTarget) {
    while spec.changed().await.is_ok() {
        if target(spec).as_ref() != Some(known) {
            return;
        }
    }
    std::future::pending::<()>().await;
}

fn target(spec: &mut Receiver<Task>) -> Option<ForwardTarget> {
    match &*spec.borrow_and_update() {
        Task::Forward { target, .. } => target.clone(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn port_in_use_names_the_program() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap_err();
        let failure = unavailable(port, &error).await.to_string();
        let begin = format!("cannot forward local port {port}: it is in use by lilt_daemon");
        assert!(failure.starts_with(&begin), "{failure}");
        assert!(failure.ends_with(&format!("(pid {})", std::process::id())), "{failure}");
    }

    #[tokio::test]
    async fn privileged_port_is_reported_without_an_error_number() {
        let error = std::io::Error::from_raw_os_error(13);
        let failure = unavailable(80, &error).await.to_string();
        assert_eq!(failure, "cannot forward local port 80: permission denied");
    }
}

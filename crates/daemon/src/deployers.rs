//! Other sessions that deploy the same objects: another checkout of a project, or another machine.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use lilt_cluster::OtherDeployer;
use lilt_host::{environment, session_dir};
use lilt_model::Timestamp;
use lilt_model::kubernetes::ObjectRef;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Warnings that wait for an answer; a task sends one at a time.
const PENDING: usize = 16;

/// Identifies this session to others, and warns of others once. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Deployers {
    /// `user@host:pid path of the Tiltfile`
    own: Arc<str>,
    /// When this session began, in the whole seconds of the API server.
    started: Timestamp,
    /// To the task that knows which sessions the user was warned of.
    warned: mpsc::Sender<(String, oneshot::Sender<bool>)>,
}

impl Deployers {
    /// Starts the task that remembers warnings. It ends when the last clone is dropped.
    pub(crate) fn start(tiltfile: &Path, started: Timestamp, services: &mut JoinSet<()>) -> Self {
        let machine = format!("{}@{}", environment::user_name(), environment::host_name());
        let own = format!("{machine}:{} {}", std::process::id(), tiltfile.display());
        let (warned, mut requests) = mpsc::channel::<(String, oneshot::Sender<bool>)>(PENDING);
        services.spawn(async move {
            let mut known = BTreeSet::new();
            while let Some((name, is_new)) = requests.recv().await {
                // The task that asked may have been cancelled.
                let _ = is_new.send(known.insert(name));
            }
        });
        Self { own: own.into(), started: started.truncated(), warned }
    }

    pub(crate) fn own(&self) -> &str {
        &self.own
    }

    /// Returns whether another session deploys objects at the same time. One that ended before this one began is no concern.
    pub(crate) fn deploys_concurrently(&self, other: &OtherDeployer) -> bool {
        let deployed_meanwhile = other.changed.is_some_and(|changed| changed > self.started);
        deployed_meanwhile || self.runs_on_this_machine(&other.name)
    }

    /// Returns a warning about another session that deploys concurrently, once for each of them.
    pub(crate) async fn warning(&self, object: &ObjectRef, other: &OtherDeployer) -> Option<String> {
        if !self.deploys_concurrently(other) || !self.is_first_warning(&other.name).await {
            return None;
        }
        Some(format!(
            "another lilt session deploys here, too: {}. Where the files of both differ, each replaces \
             what the other deployed ({object} was its last); use a namespace for each session to keep them apart",
            other.name
        ))
    }

    async fn is_first_warning(&self, name: &str) -> bool {
        let (reply, is_new) = oneshot::channel();
        let sent = self.warned.send((name.to_owned(), reply)).await;
        sent.expect("invariant: the task lives as long as its senders");
        is_new.await.expect("invariant: every request is answered")
    }

    /// Returns whether it is a session of this user on this machine that has not ended.
    fn runs_on_this_machine(&self, other: &str) -> bool {
        let (Some((own_machine, _)), Some((machine, pid))) =
            (machine_and_pid(&self.own), machine_and_pid(other))
        else {
            return false;
        };
        machine == own_machine && session_dir::is_running(pid)
    }
}

fn machine_and_pid(deployer: &str) -> Option<(&str, u32)> {
    let (machine, rest) = deployer.split_once(':')?;
    let pid = rest.split(' ').next()?.parse().ok()?;
    Some((machine, pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> (Deployers, JoinSet<()>) {
        let mut services = JoinSet::new();
        let tiltfile = Path::new("/home/ann/shop/Tiltfile");
        (Deployers::start(tiltfile, Timestamp(100_000_000), &mut services), services)
    }

    fn web() -> ObjectRef {
        ObjectRef {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: String::new(),
            name: "web".to_owned(),
        }
    }

    fn elsewhere(changed: i64) -> OtherDeployer {
        OtherDeployer {
            name: "ben@elsewhere:7 /home/ben/shop/Tiltfile".to_owned(),
            changed: Some(Timestamp(changed)),
        }
    }

    #[tokio::test]
    async fn concurrent_session_is_warned_of_once() {
        let (session, _services) = session();
        let warning = session.warning(&web(), &elsewhere(200_000_000)).await.unwrap();
        assert!(warning.contains("ben@elsewhere:7 /home/ben/shop/Tiltfile"), "{warning}");
        assert_eq!(session.clone().warning(&web(), &elsewhere(300_000_000)).await, None);
    }

    #[tokio::test]
    async fn session_that_ended_before_is_not_warned_of() {
        let (session, _services) = session();
        assert_eq!(session.warning(&web(), &elsewhere(50_000_000)).await, None);
    }

    #[tokio::test]
    async fn identity_names_user_host_process_and_tiltfile() {
        let (session, _services) = session();
        let (machine, pid) = machine_and_pid(session.own()).unwrap();
        assert!(machine.contains('@'), "{machine}");
        assert_eq!(pid, std::process::id());
        assert!(session.own().ends_with(" /home/ann/shop/Tiltfile"));
        assert_eq!(machine_and_pid("something else"), None);
    }
}

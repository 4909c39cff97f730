//! Other sessions that deploy the same objects: another checkout of a project, or another machine.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use lilt_cluster::OtherDeployer;
use lilt_host::{environment, session_dir};
use lilt_model::Timestamp;
use lilt_model::kubernetes::ObjectRef;
use tokio::sync::watch;

/// What this session calls itself, and which others the user was warned of. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Deployers {
    /// `user@host:pid path of the Tiltfile`
    own: Arc<str>,
    /// When this session began, in the whole seconds of the API server.
    started: Timestamp,
    /// A watch channel as the latest value: each other session is added once.
    warned_of: Arc<watch::Sender<BTreeSet<String>>>,
}

impl Deployers {
    pub(crate) fn of_session(tiltfile: &Path, started: Timestamp) -> Self {
        let machine = format!("{}@{}", environment::user_name(), environment::host_name());
        let own = format!("{machine}:{} {}", std::process::id(), tiltfile.display());
        let warned_of = Arc::new(watch::Sender::new(BTreeSet::new()));
        Self { own: own.into(), started: started.truncated(), warned_of }
    }

    pub(crate) fn own(&self) -> &str {
        &self.own
    }

    /// Whether another session deployed an object beside this one. It may have ended before this one began, and be no concern.
    pub(crate) fn deploys_concurrently(&self, other: &OtherDeployer) -> bool {
        let deployed_meanwhile = other.changed.is_some_and(|changed| changed > self.started);
        deployed_meanwhile || self.runs_on_this_machine(&other.name)
    }

    /// What to say of another session that deploys beside this one, once for each of them.
    pub(crate) fn warning(&self, object: &ObjectRef, other: &OtherDeployer) -> Option<String> {
        if !self.deploys_concurrently(other) {
            return None;
        }
        let is_new = self.warned_of.send_if_modified(|warned_of| warned_of.insert(other.name.clone()));
        is_new.then(|| {
            format!(
                "another lilt session deploys here, too: {}. Where the files of both differ, each replaces \
                 what the other deployed ({object} was its last); use a namespace for each session to keep them apart",
                other.name
            )
        })
    }

    /// Whether it is a session of this user on this machine that has not ended.
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

    fn session() -> Deployers {
        Deployers::of_session(Path::new("/home/ann/shop/Tiltfile"), Timestamp(100_000_000))
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

    #[test]
    fn session_that_deploys_meanwhile_is_named_once() {
        let session = session();
        let warning = session.warning(&web(), &elsewhere(200_000_000)).unwrap();
        assert!(warning.contains("ben@elsewhere:7 /home/ben/shop/Tiltfile"), "{warning}");
        assert_eq!(session.clone().warning(&web(), &elsewhere(300_000_000)), None);
    }

    #[test]
    fn session_that_deployed_before_this_one_began_is_not_named() {
        assert_eq!(session().warning(&web(), &elsewhere(50_000_000)), None);
    }

    #[test]
    fn identity_names_user_host_process_and_tiltfile() {
        let session = session();
        let (machine, pid) = machine_and_pid(session.own()).unwrap();
        assert!(machine.contains('@'), "{machine}");
        assert_eq!(pid, std::process::id());
        assert!(session.own().ends_with(" /home/ann/shop/Tiltfile"));
        assert_eq!(machine_and_pid("something else"), None);
    }
}

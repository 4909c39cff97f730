//! `lilt doctor`: describes the environment of lilt, for bug reports.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use lilt_client::sessions;
use lilt_daemon::{ClusterFacts, DockerFacts, PluginOutput};
use lilt_host::process::{Guardian, Launch, Process};
use lilt_host::terminal;
use lilt_host::{environment, limits};
use lilt_model::{COMPATIBLE_TILT_VERSION, Failure};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::commands::{analytics, version};
use crate::{arguments, session};

/// Timeouts of the checks.
struct Patience {
    /// Short, so that an unresponsive Docker or cluster does not delay the rest.
    silent: Duration,
    /// Used after output of the login command: the user may be entering a code in a browser.
    login: Duration,
}

const PATIENCE: Patience = Patience { silent: Duration::from_secs(10), login: Duration::from_secs(180) };

/// The recommended inotify limit: watching a large repository exceeds the default of some systems.
const FEW_WATCHES: u64 = 65_536;

/// Print what lilt finds around it: versions, Docker, the cluster, limits. For bug reports
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  lilt doctor\n  lilt doctor --context kind-test\n  lilt doctor --json | jq .Kubernetes"
)]
pub(crate) struct Doctor {
    /// Kubernetes context to use instead of the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(doctor: Doctor) -> anyhow::Result<ExitCode> {
    let printed = watch::Sender::new(());
    let (docker_login, cluster_login) = (printed.subscribe(), printed.subscribe());
    let output = session::plugin_output().with_receiver(move |line| {
        terminal::aside(line);
        printed.send_replace(());
    });
    let (docker, compose, cluster) = tokio::join!(
        // The login command runs once for both checks, so its output is printed once.
        PATIENCE.wait_for(
            "Docker",
            docker_login,
            lilt_daemon::examine_docker(doctor.context.clone(), PluginOutput::default())
        ),
        compose_version(),
        PATIENCE.wait_for("the cluster", cluster_login, lilt_daemon::examine_cluster(doctor.context, output)),
    );
    let sections = [
        docker_section(docker, compose),
        cluster_section(cluster),
        machine_section(),
        sessions_section(),
        Section { title: "Analytics Settings", fields: vec![("User Mode", Ok(analytics::status()))] },
    ];
    if doctor.json {
        terminal::line(&serde_json::to_string_pretty(&as_json(&sections))?);
    } else {
        terminal::print(&as_text(&sections));
    }
    Ok(ExitCode::SUCCESS)
}

impl Patience {
    /// Waits for a check. `login` reports each line of the login command.
    async fn wait_for<T>(
        &self,
        what: &str,
        mut login: watch::Receiver<()>,
        asking: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::pin!(asking);
        let mut patience = self.silent;
        loop {
            let answer = async {
                tokio::select! {
                    answer = &mut asking => Some(answer),
                    Ok(()) = login.changed() => None,
                }
            };
            match tokio::time::timeout(patience, answer).await {
                Ok(Some(answer)) => return answer,
                Ok(None) => patience = self.login,
                Err(_) => {
                    let words = format!("{what} gave no answer within {} seconds", patience.as_secs());
                    return Err(Failure::environment(words));
                }
            }
        }
    }
}

/// The facts about one subject, or the error.
struct Section {
    title: &'static str,
    fields: Vec<(&'static str, Result<String, Failure>)>,
}

fn system() -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}-{arch}", std::env::consts::OS)
}

fn as_text(sections: &[Section]) -> String {
    let mut text = format!("Tilt: {}\nSystem: {}\n", version::text(), system());
    for section in sections {
        text.push_str(&format!("---\n{}\n", section.title));
        for (name, value) in &section.fields {
            text.push_str(&match value {
                Ok(value) => format!("- {name}: {value}\n"),
                // Details and hints are indented below the cause.
                Err(failure) => format!("- {name}: Error: {}\n", failure.to_string().replace('\n', "\n    ")),
            });
        }
    }
    text
}

fn as_json(sections: &[Section]) -> Value {
    let mut all = Map::new();
    all.insert("lilt".into(), arguments::version().into());
    all.insert("tilt".into(), COMPATIBLE_TILT_VERSION.into());
    all.insert("system".into(), system().into());
    for section in sections {
        let fields = section.fields.iter().map(|(name, value)| {
            let value = match value {
                Ok(value) => json!(value),
                Err(failure) => json!({"error": failure}),
            };
            ((*name).to_owned(), value)
        });
        all.insert(section.title.to_owned(), Value::Object(fields.collect()));
    }
    Value::Object(all)
}

fn docker_section(facts: Result<DockerFacts, Failure>, compose: Option<String>) -> Section {
    let mut fields = match facts {
        Err(failure) => vec![("Host", Err(failure))],
        Ok(facts) => {
            let mut fields = vec![("Host", Ok(facts.address))];
            match facts.version {
                Err(failure) => fields.push(("Server Version", Err(failure))),
                Ok(info) => fields.extend([
                    ("Server Version", Ok(info.version)),
                    ("API Version", Ok(info.api_version)),
                    ("Platform", Ok(format!("{}/{}", info.os, info.arch))),
                    ("Image Store", Ok(format!("{:?}", info.image_store).to_lowercase())),
                ]),
            }
            if let Ok(buildkit) = facts.buildkit {
                fields
                    .push(("Builder", Ok(if buildkit { "2 (BuildKit)" } else { "1 (classic)" }.to_owned())));
            }
            fields
        }
    };
    fields.extend(compose.map(|version| ("Compose Version", Ok(version))));
    Section { title: "Docker", fields }
}

fn cluster_section(facts: Result<ClusterFacts, Failure>) -> Section {
    let fields = match facts {
        Err(failure) => vec![("Context", Err(failure))],
        Ok(facts) => {
            let mut fields = vec![
                ("Env", Ok(facts.product.name().to_owned())),
                ("Context", Ok(facts.context)),
                ("Server", Ok(facts.server)),
                ("Namespace", Ok(facts.namespace)),
            ];
            match facts.info {
                Err(failure) => fields.push(("Version", Err(failure))),
                Ok(info) => {
                    let none = || "none".to_owned();
                    let registry =
                        info.registry.map_or_else(none, |registry| match registry.host_from_cluster {
                            Some(inside) => format!("{} ({inside} from the cluster)", registry.host),
                            None => registry.host,
                        });
                    let runtime = facts.container_runtime.unwrap_or_else(|| "unknown".to_owned());
                    fields.extend([
                        ("Container Runtime", Ok(runtime)),
                        ("Version", Ok(info.server_version)),
                        ("Cluster Local Registry", Ok(registry)),
                    ]);
                }
            }
            fields
        }
    };
    Section { title: "Kubernetes", fields }
}

fn machine_section() -> Section {
    let mut fields = Vec::new();
    if let Some(limits) = limits::inotify() {
        let note = if limits.watches < FEW_WATCHES {
            "; few: sudo sysctl fs.inotify.max_user_watches=524288"
        } else {
            ""
        };
        fields.push(("Inotify Watches", Ok(format!("{}{note}", limits.watches))));
        fields.push(("Inotify Instances", Ok(limits.instances.to_string())));
        fields.push(("Inotify Queue", Ok(limits.queued_events.to_string())));
    }
    for program in ["docker", "kubectl", "helm", "kustomize", "git"] {
        let found = environment::find_program(program).map(|path| path.display().to_string());
        fields.push((program, Ok(found.unwrap_or_else(|| "not found".to_owned()))));
    }
    Section { title: "Machine", fields }
}

fn sessions_section() -> Section {
    let running = sessions::running().iter().map(|running| ("Running", Ok(running.describe()))).collect();
    Section { title: "Sessions", fields: running }
}

/// None if there is no Compose.
async fn compose_version() -> Option<String> {
    let launch = Launch {
        argv: ["docker", "compose", "version", "--short"].map(str::to_owned).to_vec(),
        dir: "/".into(),
        env: Vec::new(),
        unset: Vec::new(),
    };
    // It prints one line.
    let (sender, mut output) = tokio::sync::mpsc::unbounded_channel();
    let guardian = Guardian::of_this_program().ok()?;
    let started = Process::spawn(&guardian, &launch, move |bytes| {
        let _ = sender.send(bytes.to_vec());
    });
    let mut process = started.await.ok()?;
    let exit = tokio::time::timeout(PATIENCE.silent, process.wait()).await.ok()?;
    let mut text = Vec::new();
    while let Ok(piece) = output.try_recv() {
        text.extend(piece);
    }
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    (exit.success() && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Patience = Patience { silent: Duration::ZERO, login: Duration::from_secs(3600) };

    #[tokio::test]
    async fn cluster_check_waits_for_interactive_login() {
        let printed = watch::Sender::new(());
        let login = printed.subscribe();
        printed.send_replace(());
        let (answer, asking) = tokio::sync::oneshot::channel();
        let asking = async { asking.await.map_err(|_| Failure::internal("no answer")) };
        let later = async {
            tokio::task::yield_now().await;
            answer.send("facts").unwrap();
        };
        let (found, ()) = tokio::join!(SHORT.wait_for("the cluster", login, asking), later);
        assert_eq!(found, Ok("facts"));
    }

    #[tokio::test]
    async fn cluster_check_times_out_without_response() {
        let printed = watch::Sender::new(());
        let asking = std::future::pending::<Result<(), Failure>>();
        let failure = SHORT.wait_for("the cluster", printed.subscribe(), asking).await.unwrap_err();
        assert_eq!(failure.message, "the cluster gave no answer within 0 seconds");
    }
}

//! `lilt enable` and `lilt disable`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Args;
use lilt_api::UIResource;
use lilt_client::{Connect, sessions};
use lilt_host::terminal;
use lilt_model::request::Request;
use lilt_model::{Failure, ResourceName};

/// Switch resources on
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  lilt enable web api           switch web and api on\n  lilt enable --only web api    and all others off\n  lilt enable -l backend        what has the label backend\n  lilt enable --all             everything"
)]
pub(crate) struct Enable {
    /// The resources to switch on
    #[arg(value_name = "RESOURCE")]
    resources: Vec<String>,
    /// All resources
    #[arg(long)]
    all: bool,
    /// Switch all others off
    #[arg(long)]
    only: bool,
    /// All resources with one of these labels
    #[arg(short, long, value_name = "LABEL", value_delimiter = ',')]
    labels: Vec<String>,
    #[command(flatten)]
    connect: Connect,
}

/// Switch resources off: what they have deployed or started goes away
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  lilt disable web api          switch web and api off\n  lilt disable -l backend       what has the label backend\n  lilt disable --all            everything"
)]
pub(crate) struct Disable {
    /// The resources to switch off
    #[arg(value_name = "RESOURCE")]
    resources: Vec<String>,
    /// All resources
    #[arg(long)]
    all: bool,
    /// All resources with one of these labels
    #[arg(short, long, value_name = "LABEL", value_delimiter = ',')]
    labels: Vec<String>,
    #[command(flatten)]
    connect: Connect,
}

pub(crate) async fn enable(enable: Enable) -> anyhow::Result<ExitCode> {
    if enable.all && enable.only {
        return Err(Failure::user("cannot use --all with --only").into());
    }
    let selection = Selection { names: enable.resources, labels: enable.labels, all: enable.all };
    switch(&enable.connect, &selection, |meant, others| Request::Switch {
        enable: meant,
        disable: if enable.only { others } else { Vec::new() },
    })
    .await
}

pub(crate) async fn disable(disable: Disable) -> anyhow::Result<ExitCode> {
    let selection = Selection { names: disable.resources, labels: disable.labels, all: disable.all };
    switch(&disable.connect, &selection, |meant, _| Request::Switch { enable: Vec::new(), disable: meant })
        .await
}

async fn switch(
    connect: &Connect,
    selection: &Selection,
    request: impl FnOnce(Vec<ResourceName>, Vec<ResourceName>) -> Request,
) -> anyhow::Result<ExitCode> {
    selection.check()?;
    let client = sessions::choose(connect)?;
    let resources: Vec<UIResource> = client.get_json("/api/resources").await?;
    let (meant, others) = selection.split(&resources)?;
    let request = request(meant, others);
    client.post_json("/api/request", &request).await?;
    // Not printed for scripts.
    if terminal::is_terminal()
        && let Request::Switch { enable, disable } = &request
    {
        report_switched("Enabled", enable);
        report_switched("Disabled", disable);
    }
    Ok(ExitCode::SUCCESS)
}

fn report_switched(what: &str, names: &[ResourceName]) {
    if !names.is_empty() {
        let names: Vec<&str> = names.iter().map(ResourceName::as_str).collect();
        terminal::line(&format!("{what}: {}", names.join(", ")));
    }
}

struct Selection {
    names: Vec<String>,
    labels: Vec<String>,
    all: bool,
}

impl Selection {
    fn check(&self) -> Result<(), Failure> {
        match (self.all, self.names.is_empty(), self.labels.is_empty()) {
            (true, false, _) => Err(Failure::user("cannot use --all with resource names")),
            (false, true, true) => Err(Failure::user("must specify at least one resource")
                .hint("name resources, or use --all or --labels")),
            _ => Ok(()),
        }
    }

    /// Returns the selected resources, and the others.
    fn split(&self, resources: &[UIResource]) -> Result<(Vec<ResourceName>, Vec<ResourceName>), Failure> {
        let known: BTreeSet<&str> = resources.iter().map(|it| it.metadata.name.as_str()).collect();
        if let Some(unknown) = self.names.iter().find(|name| !known.contains(name.as_str())) {
            return Err(Failure::user(format!("no such resource {unknown:?}")));
        }
        let has = |resource: &UIResource, label: &String| resource.metadata.labels.contains_key(label);
        let unused = |label: &&String| !resources.iter().any(|resource| has(resource, label));
        if let Some(label) = self.labels.iter().find(unused) {
            return Err(Failure::user(format!("no resource has the label {label:?}")));
        }
        let is_meant = |resource: &UIResource| {
            let named = self.names.contains(&resource.metadata.name);
            named || self.all || self.labels.iter().any(|label| has(resource, label))
        };
        let named_or_switchable = resources.iter().filter(|resource| {
            // Passed on, so that the session reports that the Tiltfile is always enabled.
            let is_tiltfile = ResourceName::new(&resource.metadata.name).is_tiltfile();
            !is_tiltfile || self.names.contains(&resource.metadata.name)
        });
        let (meant, others): (Vec<&UIResource>, Vec<&UIResource>) =
            named_or_switchable.partition(|resource| is_meant(resource));
        let names =
            |list: Vec<&UIResource>| list.iter().map(|it| ResourceName::new(&it.metadata.name)).collect();
        Ok((names(meant), names(others)))
    }
}

//! `lilt plan`: what `up` or `down` would do, without doing it.

mod images;
mod removal;

use std::collections::BTreeMap;
use std::sync::Arc;

use lilt_cluster::{Cluster, FieldChange, Preview};
use lilt_docker::Engine;
use lilt_host::process::Guardian;
use lilt_model::kubernetes::{KubernetesResource, ObjectRef};
use lilt_model::project::Project;
use lilt_model::resource::{Body, Resource};
use lilt_model::settings::ServerSideApply;
use lilt_model::{ClusterName, Failure, ImageName, ResourceName};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::down::{self, DeletionTargets, DownOptions};
use crate::examine;
use crate::runner::{Connected, connect, in_pods, injections};
use crate::settings::Settings;
use images::{ImagePlanner, PlannedImages};
use removal::removals;
pub use removal::{DeployedResource, Removal};

/// The tag of images that are not built yet.
const TO_BE_BUILT: &str = "to-be-built";
/// A field that changes with the image. The change of the image is shown instead.
const TEMPLATE_HASH: &str = "labels.tilt.dev/pod-template-hash";

/// What `up` would do with each resource, in the order of the Tiltfile.
#[derive(Debug, Default)]
pub struct DryRun {
    pub resources: Vec<ResourceDryRun>,
    /// What a running session would delete as soon as it loads the Tiltfile.
    pub removals: Vec<Removal>,
}

#[derive(Debug, Default)]
pub struct ResourceDryRun {
    pub name: ResourceName,
    /// The cluster that it is deployed to.
    pub cluster: ClusterName,
    /// Images that would be built.
    pub builds: Vec<ImageName>,
    /// Commands that would be run.
    pub runs: Vec<String>,
    pub objects: Vec<(ObjectRef, Preview)>,
}

/// Finds out what `down` would do.
#[derive(Debug, Default)]
pub struct DownDryRun {
    /// The objects, and whether each exists.
    pub objects: Vec<(ObjectRef, bool)>,
    pub runs: Vec<String>,
}

/// Finds out what `up` would do, and what a running session that has deployed `deployed` would delete.
///
/// `print` gets what the Tiltfile prints.
pub async fn dry_run(
    settings: Settings,
    deployed: Vec<DeployedResource>,
    cancel: CancellationToken,
    mut print: impl FnMut(&str),
) -> Result<DryRun, Failure> {
    let settings = Arc::new(settings);
    let guardian = Guardian::of_this_program()?;
    let project = down::load(Arc::clone(&settings), &guardian, &cancel, &mut print).await;
    let work = async { preview(&settings, &guardian, project?, deployed).await };
    let result = tokio::select! {
        result = work => result,
        () = cancel.cancelled() => Err(interrupted()),
    };
    guardian.close().await;
    result
}

/// Finds out what `down` would do.
pub async fn dry_run_down(
    settings: Settings,
    cancel: CancellationToken,
    mut print: impl FnMut(&str),
) -> Result<DownDryRun, Failure> {
    let settings = Arc::new(settings);
    let guardian = Guardian::of_this_program()?;
    let project = down::load(Arc::clone(&settings), &guardian, &cancel, &mut print).await;
    guardian.close().await;
    let targets = DeletionTargets::of(project?);
    let mut runs: Vec<String> = targets.commands.iter().map(|(_, command)| command.display()).collect();
    runs.extend(targets.compose.iter().map(|_| "docker compose down".to_owned()));
    let mut objects = Vec::new();
    for (name, targets) in targets.objects {
        let targets = down::without_kept(targets, DownOptions::default(), &mut print);
        if targets.is_empty() {
            continue;
        }
        let query = async {
            let cluster = Cluster::connect(settings.connection(&name)).await?;
            Ok::<_, Failure>((cluster.kept(&targets).await?, cluster.exist(&targets).await?))
        };
        let (kept, found) = tokio::select! {
            found = query => found?,
            () = cancel.cancelled() => return Err(interrupted()),
        };
        kept.iter().for_each(|kept| print(&format!("{kept}\n")));
        objects.extend(
            found.into_iter().filter(|(object, _)| !kept.iter().any(|kept| object.means(&kept.object))),
        );
    }
    Ok(DownDryRun { objects, runs })
}

fn interrupted() -> Failure {
    Failure::user("interrupted; nothing was changed")
}

async fn preview(
    settings: &Settings,
    guardian: &Guardian,
    mut project: Project,
    deployed: Vec<DeployedResource>,
) -> Result<DryRun, Failure> {
    let all = std::mem::take(&mut project.resources);
    let removals = without_kept(settings, removals(deployed, &all)).await?;
    let enabled: Vec<Resource> =
        all.into_iter().filter(|resource| project.is_enabled(&resource.name)).collect();
    let clusters = Clusters::of(settings, guardian, &enabled).await?;
    let mut dry_run = DryRun { removals, ..DryRun::default() };
    for resource in enabled {
        let mut one = ResourceDryRun { name: resource.name, ..ResourceDryRun::default() };
        match &resource.body {
            Body::Kubernetes(kubernetes) => {
                let images = clusters.images(settings, &project, kubernetes).await;
                one.runs = kubernetes.custom_deploy.iter().map(|custom| custom.apply.display()).collect();
                one.cluster.clone_from(&kubernetes.cluster);
                if kubernetes.custom_deploy.is_none() {
                    let objects = prepare_objects(kubernetes, &images)?;
                    let merge = project.settings.server_side_apply;
                    one.objects = clusters.preview(&kubernetes.cluster, &objects, merge).await?;
                    one.objects.iter_mut().for_each(|(_, preview)| mask_built_images(preview));
                }
                one.builds = images.built;
            }
            Body::Local(local) => {
                let commands = local.update.iter().chain(&local.serve);
                one.runs = commands.map(|command| command.display()).collect();
            }
            Body::Compose(compose) => {
                one.builds = compose.images.iter().map(|image| image.name.clone()).collect();
                one.runs = vec!["docker compose up".to_owned()];
            }
        }
        dry_run.resources.push(one);
    }
    Ok(dry_run)
}

/// Removes the objects that a deletion would keep.
async fn without_kept(settings: &Settings, mut removals: Vec<Removal>) -> Result<Vec<Removal>, Failure> {
    for one in removals.iter_mut().filter(|one| !one.create_once.is_empty()) {
        let cluster = Cluster::connect(settings.connection(&one.cluster_name())).await?;
        one.remove_kept(&cluster).await?;
    }
    removals.retain(|one| !one.is_empty());
    Ok(removals)
}

/// The clusters of a project, each with all objects that are applied to it.
///
/// Namespaces and custom resource definitions may come from other resources.
struct Clusters {
    connected: BTreeMap<ClusterName, (Result<Connected, Failure>, Vec<Value>)>,
    /// The Docker engine of this machine.
    docker: Option<Arc<Engine>>,
}

impl Clusters {
    /// Connects to all clusters. Fails if the session's own is unreachable; failures of others are shown with their resources.
    async fn of(settings: &Settings, guardian: &Guardian, resources: &[Resource]) -> Result<Self, Failure> {
        let docker = examine::engine().ok().map(Arc::new);
        let mut everything: BTreeMap<ClusterName, Vec<Value>> = BTreeMap::new();
        for resource in resources {
            if let Body::Kubernetes(spec) = &resource.body {
                let objects = everything.entry(spec.cluster.clone()).or_default();
                objects.extend_from_slice(objects_of(resource));
            }
        }
        let mut connected = BTreeMap::new();
        for (name, objects) in everything {
            let cluster = connect(settings, guardian, docker.as_deref(), &name).await;
            // Resources that are deployed by commands alone do not need the connection.
            let is_needed = name.is_session() && !objects.is_empty();
            connected.insert(name, (if is_needed { Ok(cluster?) } else { cluster }, objects));
        }
        Ok(Self { connected, docker })
    }

    async fn images(
        &self,
        settings: &Settings,
        project: &Project,
        kubernetes: &KubernetesResource,
    ) -> PlannedImages {
        let Some((Ok((connection, info, _)), _)) = self.connected.get(&kubernetes.cluster) else {
            let built = kubernetes.images.iter().filter(|image| image.is_built());
            let built = built.map(|image| image.name.clone()).collect();
            return PlannedImages { built, ..PlannedImages::default() };
        };
        let inside = connection.engine.as_ref().map(|inside| Arc::clone(&inside.engine));
        let planner = ImagePlanner {
            engine: inside.or_else(|| self.docker.clone()),
            info,
            default_registry: project.settings.default_registry.as_ref(),
            folder: settings.folder(),
        };
        planner.images(kubernetes).await
    }

    async fn preview(
        &self,
        name: &ClusterName,
        objects: &[Value],
        merge: ServerSideApply,
    ) -> Result<Vec<(ObjectRef, Preview)>, Failure> {
        let failure = match self.connected.get(name) {
            None => return Ok(Vec::new()),
            Some((Ok((connection, ..)), everything)) => {
                match connection.cluster.preview_among(objects, everything, merge).await {
                    Err(failure) if !name.is_session() => failure,
                    result => return result,
                }
            }
            Some((Err(failure), _)) => failure.clone(),
        };
        let refused = |object| (object, Preview::Refused(failure.clone()));
        Ok(objects.iter().filter_map(ObjectRef::of).map(refused).collect())
    }
}

fn objects_of(resource: &Resource) -> &[Value] {
    match &resource.body {
        Body::Kubernetes(kubernetes) if kubernetes.custom_deploy.is_none() => &kubernetes.objects,
        _ => &[],
    }
}

fn prepare_objects(kubernetes: &KubernetesResource, images: &PlannedImages) -> Result<Vec<Value>, Failure> {
    let to_be_built = |name: &ImageName| {
        let bare = name.as_str().rsplit_once(':').filter(|(_, tag)| !tag.contains('/'));
        let bare = bare.map_or(name.as_str(), |(bare, _)| bare);
        (name.clone(), format!("{bare}:{TO_BE_BUILT}"))
    };
    let references = images.known.iter().cloned().chain(images.built.iter().map(to_be_built));
    let references = in_pods(kubernetes, references.collect());
    let images = injections(kubernetes, &references);
    lilt_cluster::inject::prepare(&kubernetes.objects, &images, &kubernetes.image_locators)
}

/// Replaces placeholder tags: the tag of an image is known only when it is built.
fn mask_built_images(preview: &mut Preview) {
    let Preview::Change(changes) = preview else { return };
    let is_built = |change: &FieldChange| {
        let after = change.after.as_ref().and_then(Value::as_str);
        after.is_some_and(|image| image.ends_with(&format!(":{TO_BE_BUILT}")))
    };
    for change in changes.iter_mut().filter(|change| is_built(change)) {
        change.after = Some("(what is built)".into());
    }
    changes.retain(|change| !change.path.ends_with(TEMPLATE_HASH));
    if changes.is_empty() {
        *preview = Preview::Unchanged;
    }
}

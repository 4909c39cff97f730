//! Adds lilt's agent to pods whose containers cannot receive live updates without it.

mod facts;

use lilt_agent_image::AgentImage;
use lilt_cluster::inject::agent::{self, AgentNote, AgentOffer};
use lilt_docker::Engine;
use lilt_docker::image_reader::ImageConfiguration;
use lilt_engine::DeployJob;
use lilt_model::cluster::Delivery;
use lilt_model::image::{CustomOutput, ImageBuild, ImageTarget, LiveUpdate};
use lilt_model::reference::Reference;
use lilt_model::registry::{reference_in_cluster, reference_in_registry};
use lilt_model::{Failure, ImageName, Timestamp, Unreachable};
use serde_json::Value;

use super::image::{self, Built};
use super::steps::Steps;
use super::{Deployment, custom, delivery, live_updates};
use crate::context::Context;

/// Containers for reading an image count as abandoned after this time; reading takes seconds.
const ABANDONED_MICROSECONDS: i64 = 10 * 60 * 1_000_000;

/// An image whose containers may need the agent.
struct Candidate {
    image: ImageName,
    offer: AgentOffer,
    /// The reference of the agent's image in the local engine.
    local: String,
    archive: Vec<u8>,
}

/// Adds the agent to the objects where needed, and delivers its image to the cluster.
pub(super) async fn add(
    context: &Context,
    deployment: &Deployment<'_>,
    job: &DeployJob,
    references: &[(ImageName, String)],
    objects: &mut [Value],
    steps: &mut Steps,
) -> Result<(), Failure> {
    for live_update in job.kubernetes.images.iter().filter_map(live_updates) {
        deployment.file_reader.record_roots(live_update).await;
    }
    if job.kubernetes.without_agent {
        warn_without_agent(job, steps);
        return Ok(());
    }
    let mut candidates = Vec::new();
    for (name, deployed) in references.iter().cloned().chain(unbuilt(job, objects)) {
        let Some(target) = job.kubernetes.image(&name) else { continue };
        if let Some(live_update) = live_updates(target).filter(|it| is_updated(job, it)) {
            let owner = format!("{} {}", deployment.deployers.own(), steps.resource());
            let image = (target, live_update);
            candidates.extend(candidate(context, job, image, &deployed, &owner, steps).await?);
        }
    }
    mark_closed(context, job, &mut candidates, objects).await?;
    let offers: Vec<AgentOffer> = candidates.iter().map(|candidate| candidate.offer.clone()).collect();
    let notes = agent::add(objects, &offers);
    for note in &notes {
        match note {
            AgentNote::Used { container, reason } => steps.detail(&format!(
                "Live updates of the container {container} go through lilt's agent, which is added to its pod: {reason}"
            )),
            AgentNote::Impossible { container, reason } => steps
                .warn(format!("the container {container} cannot take live updates in place: {reason}")),
            AgentNote::ExcludedTarget { container, what, reason } => steps
                .warn(format!("the container {container} cannot take changes of {what} in place: {reason}")),
        }
    }
    warn_unplaced(job, &candidates, &notes, objects, steps);
    for candidate in candidates.into_iter().filter(|candidate| is_used(&candidate.offer, objects)) {
        deliver_agent_image(context, job, candidate, steps).await?;
    }
    Ok(())
}

/// Marks images whose containers have rejected changes in another session.
async fn mark_closed(
    context: &Context,
    job: &DeployJob,
    candidates: &mut [Candidate],
    objects: &[Value],
) -> Result<(), Failure> {
    if candidates.iter().all(|candidate| candidate.offer.is_unwritable) {
        return Ok(());
    }
    let recorded = context.connections.cluster(&job.kubernetes.cluster)?.unwritable_images(objects).await;
    for candidate in candidates {
        candidate.offer.is_unwritable |= recorded.contains(&candidate.offer.name);
    }
    Ok(())
}

/// Returns images that are not built here, with their references in the objects.
fn unbuilt(job: &DeployJob, objects: &[Value]) -> Vec<(ImageName, String)> {
    let mut found = Vec::new();
    for target in job.kubernetes.images.iter().filter(|target| !target.is_built()) {
        for (container, image) in objects.iter().flat_map(containers) {
            let pair = (target.name.clone(), image.to_owned());
            if target.selects(container, image) && !found.contains(&pair) {
                found.push(pair);
            }
        }
    }
    found
}

/// Returns name and image of every container of an object of any kind.
fn containers(value: &Value) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    match value {
        Value::Object(fields) => {
            for container in fields.get("containers").and_then(Value::as_array).into_iter().flatten() {
                found.extend(container["name"].as_str().zip(container["image"].as_str()));
            }
            found.extend(fields.values().flat_map(containers));
        }
        Value::Array(items) => found.extend(items.iter().flat_map(containers)),
        _ => {}
    }
    found
}

/// Returns whether files are copied into containers of the image. In `ci` nobody edits files; only an initial sync is left.
fn is_updated(job: &DeployJob, live_update: &LiveUpdate) -> bool {
    !job.unattended || live_update.initial_sync
}

fn warn_without_agent(job: &DeployJob, steps: &mut Steps) {
    let restarts = |image: &&ImageTarget| live_updates(image).is_some_and(|it| it.restart_process.is_some());
    for image in job.kubernetes.images.iter().filter(restarts) {
        warn_no_restart(image, "live_update_agent=False forbids what it needs", steps);
    }
}

/// Warns that the process of an image cannot be restarted in place.
pub(super) fn warn_no_restart(image: &ImageTarget, why: &str, steps: &mut Steps) {
    let instead =
        if image.is_built() { "changes are built and deployed" } else { "changes are copied and it goes on" };
    steps.warn(format!("the process of {} is not started anew in place, {instead}: {why}", image.name));
}

/// Warns about restarts in pods of custom resources: lilt knows the pod templates of built-in workloads only.
fn warn_unplaced(
    job: &DeployJob,
    candidates: &[Candidate],
    notes: &[AgentNote],
    objects: &[Value],
    steps: &mut Steps,
) {
    let unplaced = |candidate: &&Candidate| is_unplaced(&candidate.offer, notes, objects);
    for candidate in candidates.iter().filter(unplaced) {
        let why = "no workload that lilt knows runs its image, and lilt adds what it needs to no others";
        if let Some(image) = job.kubernetes.image(&candidate.image) {
            warn_no_restart(image, why, steps);
        }
    }
}

/// Returns whether a restart was requested, but no container got the agent, and no note explains it.
fn is_unplaced(offer: &AgentOffer, notes: &[AgentNote], objects: &[Value]) -> bool {
    let has_note = |name: &str| {
        notes.iter().any(|note| matches!(note, AgentNote::Impossible { container, .. } if container == name))
    };
    let mut named = objects.iter().flat_map(containers);
    let noted = named.any(|(name, image)| image == offer.deployed && has_note(name));
    offer.restart.is_some() && !is_used(offer, objects) && !noted
}

/// Inspects an image. Returns none if that fails: its containers get no agent then.
async fn candidate(
    context: &Context,
    job: &DeployJob,
    (target, live_update): (&ImageTarget, &LiveUpdate),
    deployed: &str,
    owner: &str,
    steps: &mut Steps,
) -> Result<Option<Candidate>, Failure> {
    match inspect_image(context, job, (target, live_update), deployed, owner).await {
        Ok(candidate) => Ok(Some(candidate)),
        Err(failure) if is_retried(&failure, target) => Err(failure),
        Err(failure) => {
            if live_update.restart_process.is_some() {
                warn_no_restart(target, &failure.to_string(), steps);
            } else {
                steps.warn(format!(
                    "live updates of {} are made with the programs of its image, if it has them: {failure}",
                    target.name
                ));
            }
            Ok(None)
        }
    }
}

/// Returns whether the deployment has to wait for an unreachable dependency.
///
/// Deploying without the agent would replace the pods again as soon as the dependency is back.
fn is_retried(failure: &Failure, target: &ImageTarget) -> bool {
    match failure.unreachable() {
        Some(Unreachable::Machine) => true,
        // A build would wait for it, too.
        Some(Unreachable::DockerEngine) => is_in_engine(target),
        _ => false,
    }
}

/// Returns whether the image must be in the engine that built it.
fn is_in_engine(target: &ImageTarget) -> bool {
    match &target.build {
        ImageBuild::Docker(_) | ImageBuild::Compose(_) => true,
        ImageBuild::Custom(recipe) => target.is_built() && recipe.output != CustomOutput::Remote,
        ImageBuild::LiveUpdateOnly => false,
    }
}

async fn inspect_image(
    context: &Context,
    job: &DeployJob,
    (target, live_update): (&ImageTarget, &LiveUpdate),
    deployed: &str,
    owner: &str,
) -> Result<Candidate, Failure> {
    let engine = &context.connections.build_engine(&job.kubernetes.cluster)?;
    if job.first {
        let deadline = Timestamp(lilt_host::clock::now().0.saturating_sub(ABANDONED_MICROSECONDS));
        if let Err(failure) = engine.remove_abandoned_readers(deadline).await {
            tracing::debug!(%failure, "containers of earlier sessions may be left");
        }
    }
    let local = match target.is_built() {
        true => image::local_reference(job, &target.name, deployed)?,
        false => custom::seen_from_here(deployed, job.registry.as_ref()),
    };
    let configuration = configuration(engine, &local).await?;
    let (here, there) = agent_references(job, target, &local, deployed)?;
    let name = here.familiar_name();
    let Some(AgentImage { tag, archive }) = lilt_agent_image::image(&configuration.architecture, &name)
    else {
        return Err(Failure::user(format!("lilt has no agent for {}", configuration.architecture)));
    };
    let offer = AgentOffer {
        name: target.name.to_string(),
        deployed: deployed.to_owned(),
        agent_image: there.with_tag(&tag).familiar(),
        agent_program: lilt_agent_image::PROGRAM.to_owned(),
        facts: facts::find(engine, owner, &configuration, live_update).await?,
        restart: live_update.restart_process.clone(),
        is_unwritable: job.closed.contains(&target.name),
    };
    Ok(Candidate { image: target.name.clone(), offer, local: format!("{name}:{tag}"), archive })
}

async fn configuration(engine: &Engine, local: &str) -> Result<ImageConfiguration, Failure> {
    if let Some(configuration) = engine.image_configuration(local).await? {
        return Ok(configuration);
    }
    // A command may have pushed it without leaving it in the engine.
    let unseen = |failure: Failure| {
        let message = format!("lilt cannot look into the image: {}", failure.message);
        Failure { message, ..failure }
    };
    engine.pull(local).await.map_err(unseen)?;
    let missing = || Failure::user("the image is not in the local engine, where lilt could look into it");
    engine.image_configuration(local).await?.ok_or_else(missing)
}

/// Returns the repository of the agent's image, as named by this machine and by the cluster.
///
/// It is the image's own, or one in the registry if there is one: the image itself may have been delivered by a command.
fn agent_references(
    job: &DeployJob,
    target: &ImageTarget,
    local: &str,
    deployed: &str,
) -> Result<(Reference, Reference), Failure> {
    let name = &target.name;
    match job.registry.as_ref() {
        Some(registry) => {
            Ok((reference_in_registry(name, Some(registry))?, reference_in_cluster(name, Some(registry))?))
        }
        // The agent is never pushed to a repository of others.
        None if !target.is_built() && job.delivery == Delivery::Push => {
            Err(Failure::user("there is no registry through which its agent could come to the cluster")
                .hint("name one in the Tiltfile: default_registry('registry.example.com/team')"))
        }
        None => Ok((Reference::parse(local)?, Reference::parse(deployed)?)),
    }
}

fn is_used(offer: &AgentOffer, objects: &[Value]) -> bool {
    let image = Value::from(offer.agent_image.as_str());
    objects.iter().any(|object| mentions(object, &image))
}

fn mentions(value: &Value, image: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.get("image") == Some(image) || fields.values().any(|value| mentions(value, image))
        }
        Value::Array(items) => items.iter().any(|item| mentions(item, image)),
        _ => false,
    }
}

/// Delivers the agent's image like an image of the user.
async fn deliver_agent_image(
    context: &Context,
    job: &DeployJob,
    candidate: Candidate,
    steps: &mut Steps,
) -> Result<(), Failure> {
    let engine = &context.connections.build_engine(&job.kubernetes.cluster)?;
    let known = engine.image_exists(&candidate.local).await?;
    if !known {
        engine.load(candidate.archive).await?;
    }
    let built = Built { local: candidate.local, in_cluster: candidate.offer.agent_image, known };
    delivery::deliver_within_stage(context, job, &built, steps).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use lilt_model::FailureKind;
    use lilt_model::image::RestartProcess;
    use lilt_model::image_facts::ImageFacts;
    use serde_json::json;

    #[test]
    fn shortage_of_this_machine_is_retried_for_every_image() {
        let target = |build: ImageBuild| ImageTarget { build, ..ImageTarget::default() };
        let failure = |kind: FailureKind| Failure::new(kind, "no");
        let elsewhere = target(ImageBuild::LiveUpdateOnly);
        assert!(is_retried(&failure(Unreachable::Machine.into()), &elsewhere));
        assert!(!is_retried(&failure(Unreachable::DockerEngine.into()), &elsewhere));
        assert!(!is_retried(&failure(FailureKind::Environment), &elsewhere));
    }

    #[test]
    fn custom_resource_gets_no_agent_and_a_warning() {
        let restart = Some(RestartProcess::default());
        let offer = AgentOffer {
            name: "web".into(),
            deployed: "web:1".into(),
            agent_image: "web:agent".into(),
            agent_program: "/agent".into(),
            facts: ImageFacts::default(),
            restart,
            is_unwritable: false,
        };
        let container = json!({"name": "main", "image": "web:1"});
        let object = |kind: &str, added: &str| {
            json!({"kind": kind, "spec": {"template": {"spec": {"containers": [container], "initContainers": [
                {"name": "agent", "image": added}]}}}})
        };
        let (own, placed) = (object("Rollout", "other"), object("Deployment", "web:agent"));
        assert_eq!(containers(&own), [("main", "web:1")]);
        assert!(is_unplaced(&offer, &[], std::slice::from_ref(&own)));
        assert!(!is_unplaced(&offer, &[], &[placed]));
        let noted = AgentNote::Impossible { container: "main".into(), reason: "so it is".into() };
        assert!(!is_unplaced(&offer, &[noted], std::slice::from_ref(&own)));
        let without = AgentOffer { restart: None, ..offer };
        assert!(!is_unplaced(&without, &[], &[own]), "it is copied into without the agent");
    }
}

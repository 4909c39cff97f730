//! Brings lilt's agent into pods whose containers cannot take live updates alone.

mod facts;

use lilt_agent_image::AgentImage;
use lilt_cluster::inject::agent::{self, AgentNote, AgentOffer};
use lilt_engine::DeployJob;
use lilt_model::image::{ImageTarget, LiveUpdate};
use lilt_model::log::Level;
use lilt_model::reference::{Reference, reference_in_cluster, reference_in_registry};
use lilt_model::{Failure, ImageName};
use serde_json::Value;

use super::image::{self, Built};
use super::steps::Steps;
use super::{delivery, live_updates};
use crate::context::Context;

/// An image whose containers may need the agent.
struct Candidate {
    offer: AgentOffer,
    /// What the agent's image is called on this machine.
    local: String,
    archive: Vec<u8>,
}

/// Adds the agent to the objects where it is needed, and sees to it that the cluster has its image.
pub(super) async fn bring(
    context: &Context,
    job: &DeployJob,
    references: &[(ImageName, String)],
    objects: &mut [Value],
    steps: &mut Steps,
) -> Result<(), Failure> {
    if job.kubernetes.without_agent {
        tell_what_is_lost(job, steps);
        return Ok(());
    }
    let mut candidates = Vec::new();
    for (name, deployed) in references {
        let Some(target) = job.kubernetes.image(name) else { continue };
        if let Some(live_update) = live_updates(target) {
            candidates.extend(candidate(context, job, (target, live_update), deployed, steps).await?);
        }
    }
    let offers: Vec<AgentOffer> = candidates.iter().map(|candidate| candidate.offer.clone()).collect();
    let notes = agent::add(objects, &offers);
    for note in &notes {
        match note {
            AgentNote::Used { container, reason } => steps.detail(&format!(
                "Live updates of the container {container} go through lilt's agent, which is added to its pod: {reason}"
            )),
            AgentNote::Impossible { container, reason } => steps.span().print(
                Level::Warn,
                &format!("WARNING: the container {container} cannot take live updates in place: {reason}"),
            ),
        }
    }
    for candidate in candidates.into_iter().filter(|candidate| is_used(candidate, objects)) {
        provide(context, job, candidate, steps).await?;
    }
    Ok(())
}

fn tell_what_is_lost(job: &DeployJob, steps: &mut Steps) {
    let restarts = |image: &&ImageTarget| live_updates(image).is_some_and(|it| it.restart_process.is_some());
    for image in job.kubernetes.images.iter().filter(restarts) {
        let words = format!(
            "WARNING: the process of {} is not started anew in place, changes are built and deployed: \
             live_update_agent=False forbids what it needs",
            image.name
        );
        steps.span().print(Level::Warn, &words);
    }
}

async fn candidate(
    context: &Context,
    job: &DeployJob,
    (target, live_update): (&ImageTarget, &LiveUpdate),
    deployed: &str,
    steps: &mut Steps,
) -> Result<Option<Candidate>, Failure> {
    let engine = &image::engine(context, &job.kubernetes.cluster)?;
    let local = image::local_reference(job, &target.name, deployed)?;
    let mut unknown = |why: &str| {
        if live_update.restart_process.is_some() {
            let words = format!(
                "WARNING: the process of {} is not started anew in place, changes are built and deployed: {why}",
                target.name
            );
            steps.span().print(Level::Warn, &words);
        }
    };
    let configuration = match engine.image_configuration(&local).await? {
        Some(configuration) => Some(configuration),
        // A command of the user's may have left it in the registry alone.
        None => match engine.pull(&local).await {
            Ok(()) => engine.image_configuration(&local).await?,
            Err(failure) => {
                unknown(&format!("lilt cannot look into the image: {failure}"));
                return Ok(None);
            }
        },
    };
    let Some(configuration) = configuration else {
        unknown("the image is not in the local engine, where lilt could look into it");
        return Ok(None);
    };
    let (here, there) = home(job, &target.name, &local, deployed)?;
    let name = here.familiar_name();
    let Some(AgentImage { tag, archive }) = lilt_agent_image::image(&configuration.architecture, &name)
    else {
        unknown(&format!("lilt has no agent for {}", configuration.architecture));
        return Ok(None);
    };
    let whose = format!("{}:{}", context.settings.tiltfile.display(), steps.resource());
    let offer = AgentOffer {
        deployed: deployed.to_owned(),
        agent_image: there.with_tag(&tag).familiar(),
        agent_program: lilt_agent_image::PROGRAM.to_owned(),
        facts: facts::find(engine, &whose, &configuration, live_update).await?,
        restart: live_update.restart_process.clone(),
    };
    Ok(Some(Candidate { offer, local: format!("{name}:{tag}"), archive }))
}

/// Where the agent for an image lies, as this machine and as the cluster name it: beside the image, or in the registry if
/// there is one, for the image itself may have come to the cluster by a way that only a command of the user's knows.
fn home(
    job: &DeployJob,
    name: &ImageName,
    local: &str,
    deployed: &str,
) -> Result<(Reference, Reference), Failure> {
    match job.registry.as_ref() {
        Some(registry) => {
            Ok((reference_in_registry(name, Some(registry))?, reference_in_cluster(name, Some(registry))?))
        }
        None => Ok((Reference::parse(local)?, Reference::parse(deployed)?)),
    }
}

fn is_used(candidate: &Candidate, objects: &[Value]) -> bool {
    let image = Value::from(candidate.offer.agent_image.as_str());
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

/// The agent's image goes the way of the user's.
async fn provide(
    context: &Context,
    job: &DeployJob,
    candidate: Candidate,
    steps: &mut Steps,
) -> Result<(), Failure> {
    let engine = &image::engine(context, &job.kubernetes.cluster)?;
    let known = engine.image_exists(&candidate.local).await?;
    if !known {
        engine.load(candidate.archive).await?;
    }
    let built = Built { local: candidate.local, in_cluster: candidate.offer.agent_image, known };
    delivery::bring(context, job, &built, steps).await
}

//! Chooses what an update does with each image: reuse its own, reuse one built by another update of the
//! session, or build.
//!
//! Several resources may run one image. It is built once: the others wait for that update and use the built
//! image if it contains all their changes.

use std::collections::BTreeMap;

use lilt_model::image::ImageTarget;
use lilt_model::kubernetes::KubernetesResource;
use lilt_model::resource::Body;
use lilt_model::{ImageName, ResourceName};

use crate::hold::Hold;
use crate::state::{
    BuiltImage, Destination, ImageState, KubernetesState, ResourceState, RunningUpdate, State, UpdateKind,
};
use crate::task::{ImageJob, UpdateJob};

/// Returns what a deployment does with each image, in build order. Changes up to `snapshot` count.
pub(super) fn image_jobs(
    spec: &KubernetesResource,
    state: &KubernetesState,
    destination: &Destination,
    snapshot: u64,
    forced: bool,
) -> Vec<ImageJob> {
    let mut chosen = Chosen::default();
    let mut jobs = Vec::new();
    for image in spec.images.iter().filter(|image| image.is_built()) {
        let known = state.images.get(&image.name);
        let reference = known.filter(|_| !forced).and_then(|known| {
            // It is newer than the resource's own image, or it would have been forgotten.
            let elsewhere = known.elsewhere.as_ref().filter(|it| chosen.fits(image, known, it, destination));
            let own = || known.reference.as_ref().filter(|_| chosen.has_own(image, known, snapshot));
            elsewhere.map(|built| &built.reference).or_else(own)
        });
        chosen.note(image, known, reference);
        jobs.push(match reference {
            Some(reference) => ImageJob::Reuse { name: image.name.clone(), reference: reference.clone() },
            None => ImageJob::Build(Box::new(image.clone())),
        });
    }
    jobs
}

/// The decisions for the images earlier in the build order.
#[derive(Default)]
struct Chosen<'a> {
    /// The reference to reuse; none: the image is built.
    references: BTreeMap<&'a ImageName, Option<&'a String>>,
    /// The images whose reference changes.
    renewed: Vec<&'a ImageName>,
}

impl<'a> Chosen<'a> {
    fn note(&mut self, image: &'a ImageTarget, known: Option<&ImageState>, reference: Option<&'a String>) {
        self.references.insert(&image.name, reference);
        if reference.is_none() || known.and_then(|known| known.reference.as_ref()) != reference {
            self.renewed.push(&image.name);
        }
    }

    /// Returns whether the resource's own image is up to date.
    fn has_own(&self, image: &ImageTarget, known: &ImageState, snapshot: u64) -> bool {
        let changed = known.changes.values().any(|at| *at <= snapshot);
        !known.stale && !changed && !image.depends_on.iter().any(|base| self.renewed.contains(&base))
    }

    /// Returns whether an image built by another update contains all changes, has the same base images, and
    /// was delivered where it is needed.
    fn fits(
        &self,
        image: &ImageTarget,
        known: &ImageState,
        built: &BuiltImage,
        destination: &Destination,
    ) -> bool {
        let same_base = |base: &ImageName| {
            let on = built.bases.iter().find(|(name, _)| name == base).map(|(_, reference)| reference);
            on == self.references.get(base).copied().flatten()
        };
        known.newest_change() <= built.snapshot
            && image.depends_on.iter().all(same_base)
            && built.destination == *destination
    }
}

/// Returns the image that another resource is building and that this one would build, too.
pub(super) fn built_elsewhere(state: &State, resource: &ResourceState) -> Option<Hold> {
    let (Body::Kubernetes(spec), Some(kubernetes)) = (&resource.spec.body, resource.kubernetes()) else {
        return None;
    };
    if !spec.images.iter().any(|image| state.sharing.contains_key(&image.name)) {
        return None;
    }
    let destination = state.destination(&spec.cluster);
    let jobs = image_jobs(spec, kubernetes, &destination, state.sequence, resource.forces_full_update());
    let wanted = jobs.iter().filter_map(|job| match job {
        ImageJob::Build(image) => Some(&**image),
        ImageJob::Reuse { .. } => None,
    });
    wanted.flat_map(|image| sharers(state, &image.name).map(move |other| (image, other))).find_map(
        |(image, other)| {
            let update = state.resources.get(other)?.update.as_ref()?;
            let hold = || Hold::Image { image: image.name.clone(), resource: other.clone() };
            (state.cluster_of(other) == spec.cluster && builds(update, image)).then(hold)
        },
    )
}

/// Returns whether a running update still has to build this image.
fn builds(update: &RunningUpdate, image: &ImageTarget) -> bool {
    let UpdateKind::Job(job) = &update.kind else { return false };
    let UpdateJob::Deploy(job) = &**job else { return false };
    let is_it = |job: &ImageJob| matches!(job, ImageJob::Build(other) if is_same(other, image));
    !update.built.contains_key(&image.name) && job.images.iter().any(is_it)
}

/// Returns whether two targets build the same image.
pub(crate) fn is_same(one: &ImageTarget, other: &ImageTarget) -> bool {
    one.name == other.name && one.build == other.build && one.depends_on == other.depends_on
}

/// Returns the resources that share an image.
pub(crate) fn sharers<'a>(state: &'a State, image: &ImageName) -> impl Iterator<Item = &'a ResourceName> {
    state.sharing.get(image).into_iter().flatten()
}

/// Returns its images that pods of any resource run: a shared image must be delivered for all resources.
pub(crate) fn delivered(state: &State, spec: &KubernetesResource) -> Vec<ImageName> {
    let deploys = |name: &ResourceName, image: &ImageName| {
        let resource = state.resources.get(name).map(|resource| &resource.spec.body);
        let there =
            |other: &KubernetesResource| other.cluster == spec.cluster && other.image_deps.contains(image);
        matches!(resource, Some(Body::Kubernetes(other)) if there(other))
    };
    let is_needed = |image: &&ImageName| {
        spec.image_deps.contains(image) || sharers(state, image).any(|other| deploys(other, image))
    };
    spec.images.iter().map(|image| &image.name).filter(is_needed).cloned().collect()
}

/// Returns the resources that wait for an image of this one, which was built or no longer will be.
pub(super) fn waiting_for(state: &State, name: &ResourceName) -> Vec<ResourceName> {
    let waits =
        |other: &ResourceState| matches!(&other.hold, Some(Hold::Image { resource, .. }) if resource == name);
    sharing_with(state, name, waits)
}

/// Returns the queued resources that would build the same image as this one, which has just started.
pub(super) fn in_queue_with(state: &State, name: &ResourceName) -> Vec<ResourceName> {
    sharing_with(state, name, |other| other.queued.is_some())
}

fn sharing_with(
    state: &State,
    name: &ResourceName,
    choose: impl Fn(&ResourceState) -> bool,
) -> Vec<ResourceName> {
    let Some(Body::Kubernetes(spec)) = state.resources.get(name).map(|resource| &resource.spec.body) else {
        return Vec::new();
    };
    let others = spec.images.iter().flat_map(|image| sharers(state, &image.name));
    let chosen = |other: &&ResourceName| *other != name && state.resources.get(*other).is_some_and(&choose);
    others.filter(chosen).cloned().collect()
}

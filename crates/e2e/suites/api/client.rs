//! A session, and a client of its API.

use std::path::PathBuf;

use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use lilt_api::kinds::Kind;
use lilt_e2e::lilt::{Lilt, Start};
use lilt_testbed_env::Project;
use serde_json::Value;

pub(crate) struct Session {
    pub(crate) lilt: Lilt,
    pub(crate) project: Project,
    config: PathBuf,
}

impl Session {
    pub(crate) fn start(files: &[(&str, &str)]) -> Session {
        let project = Project::new(files);
        let config = project.file("config");
        let lilt = Start::up(&project).variable("TILT_CONFIG", &config).start();
        lilt.wait_for_line("Successfully loaded Tiltfile");
        Session { lilt, project, config }
    }

    /// Connects with the kubeconfig of this session.
    pub(crate) async fn configuration(&self) -> Config {
        let file = Kubeconfig::read_from(&self.config).expect("the file can be read");
        let context = Some(format!("tilt-{}", self.lilt.port()));
        let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
        Config::from_custom_kubeconfig(file, &options).await.expect("a configuration")
    }

    pub(crate) async fn client(&self) -> Client {
        Client::try_from(self.configuration().await).expect("a client")
    }
}

pub(crate) fn api(client: &Client, kind: &Kind) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk("tilt.dev", "v1alpha1", kind.name);
    Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&gvk, kind.plural))
}

/// Returns an object with these fields.
pub(crate) fn object(kind: &Kind, name: &str, members: &Value) -> DynamicObject {
    let mut whole = serde_json::json!({
        "apiVersion": "tilt.dev/v1alpha1", "kind": kind.name, "metadata": {"name": name},
    });
    for (name, value) in members.as_object().expect("an object") {
        whole[name] = value.clone();
    }
    serde_json::from_value(whole).expect("an object")
}

pub(crate) fn version(object: &DynamicObject) -> u64 {
    object.metadata.resource_version.as_deref().and_then(|text| text.parse().ok()).expect("a version")
}

use super::*;

fn deployment(image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "initContainers": [{"name": "init", "image": image}],
                    "containers": [{"name": "web", "image": image, "imagePullPolicy": "Always"}, {"name": "side", "image": "busybox"}]
                }
            }
        }
    })
}

fn ours(name: &str) -> Vec<Injection> {
    let deployed = "localhost:5000/web:tilt-0123".to_owned();
    vec![Injection { name: ImageName::new(name), deployed, ..Injection::default() }]
}

fn prepare(objects: &[Value], images: &[Injection]) -> Result<Vec<Value>, Failure> {
    super::prepare(objects, images, &[])
}

#[test]
fn images_are_replaced_in_every_kind_with_a_pod_spec() {
    let pod_spec = json!({"containers": [{"name": "a", "image": "web"}]});
    let cases = [
        (json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": pod_spec}), "/spec"),
        (
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"},
                   "spec": {"template": {"spec": pod_spec}}}),
            "/spec/template/spec",
        ),
        (
            json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
                   "spec": {"jobTemplate": {"spec": {"template": {"spec": pod_spec}}}}}),
            "/spec/jobTemplate/spec/template/spec",
        ),
    ];
    for (object, spec) in cases {
        let prepared = prepare(std::slice::from_ref(&object), &ours("web")).unwrap();
        let container = &prepared[0].pointer(spec).unwrap()["containers"][0];
        assert_eq!(container["image"], "localhost:5000/web:tilt-0123", "{object}");
        assert_eq!(container["imagePullPolicy"], "IfNotPresent", "{object}");
    }
}

#[test]
fn init_containers_and_image_volumes_get_built_images() {
    let mut object = deployment("docker.io/library/web:old");
    object["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "v", "image": {"reference": "web", "pullPolicy": "Always"}}]);
    let prepared = prepare(&[object], &ours("web")).unwrap();
    let spec = &prepared[0]["spec"]["template"]["spec"];
    assert_eq!(spec["initContainers"][0]["image"], "localhost:5000/web:tilt-0123");
    assert_eq!(spec["containers"][0]["image"], "localhost:5000/web:tilt-0123");
    assert_eq!(spec["containers"][1]["image"], "busybox");
    assert_eq!(spec["containers"][1]["imagePullPolicy"], "IfNotPresent");
    assert_eq!(
        spec["volumes"][0]["image"],
        json!({"reference": "localhost:5000/web:tilt-0123", "pullPolicy": "IfNotPresent"})
    );
}

#[test]
fn without_images_only_labels_change() {
    let prepared = prepare(&[deployment("web")], &[]).unwrap();
    let spec = &prepared[0]["spec"]["template"]["spec"];
    assert_eq!(spec["containers"][0]["imagePullPolicy"], "Always");
    assert_eq!(spec["containers"][1].get("imagePullPolicy"), None);
}

#[test]
fn labels_go_to_objects_and_templates_not_to_selectors() {
    let prepared = prepare(&[deployment("web")], &[]).unwrap();
    let object = &prepared[0];
    assert_eq!(object["metadata"]["labels"], json!({MANAGED_BY: "tilt"}));
    let labels = &object["spec"]["template"]["metadata"]["labels"];
    assert_eq!(labels["app"], "web");
    assert_eq!(labels[MANAGED_BY], "tilt");
    assert_eq!(labels[TEMPLATE_HASH].as_str().unwrap().len(), 20);
    assert_eq!(object["spec"]["selector"], json!({"matchLabels": {"app": "web"}}));
}

#[test]
fn selector_with_managed_by_label_is_adjusted() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"selector": {MANAGED_BY: "Helm", "app": "web"}}});
    let prepared = prepare(&[service], &[]).unwrap();
    assert_eq!(prepared[0]["spec"]["selector"], json!({MANAGED_BY: "tilt", "app": "web"}));
}

#[test]
fn template_hash_depends_on_the_template_alone() {
    let of = |object: Value, images: &[Injection]| {
        prepare(&[object], images).unwrap()[0]["spec"]["template"]["metadata"]["labels"][TEMPLATE_HASH]
            .clone()
    };
    let first = of(deployment("web"), &ours("web"));
    let mut scaled = deployment("web");
    scaled["spec"]["replicas"] = 3.into();
    assert_eq!(of(scaled, &ours("web")), first);
    let mut reordered = deployment("web");
    let spec = reordered["spec"]["template"]["spec"].as_object_mut().unwrap();
    let containers = spec.shift_remove("containers").unwrap();
    spec.shift_insert(0, "containers".to_owned(), containers);
    assert_eq!(of(reordered, &ours("web")), first);
    let mut other = ours("web");
    other[0].deployed = "localhost:5000/web:tilt-4567".to_owned();
    assert_ne!(of(deployment("web"), &other), first);
}

#[test]
fn custom_resources_only_get_a_label() {
    let custom = json!({"apiVersion": "example.com/v1", "kind": "Deployment", "metadata": {"name": "x"},
        "spec": {"template": {"spec": {"containers": [{"image": "web"}]}}}});
    let prepared = prepare(std::slice::from_ref(&custom), &[]).unwrap();
    assert_eq!(prepared[0]["spec"], custom["spec"]);
    assert_eq!(prepared[0]["metadata"]["labels"], json!({MANAGED_BY: "tilt"}));
}

#[test]
fn volume_claims_are_not_changed() {
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}});
    assert_eq!(prepare(std::slice::from_ref(&claim), &[]).unwrap(), [claim]);
}

#[test]
fn stateful_set_with_built_image_starts_pods_in_parallel() {
    let mut set = deployment("web");
    set["kind"] = "StatefulSet".into();
    let prepared = prepare(std::slice::from_ref(&set), &ours("web")).unwrap();
    assert_eq!(prepared[0]["spec"]["podManagementPolicy"], "Parallel");
    assert_eq!(prepare(&[set], &[]).unwrap()[0]["spec"].get("podManagementPolicy"), None);
}

#[test]
fn unused_image_is_an_error() {
    let failure = prepare(&[deployment("web")], &ours("api")).unwrap_err();
    assert_eq!(failure.message, "no container of the YAML uses the image api");
}

#[test]
fn env_vars_get_images_with_in_env_vars() {
    let mut object = deployment("web");
    object["spec"]["template"]["spec"]["containers"][1]["env"] = json!([{"name": "WORKER", "value": "api:v1"}, {"name": "OTHER", "value": "no image!"}, {"name": "FROM"}]);
    let mut images = ours("web");
    images.extend(ours("api"));
    assert!(prepare(std::slice::from_ref(&object), &images).is_err());
    images[1].in_env_vars = true;
    let prepared = prepare(&[object], &images).unwrap();
    let env = &prepared[0]["spec"]["template"]["spec"]["containers"][1]["env"];
    assert_eq!(env[0]["value"], "localhost:5000/web:tilt-0123");
    assert_eq!(env[1]["value"], "no image!");
}

#[test]
fn entrypoint_and_args_are_set_where_the_image_is() {
    let mut images = ours("web");
    images[0].command = Some(vec!["sh".into(), "-c".into(), "serve".into()]);
    images[0].args = Some(Vec::new());
    let prepared = prepare(&[deployment("web")], &images).unwrap();
    let spec = &prepared[0]["spec"]["template"]["spec"];
    assert_eq!(spec["containers"][0]["command"], json!(["sh", "-c", "serve"]));
    assert_eq!(spec["containers"][0]["args"], json!([]));
    assert_eq!(spec["containers"][1].get("command"), None);
}

#[test]
fn exact_image_does_not_match_other_tags() {
    let mut images = ours("web");
    images[0].exact = true;
    assert!(prepare(&[deployment("web:v1")], &images).is_err());
    assert!(prepare(&[deployment("web")], &images).is_ok());
}

#[test]
fn custom_resources_get_images_at_locators() {
    let custom = json!({"apiVersion": "example.com/v1", "kind": "Machine", "metadata": {"name": "x"},
        "spec": {"image": "web"}});
    let selector = lilt_model::locator::ObjectSelector::partial("", "Machine", "", "");
    let locator = ImageLocator { selector, path: "{.spec.image}".into(), object: None };
    let prepared =
        super::prepare(std::slice::from_ref(&custom), &ours("web"), std::slice::from_ref(&locator)).unwrap();
    assert_eq!(prepared[0]["spec"]["image"], "localhost:5000/web:tilt-0123");
    let mut images = ours("web");
    images[0].command = Some(vec!["serve".into()]);
    let failure = super::prepare(&[custom], &images, &[locator]).unwrap_err();
    assert!(failure.message.contains("entrypoint"), "{failure}");
}

#[test]
fn content_of_image_with_fixed_name_changes_the_template() {
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web"}]}}}});
    let template = |content: Option<&str>| {
        let image = Injection {
            name: ImageName::new("web"),
            deployed: "web:dev".into(),
            content: content.map(str::to_owned),
            ..Injection::default()
        };
        prepare(std::slice::from_ref(&object), &[image]).expect("it is valid")[0]["spec"]["template"].clone()
    };
    let (first, second) = (template(Some("sha256:1")), template(Some("sha256:2")));
    assert_eq!(first["spec"]["containers"][0]["image"], "web:dev");
    assert_eq!(first["metadata"]["annotations"], json!({"lilt.dev/image-content": "sha256:1"}));
    assert_ne!(first["metadata"]["labels"], second["metadata"]["labels"], "their hashes differ");
    assert_eq!(template(None)["metadata"]["annotations"], Value::Null);
}

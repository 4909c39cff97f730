//! Object commands that need a cluster or its programs.

use lilt_e2e::lilt::Start;
use lilt_e2e::site::Site;

#[test]
fn shell_opens_in_pod_of_resource() {
    let site = Site::new("shell");
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    site.project.write("web.yaml", &site.idle("web"));
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.project.write("typed", "echo here is $(hostname)\nexit 0\n");
    let command = |arguments: &[&str]| {
        Start::new(&site.project, arguments)
            .in_namespace(&site.namespace)
            .with_home_of(&lilt)
            .reading(&site.project.file("typed"))
    };
    let ended = command(&["alpha", "shell", "web"]).run().expect_clean_exit(0);
    assert_eq!(ended.stdout(), format!("here is {}\n", site.only_pod()));
    let wrong = command(&["alpha", "shell", "web", "-c", "none"]).run().expect_clean_exit(1);
    assert!(wrong.stderr().contains("container none not found in pod"), "{}", wrong.stderr());
    lilt.quit();
}

#[test]
fn kustomizations_are_applied() {
    let site = Site::new("kustomized");
    site.project.write("Tiltfile", "local_resource('one', 'true')\n");
    let map = "apiVersion: tilt.dev/v1alpha1\nkind: ConfigMap\nmetadata: {name: values}\ndata: {a: '1'}\n";
    site.project.write("k/map.yaml", map);
    site.project.write("k/kustomization.yaml", "resources: [map.yaml]\nnamePrefix: my-\n");
    let lilt = site.up().start();
    lilt.wait_until_ready("one");
    let command = |arguments: &[&str]| {
        Start::new(&site.project, arguments)
            .in_namespace(&site.namespace)
            .with_home_of(&lilt)
            .run()
            .expect_clean_exit(0)
            .stdout()
    };
    assert_eq!(command(&["apply", "-k", "k"]), "configmap.tilt.dev/my-values created\n");
    assert_eq!(command(&["delete", "-k", "k"]), "configmap.tilt.dev \"my-values\" deleted\n");
    lilt.quit();
}

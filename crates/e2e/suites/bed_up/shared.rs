//! One image in many workloads, many images in one pod, images on images.

use lilt_e2e::site::Site;
use lilt_testbed_env::eventually;

/// A pod with an init container and two containers, each with an image that is built here.
fn pod_of_three(site: &Site) -> String {
    let image = site.image();
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: many}}
spec:
  selector: {{matchLabels: {{app: many}}}}
  template:
    metadata: {{labels: {{app: many}}}}
    spec:
      terminationGracePeriodSeconds: 1
      initContainers:
      - {{name: first, image: {image}-tool, command: [cat, /tool]}}
      containers:
      - {{name: main, image: {image}}}
      - {{name: side, image: {image}-tool, command: [sh, -c, 'cat /tool; exec sleep 987']}}
"
    )
}

fn image_of(site: &Site, object: &str, container: &str) -> String {
    site.read(object, &format!(".spec.template.spec.{container}.image"))
}

#[test]
fn shared_image_is_built_once() {
    let site = Site::new("shared");
    let image = site.image();
    site.project.write("base/Dockerfile", &format!("FROM busybox\nCOPY name /base\nRUN echo {image}\n"));
    site.project.write("base/name", "base one\n");
    site.project.write(
        "app/Dockerfile",
        &format!(
            "FROM {image}-base\nCOPY www /www\nRUN cp /base /www/base\n\
             CMD [\"httpd\", \"-f\", \"-p\", \"8080\", \"-h\", \"/www\"]\n"
        ),
    );
    site.project.write("tool/Dockerfile", &format!("FROM {image}-base\nRUN cp /base /tool\n"));
    site.project.write("many.yaml", &pod_of_three(&site));
    let tiltfile = format!(
        "docker_build('{image}-base', 'base')\ndocker_build('{image}', 'app')\ndocker_build('{image}-tool', 'tool')\n\
         k8s_yaml(['web.yaml', 'many.yaml'])\nk8s_resource('web', port_forwards='{}:8080')\n",
        site.port
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    lilt.wait_until_ready("many");
    site.serves("one");
    let built = |name: &str, times: usize| {
        lilt.has_lines(&format!("Building Dockerfile: [{image}{name}]"), times * 2);
    };
    // Each step is logged at its start and in the summary.
    built("", 1);
    built("-base", 1);
    built("-tool", 1);
    let shared = image_of(&site, "deployment/web", "containers[0]");
    assert_eq!(image_of(&site, "deployment/many", "containers[0]"), shared);
    let tool = image_of(&site, "deployment/many", "initContainers[0]");
    assert_eq!(image_of(&site, "deployment/many", "containers[1]"), tool);
    assert_ne!(tool, shared);
    lilt.wait_for_line("base one");

    // A change of the base image rebuilds all of them.
    site.project.write("base/name", "base two\n");
    eventually("both run the new image", || {
        let images =
            ["web", "many"].map(|name| image_of(&site, &format!("deployment/{name}"), "containers[0]"));
        (images[0] == images[1] && images[0] != shared).then_some(())
    });
    lilt.wait_until_ready("web");
    lilt.wait_until_ready("many");
    lilt.wait_for_line("base two");
    lilt.quit();
}

/// A change of the lowest of three images reaches the pod of the highest.
#[test]
fn chained_base_images_are_built_in_order() {
    let site = Site::new("tower");
    let image = site.image();
    let write = |folder: &str, from: &str, rest: &str| {
        site.project.write(&format!("{folder}/Dockerfile"), &format!("FROM {from}\n{rest}\n"));
    };
    write("low", "busybox", "COPY name /low");
    write("middle", &format!("{image}-low"), "RUN (cat /low; echo middle) > /middle");
    write(
        "app",
        &format!("{image}-middle"),
        "RUN mkdir /www && echo $(cat /middle) > /www/index.html\n\
         CMD [\"httpd\", \"-f\", \"-p\", \"8080\", \"-h\", \"/www\"]",
    );
    site.project.write("low/name", &format!("{image} one\n"));
    // In another order than their dependencies.
    let tiltfile = format!(
        "docker_build('{image}', 'app')\ndocker_build('{image}-middle', 'middle')\ndocker_build('{image}-low', 'low')\n\
         k8s_yaml('web.yaml')\nk8s_resource('web', port_forwards='{}:8080')\n",
        site.port
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves(&format!("{image} one middle"));
    site.project.write("low/name", &format!("{image} two\n"));
    site.serves(&format!("{image} two middle"));
    lilt.quit();
}

//! Live updates of images that lilt does not build, and of base images.

use lilt_e2e::page::get;
use lilt_e2e::site::Site;
use lilt_testbed_env::{Testbed, eventually};

use crate::small::{restarts, site};

/// Builds and pushes the image of a site, and returns its name in the registry, without a tag.
fn pushed(site: &Site) -> String {
    let testbed = Testbed::get();
    let image = format!("{}/{}", testbed.registry(), site.image());
    let context = site.project.file("app");
    testbed.docker(&["build", "-q", "-t", &format!("{image}:v1"), context.to_str().expect("a plain path")]);
    testbed.docker(&["push", "-q", &format!("{image}:v1")]);
    image
}

/// It suffices that lilt applies the pods.
#[test]
fn live_update_only_image_takes_changes() {
    let site = site("live-elsewhere", "scratch", "1234");
    let image = pushed(&site);
    site.project.write("web.yaml", &site.yaml("web", &format!("{image}:v1")));
    let tiltfile = format!(
        "custom_build('{image}', ':', deps=['app'], live_update=[sync('app/www', '/www'), restart_process()])\n\
         k8s_yaml('web.yaml')\nk8s_resource('web', port_forwards='{}:8080')\n",
        site.port
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    lilt.wait_for_line("Live updates of the container main go through lilt's agent");
    site.serves("one");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    lilt.wait_for_log_line("web", "  → Process started anew");
    lilt.wait_until_ready("web");
    assert_eq!((site.only_pod(), restarts(&site, &pod)), (pod, "0".to_owned()));
    lilt.quit();
}

/// The build command needs no engine, and neither do live updates of an image with a shell.
#[test]
fn unreachable_docker_does_not_block_deploys_without_builds() {
    let site = Site::new("live-engineless");
    let image = pushed(&site);
    site.project.write("web.yaml", &site.yaml("web", &image));
    let tiltfile = format!(
        "custom_build('{image}', 'true', deps=['app'], tag='v1', skips_local_docker=True, \
         live_update=[sync('app/www', '/www')])\nk8s_yaml('web.yaml')\n\
         k8s_resource('web', port_forwards='{}:8080')\n",
        site.port
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().variable("DOCKER_HOST", "unix:///nowhere/docker.sock").start();
    lilt.wait_for_line("are made with the programs of its image, if it has them: ");
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    assert_eq!(site.only_pod(), pod);
    lilt.quit();
}

#[test]
fn base_image_files_are_synced_into_dependent_image() {
    let site = Site::new("live-base");
    let base = format!("{}-base", site.image());
    site.project
        .write("base/Dockerfile", &format!("FROM busybox\nLABEL test={base}\nCOPY words /www/words\n"));
    site.project.write("base/words/list.txt", "first\n");
    let dockerfile = std::fs::read_to_string(site.project.file("app/Dockerfile")).expect("it is there");
    site.project.write("app/Dockerfile", &dockerfile.replace("FROM busybox", &format!("FROM {base}")));
    let tiltfile = site.tiltfile().replace("sync(", "sync('base/words', '/www/words'), sync(");
    site.project.write("Tiltfile", &format!("docker_build('{base}', 'base')\n{tiltfile}"));
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let list = || get(site.port, "/words/list.txt");
    assert_eq!(list().as_deref(), Some("first\n"));
    let pod = site.only_pod();
    site.project.write("base/words/list.txt", "second\n");
    eventually("it is there", || list().filter(|page| page == "second\n"));
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    lilt.wait_until_ready("web");
    assert_eq!(site.only_pod(), pod);
    lilt.has_lines("STEP 1/5", 1);
    lilt.quit();
}

/// Helm creates the pods, which still take changes.
#[test]
fn pods_of_helm_chart_take_live_updates() {
    let site = Site::new("live-helm");
    let image = site.image();
    site.project.write("chart/Chart.yaml", "apiVersion: v2\nname: site\nversion: 0.1.0\n");
    site.project.write("chart/values.yaml", "image: {repository: none, tag: none}\n");
    let template = site.yaml("web", "'{{ .Values.image.repository }}:{{ .Values.image.tag }}'");
    site.project.write("chart/templates/web.yaml", &template);
    let tiltfile = format!(
        "load('ext://helm_resource', 'helm_resource')\n\
         docker_build('{image}', 'app', live_update=[sync('app/www', '/www'), run('echo ran as $(id -u)')])\n\
         helm_resource('web', 'chart', image_deps=['{image}'], image_keys=[('image.repository', 'image.tag')], \
         port_forwards=['{}:8080'])\n",
        site.port
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    lilt.wait_for_log_line("web", "ran as 0");
    lilt.wait_until_ready("web");
    assert_eq!(site.only_pod(), pod);
    lilt.quit();
    site.down().run().expect_clean_exit(0);
}

//! The arguments of `docker_build` that are about files, names and what containers run.

use lilt_e2e::site::Site;
use lilt_testbed_env::Testbed;

const POD: &str = "apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: IMAGE
    command: ['false']
    args: [wrong]
    env:
    - {name: PROXY, value: IMAGE}
    - {name: OTHER, value: IMAGE-other}
";

#[test]
fn docker_build_arguments_change_files_names_and_command() {
    let site = Site::new("docker-build");
    let (image, registry) = (site.image(), Testbed::get().registry());
    site.project.write("pod.yaml", &POD.replace("IMAGE", image));
    site.project.write("app/notes.md", "ignored\n");
    site.project.write("other/file", "not among only\n");
    site.project.write(
        "Tiltfile",
        &format!(
            "docker_build('{image}', '.', dockerfile_contents='''FROM busybox AS first
ARG GREETING
COPY . /site
RUN echo {image} && cd /site && echo $GREETING $(find . -type f | sort) > /said
FROM first AS second
RUN false
''', build_args={{'GREETING': 'hello'}}, target='first', only=['app'], ignore=['**/*.md', 'app/Dockerfile'],
    extra_tag=['{registry}/{image}:mine', '{image}:second'], platform='linux/amd64', extra_hosts=['there:10.1.2.3'],
    match_in_env_vars=True, entrypoint='cat /said; echo $PROXY; echo $OTHER; echo $0 $@; exec sleep 987',
    container_args=['the', 'args'])
k8s_yaml('pod.yaml')
"
        ),
    );
    let lilt = site.up().start();
    lilt.wait_for_log_line("web", "hello ./app/words.txt ./app/www/index.html");
    // The names: in the pod and its variables by content, and those that were asked for.
    let deployed = site.read("pod/web", ".spec.containers[0].image");
    assert!(deployed.starts_with(&format!("{registry}/{image}:tilt-")), "{deployed}");
    lilt.wait_for_log_line("web", &deployed);
    lilt.wait_for_log_line("web", &format!("{image}-other"));
    assert_eq!(
        site.read("pod/web", ".spec.containers[0].command"),
        format!("[\"sh\",\"-c\",\"cat /said; echo $PROXY; echo $OTHER; echo $0 $@; exec sleep 987\"]")
    );
    assert_eq!(site.read("pod/web", ".spec.containers[0].args"), "[\"the\",\"args\"]");
    lilt.wait_for_log_line("web", "the args");
    for tag in [format!("{registry}/{image}:mine"), format!("{image}:second")] {
        let same = |name: &str| Testbed::get().docker(&["image", "inspect", "--format", "{{.Id}}", name]);
        assert_eq!(same(&tag), same(&deployed), "{tag}");
    }
    // Ignored files trigger nothing; others do.
    site.project.write("other/file", "changed\n");
    site.project.write("app/notes.md", "changed\n");
    site.project.write("app/words.txt", "changed\n");
    lilt.wait_for_line("1 File Changed: [app/words.txt]");
    lilt.quit();
}

/// For another platform than the test bed's, so it is only built.
#[test]
fn image_is_built_for_requested_platform() {
    let site = Site::new("platform");
    let image = site.image();
    let dockerfile = format!("dockerfile_contents='FROM scratch\\nCOPY words.txt /{image}\\n'");
    let tiltfile = format!(
        "docker_build('{image}-given', 'app', {dockerfile}, platform='linux/s390x')\n\
         docker_build('{image}-default', 'app', {dockerfile})\nk8s_yaml(['given.yaml', 'default.yaml'])\n"
    );
    site.project.write("Tiltfile", &tiltfile);
    for name in ["given", "default"] {
        let yaml = site.yaml(name, &format!("{image}-{name}")).replacen("spec:", "spec:\n  replicas: 0", 1);
        site.project.write(&format!("{name}.yaml"), &yaml);
    }
    let ended = site.ci().variable("DOCKER_DEFAULT_PLATFORM", "linux/arm64").run().expect_clean_exit(0);
    for (name, expected) in [("given", "s390x"), ("default", "arm64")] {
        let deployed = site.read(&format!("deployment/{name}"), ".spec.template.spec.containers[0].image");
        let found = Testbed::get().docker(&["image", "inspect", "--format", "{{.Architecture}}", &deployed]);
        assert_eq!(found.trim(), expected, "{deployed}\n{}", ended.output());
    }
}

/// A missing build input is reported with its location; other resources continue.
#[test]
fn missing_build_argument_is_reported_with_location() {
    let site = Site::new("docker-missing");
    let image = site.image();
    let other = "local_resource('other', 'cat text', deps=['text'])\n";
    let tiltfile = |build: &str| {
        site.project.write("Tiltfile", &format!("{build}\nk8s_yaml('web.yaml')\n{other}"));
    };
    tiltfile(&format!("docker_build('{image}', 'app', dockerfile='app/None')"));
    let lilt = site.up().start();
    lilt.wait_for_line("docker_build: cannot read the Dockerfile: ");
    lilt.wait_for_line("Tiltfile:1");

    tiltfile(&format!("docker_build('{image}', 'nowhere', dockerfile='app/Dockerfile')"));
    lilt.wait_for_log_line("other", "text");
    let missing = lilt.wait_for_line("web │ ERROR: Build Failed: the build context ");
    assert!(missing.ends_with("nowhere does not exist"), "{missing}");
    lilt.wait_for_line("web │ hint: the second argument of docker_build is a directory");

    site.project.write("app/Dockerfile", "FROM localhost:1/private:v1\n");
    tiltfile(&format!("docker_build('{image}', 'app')"));
    let unreachable = lilt.wait_for_line("cannot get the base image localhost:1/private:v1");
    assert!(unreachable.contains("app/Dockerfile:1"), "{unreachable}");
    lilt.wait_for_line("hint: check that the Docker engine can reach the registry");

    site.project.write("app/Dockerfile", "FROM busybox\nCMD [\"sleep\", \"987\"]\n");
    lilt.wait_until_ready("web");
    lilt.quit();
}

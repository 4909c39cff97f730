//! Build secrets and arguments from this machine and the Tiltfile.

use lilt_e2e::site::Site;

/// The site's image built with these arguments, from a Dockerfile whose step makes the page.
fn tiltfile(site: &Site, before: &str, arguments: &str) -> String {
    format!(
        "{before}docker_build('{}', 'app', {arguments})\nk8s_yaml('web.yaml')\n\
         k8s_resource('web', port_forwards='{}:8080')\n",
        site.image(),
        site.port
    )
}

fn dockerfile(step: &str) -> String {
    format!("FROM busybox\n{step} > /index.html\nCMD [\"httpd\", \"-f\", \"-p\", \"8080\", \"-h\", \"/\"]\n")
}

/// Steps of a Dockerfile may read what is not in the image, and logs do not show it.
#[test]
fn build_secrets_are_not_logged() {
    let site = Site::new("secrets");
    let mounts = ["file", "variable", "set"].map(|id| format!("--mount=type=secret,id={id}")).join(" ");
    let print = "cat /run/secrets/file /run/secrets/variable /run/secrets/set";
    let step = format!("RUN {mounts} echo {} && {print} && ({print})", site.image());
    site.project.write("app/Dockerfile", &dockerfile(&step));
    let build = |variable: &str| {
        let secrets =
            format!("secret=['id=file,src=text', 'id=variable,env={variable}', 'id=set,env=BY_TILTFILE']");
        tiltfile(&site, "os.putenv('BY_TILTFILE', ' set by the Tiltfile')\n", &secrets)
    };
    site.project.write("Tiltfile", &build("NOT_THERE"));
    let lilt = site.up().variable("SOME_VARIABLE", "and more").start();
    lilt.wait_for_line("the secret variable of docker_build has no value: the variable NOT_THERE is not set");
    site.project.write("Tiltfile", &build("SOME_VARIABLE"));
    lilt.wait_until_ready("web");
    site.serves("text\nand more set by the Tiltfile");
    lilt.wait_for_line("[redacted secret docker_build:variable]");
    lilt.has_lines("and more", 0);
    lilt.quit();
}

/// An argument without a value is taken from the environment, and one that is not there leaves the default.
#[test]
fn build_args_come_from_environment() {
    let site = Site::new("arguments");
    let step = format!(
        "ARG GIVEN\nARG MINE\nARG SET\nARG OTHER=default\nRUN : {} && echo $GIVEN $MINE $SET $OTHER",
        site.image()
    );
    site.project.write("app/Dockerfile", &dockerfile(&step));
    let arguments = "build_args={'GIVEN': 'given', 'MINE': '', 'SET': '', 'OTHER': ''}";
    site.project.write("Tiltfile", &tiltfile(&site, "os.putenv('SET', 'set')\n", arguments));
    let lilt = site.up().variable("MINE", "mine").start();
    lilt.wait_until_ready("web");
    site.serves("given mine set default");
    lilt.quit();
}

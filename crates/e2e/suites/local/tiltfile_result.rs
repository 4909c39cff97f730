//! `lilt alpha tiltfile-result`: what goes to which stream, and how it exits.

use lilt_e2e::lilt::{ExitedLilt, Start};
use lilt_testbed_env::Project;
use serde_json::Value;

const KUBECONFIG: &str = "apiVersion: v1
kind: Config
current-context: elsewhere
clusters:
- {name: elsewhere, cluster: {server: 'https://127.0.0.1:1'}}
- {name: kind-mine, cluster: {server: 'https://127.0.0.1:2'}}
contexts:
- {name: elsewhere, context: {cluster: elsewhere, user: me}}
- {name: mine, context: {cluster: kind-mine, user: me, namespace: its-own}}
users:
- {name: me, user: {token: secret}}
";

fn start(project: &Project, arguments: &[&str]) -> Start {
    Start::new(project, &[&["alpha", "tiltfile-result"], arguments].concat())
}

fn json(ended: &ExitedLilt) -> Value {
    serde_json::from_str(&ended.stdout())
        .unwrap_or_else(|error| panic!("stdout is no JSON: {error}\n{}", ended.output()))
}

#[test]
fn tiltfile_result_prints_only_json_on_stdout() {
    let tiltfile = "print('printed')\nwarn('warned')\nlocal('echo from a command')\n\
                    local_resource('a', 'true', resource_deps=['b'])\n";
    let project = Project::new(&[("Tiltfile", tiltfile)]);
    let ended = start(&project, &[]).run().expect_clean_exit(0);
    let result = json(&ended);
    assert_eq!(result["Manifests"][0]["Name"], "a");
    assert_eq!(result["Manifests"][0]["ResourceDependencies"], Value::Null);
    assert_eq!(result["Error"], Value::Null);
    assert_eq!(ended.stderr(), "");

    for flag in ["-v", "--verbose"] {
        let ended = start(&project, &[flag]).run().expect_clean_exit(0);
        assert_eq!(json(&ended)["Manifests"], result["Manifests"]);
        let log = ended.stderr();
        for words in
            ["printed\n", "warned", "from a command", "unknown resource b", "Successfully loaded Tiltfile ("]
        {
            assert!(log.contains(words), "no {words:?} in {log}");
        }
    }
}

#[test]
fn tiltfile_result_exits_5_on_tiltfile_error_else_1() {
    let project = Project::new(&[
        ("Tiltfile", "print('before')\nlocal_resource('a', 'true', dep=[])\n"),
        ("syntax", "def\n"),
        ("names", "local_resource('a', 'true')\nlocal_resource('a', 'true')\n"),
    ]);
    let ended = start(&project, &[]).run().expect_clean_exit(5);
    assert_eq!(ended.stdout(), "");
    let log = ended.stderr();
    // What it printed may tell why.
    for words in ["before\n", "Tiltfile:2:1", "local_resource('a', 'true', dep=[])", "deps"] {
        assert!(log.contains(words), "no {words:?} in {log}");
    }
    for file in ["syntax", "names", "missing"] {
        let ended = start(&project, &["--file", file]).run().expect_clean_exit(5);
        assert_eq!(ended.stdout(), "", "{file}");
        assert!(ended.stderr().contains(file), "{}", ended.output());
    }
    for wrong in [&["--no-such-flag"][..], &["--dur-threshold", "soon"]] {
        let ended = start(&project, wrong).run().expect_clean_exit(1);
        assert_eq!(ended.stdout(), "", "{wrong:?}");
    }
}

#[test]
fn tiltfile_result_takes_file_and_arguments() {
    let tiltfile = "config.define_string_list('rest', args=True)\nconfig.define_string('flag')\n\
                    parsed = config.parse()\nfor name in parsed.get('rest', []):\n  local_resource(name, 'true')\n\
                    local_resource(parsed.get('flag', 'none'), 'true')\n";
    let project = Project::new(&[("other/Tiltfile.dev", tiltfile)]);
    let names = |arguments: &[&str]| -> Vec<String> {
        let ended = start(&project, arguments).run().expect_clean_exit(0);
        let result = json(&ended);
        let manifests = result["Manifests"].as_array().expect("there are manifests");
        manifests.iter().filter_map(|manifest| manifest["Name"].as_str()).map(str::to_owned).collect()
    };
    assert_eq!(names(&["-f", "other/Tiltfile.dev", "--", "one", "--flag=two"]), ["one", "two"]);
    assert_eq!(names(&["one", "--file=other/Tiltfile.dev", "three"]), ["one", "three", "none"]);
}

#[test]
fn context_and_namespace_reach_tiltfile_and_commands() {
    let tiltfile = "print(k8s_context(), k8s_namespace())\n\
                    k8s_yaml('pod.yaml')\n\
                    os.environ['KUBECONFIG'] = 'not this one'\n\
                    print(local('cat $KUBECONFIG', quiet=True))\n\
                    print('port', local('echo $TILT_PORT; tilt version', quiet=True))\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n";
    let project = Project::new(&[("Tiltfile", tiltfile), ("pod.yaml", pod), ("config", KUBECONFIG)]);
    let on =
        |arguments: &[&str]| start(&project, arguments).variable("KUBECONFIG", project.file("config")).run();
    let ended = on(&["-v", "--context", "mine", "--namespace", "team"]).expect_clean_exit(0);
    let log = ended.stderr();
    for words in
        ["mine team", "current-context: mine", "namespace: team", "127.0.0.1:2", "port 10350", "0.37"]
    {
        assert!(log.contains(words), "no {words:?} in {log}");
    }
    assert!(!log.contains("127.0.0.1:1"), "another context is in the kubeconfig of commands: {log}");
    assert_eq!(json(&ended)["Manifests"][0]["Name"], "p");
    let refused = on(&[]).expect_clean_exit(5);
    assert!(refused.stderr().contains("allow_k8s_contexts('elsewhere')"), "{}", refused.output());
}

#[test]
fn down_commands_get_the_same_kubeconfig() {
    let tiltfile = "print(local('cat $KUBECONFIG; echo port $TILT_PORT; tilt version', quiet=True))\n";
    let project = Project::new(&[("Tiltfile", tiltfile), ("config", KUBECONFIG)]);
    let down = Start::new(&project, &["down", "--context", "mine", "--namespace", "team"]);
    let ended = down.variable("KUBECONFIG", project.file("config")).run().expect_clean_exit(0);
    let expected = ["current-context: mine", "namespace: team", "127.0.0.1:2", "port 10350", "0.37"];
    let ended = expected.into_iter().fold(ended, |ended, words| ended.expect_output(words));
    assert!(!ended.output().contains("127.0.0.1:1"), "{}", ended.output());
}

#[test]
fn builtin_timings_replace_the_result() {
    let tiltfile = "x = len([str(1)])\nread_file('text')\nlocal_resource('a', cmd='true')\nos.getcwd()\n\
                    def f():\n  fail_if = read_file('none', default='')\nf()\ndecode_yaml(read_file('chart'))\n";
    let chart = format!("a: {}\nb: 1\n", "x".repeat(500));
    let project = Project::new(&[
        ("Tiltfile", tiltfile),
        ("text", "x"),
        ("chart", &chart),
        ("none.Tiltfile", "x = 1\n"),
        ("bad", "local(1)\n"),
    ]);
    let lines = |arguments: &[&str]| start(&project, arguments).run().expect_clean_exit(0).stdout();
    for flag in ["-b", "--builtin-timings"] {
        let printed = lines(&[flag]);
        let starts: Vec<&str> =
            printed.lines().map(|line| line.split(" took ").next().unwrap_or_default()).collect();
        let expected = [
            "- read_file(\"text\")",
            "- local_resource(\"a\")",
            "- os.getcwd()",
            "- read_file(\"none\")",
            "- read_file(\"chart\")",
            &format!("- decode_yaml(a: {}…)", "x".repeat(116)),
            "Tiltfile execution",
        ];
        assert_eq!(starts, expected, "{printed}");
    }
    let long = lines(&["-b", "--dur-threshold", "1h"]);
    assert_eq!(long.lines().count(), 1, "{long}");
    let ended = start(&project, &["-b", "--file", "none.Tiltfile"]).run().expect_clean_exit(1);
    assert!(ended.stderr().contains("recorded no Builtin calls"), "{}", ended.output());
    let ended = start(&project, &["-b", "--file", "bad"]).run().expect_clean_exit(5);
    assert!(ended.stderr().contains("bad:1:1"), "{}", ended.output());
}

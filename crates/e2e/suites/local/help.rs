//! The complete help texts and argument errors.

use lilt_e2e::lilt::Start;
use lilt_testbed_env::Project;

/// After a change run `INSTA_UPDATE=always cargo test -p lilt-cli --test local help`, and review the diff.
#[test]
fn every_command_has_help() {
    let project = Project::new(&[]);
    Start::new(&project, &["dump", "cli-docs", "--dir", "pages"]).run().expect_clean_exit(0);
    let pages = std::fs::read_dir(project.file("pages")).expect("they were written");
    let pages = pages.map(|page| page.expect("it can be read").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        pages.filter_map(|name| name.strip_suffix(".md").map(str::to_owned)).collect();
    names.retain(|name| name != "README");
    names.sort();
    for name in names {
        let words: Vec<&str> = name.split('_').skip(1).chain(["--help"]).collect();
        let ended = Start::new(&project, &words).run().expect_clean_exit(0);
        assert_eq!(ended.stderr(), "", "{words:?}");
        insta::assert_snapshot!(name.clone(), ended.stdout());
        let asked: Vec<&str> = ["help"].into_iter().chain(name.split('_').skip(1)).collect();
        assert_eq!(
            Start::new(&project, &asked).run().expect_clean_exit(0).stdout(),
            ended.stdout(),
            "{asked:?}"
        );
    }
}

#[test]
fn mistyped_arguments_have_hints() {
    let project = Project::new(&[("Tiltfile", "")]);
    let mistakes: &[&[&str]] = &[
        &["upp"],
        &["up", "--strem"],
        &["up", "--port=many"],
        &["up", "--stream=maybe"],
        &["up", "--update-mode=quick"],
        &["up", "--web-mode=local"],
        &["ci", "--timeout=soon"],
        &["trigger"],
        &["trigger", "one", "two"],
        &["enable"],
        &["enable", "--all", "--only"],
        &["disable", "--all", "one"],
        &["args", "--clear", "one"],
        &["analytics", "opt"],
        &["analytics", "opt", "maybe"],
        &["dump", "engin"],
        &["dump", "image-deploy-ref"],
        &["snapshot", "view"],
        &["snapshot", "view", "absent.json"],
        &["snapshot", "create", "--port=1"],
        &["completion", "csh"],
    ];
    let mut message = String::new();
    for arguments in mistakes {
        let ended = Start::new(&project, arguments).run().expect_clean_exit(1);
        assert_eq!(ended.stdout(), "", "{arguments:?}");
        message.push_str(&format!("$ lilt {}\n{}\n", arguments.join(" "), ended.stderr()));
    }
    insta::assert_snapshot!(message);
}

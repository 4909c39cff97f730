//! No text makes a load panic or hang, with everything outside shut off.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use lilt_model::command::Command;
use lilt_model::{Class, Failure};
use lilt_tiltfile::{Entry, KubeContext, LoadRequest, Output, Outside, load};
use proptest::prelude::*;

/// Nothing but the Tiltfile.
struct Shut(String);

impl Outside for Shut {
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path.ends_with("Tiltfile") {
            true => Ok(self.0.clone().into_bytes()),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn list_directory(&self, _path: &Path) -> io::Result<Vec<Entry>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn is_dir(&self, _path: &Path) -> bool {
        false
    }

    fn exists(&self, _path: &Path) -> bool {
        false
    }

    fn environment_variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn environment(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn kube_context(&self) -> Result<Option<KubeContext>, Failure> {
        Ok(None)
    }

    fn run(
        &self,
        _command: &Command,
        _environment: &[(String, String)],
        _stdin: Option<&[u8]>,
        _cancelled: &(dyn Fn() -> bool + Sync),
        _each_line: &mut dyn FnMut(&str),
    ) -> io::Result<Output> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

fn tiltfiles() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "docker_build('a', '.', dockerfile_contents='FROM b')\n",
        "docker_build('b', '.', dockerfile_contents='FROM a', live_update=[sync('.', '/')])\n",
        "k8s_yaml(blob('kind: Pod\\napiVersion: v1\\nmetadata: {name: p}\\nspec: {containers: [{image: a}]}'), True)\n",
        "k8s_yaml(blob('- 1\\n- [x'))\n",
        "k8s_resource('p', port_forwards=[1, '2:3'], objects=['x'])\n",
        "local_resource('l', 'x', resource_deps=['l', 'p'])\n",
        "while True:\n\tpass\n",
        "def f(x):\n\treturn f([x])\n",
        "f(1)\n",
        "load('Tiltfile', 'x')\n",
        "x = ",
        "[",
        ")",
        "'",
        "\n",
        "    ",
        "\t",
        "é",
        "x = decode_yaml('a: &a [*a]')\n",
        "print(encode_json({'a': [1, None, 2.5]}), os.environ, dir(config))\n",
        "sync('a', 1)\n",
        "probe()\n",
        "y = range(2000000000)\n",
        "z = 'a' * 1000\n",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_text_is_too_bad(text in prop_oneof![4 => tiltfiles(), 1 => any::<String>()]) {
        let request = LoadRequest { path: "/project/Tiltfile".into(), args: Vec::new(), subcommand: "up".into(), ..LoadRequest::default() };
        let looks = AtomicUsize::new(0);
        let loaded = load(&request, &Shut(text), &|| looks.fetch_add(1, Ordering::Relaxed) > 100, &mut |_| {});
        if let Err(failure) = loaded.project {
            prop_assert!(failure.class != Class::Internal, "{failure}");
        }
    }
}

//! The list of kinds, and the types and functions with one case per kind.

use schemars::generate::SchemaGenerator;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::kinds::ApiKind;
use crate::schema::Root;
use crate::{
    Cluster, Cmd, CmdImage, ConfigMap, DockerComposeLogStream, DockerComposeService, DockerImage, Extension,
    ExtensionRepo, FileWatch, ImageMap, KubernetesApply, KubernetesDiscovery, LiveUpdate, PodLogStream,
    PortForward, Session, Tiltfile, ToggleButton, UIButton, UIResource, UISession,
};

macro_rules! object_kinds {
    ($($kind:ident),* $(,)?) => {
        /// A kind of object. Kinds are ordered by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum ObjectKind {
            $($kind),*
        }

        impl ObjectKind {
            /// All kinds, ordered by name.
            pub const ALL: &'static [ObjectKind] = &[$(ObjectKind::$kind),*];

            /// Returns the name of the kind, such as `FileWatch`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(ObjectKind::$kind => stringify!($kind)),*
                }
            }
        }

        /// The content of an object: everything except its metadata.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Content {
            $($kind(Box<$kind>)),*
        }

        impl Content {
            /// Returns the default content of a kind.
            pub fn empty(kind: ObjectKind) -> Self {
                match kind {
                    $(ObjectKind::$kind => Content::$kind(Box::default())),*
                }
            }

            fn from_value(kind: ObjectKind, value: Value) -> serde_json::Result<Self> {
                match kind {
                    $(ObjectKind::$kind => serde_json::from_value(value).map(Content::$kind)),*
                }
            }
        }

        $(
            impl ApiContent for $kind {
                const KIND: ObjectKind = ObjectKind::$kind;
            }
        )*

        /// Returns the schemas of all kinds, ordered by name.
        pub(crate) fn schemas(generator: &mut SchemaGenerator) -> Vec<Root> {
            vec![$(Root::of::<$kind>(generator)),*]
        }
    };
}

/// A type that is the content of a kind of object.
pub trait ApiContent: ApiKind + Serialize {
    const KIND: ObjectKind;
}

object_kinds![
    Cluster,
    Cmd,
    CmdImage,
    ConfigMap,
    DockerComposeLogStream,
    DockerComposeService,
    DockerImage,
    Extension,
    ExtensionRepo,
    FileWatch,
    ImageMap,
    KubernetesApply,
    KubernetesDiscovery,
    LiveUpdate,
    PodLogStream,
    PortForward,
    Session,
    Tiltfile,
    ToggleButton,
    UIButton,
    UIResource,
    UISession,
];

impl ObjectKind {
    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl std::fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Parses the content of an object of a known kind, like [`Content::parse`].
pub fn parse_content<C: ApiContent + DeserializeOwned>(
    members: &Map<String, Value>,
) -> serde_json::Result<C> {
    serde_json::from_value(without_nulls(members))
}

impl Content {
    /// Parses `spec`, `status` and `data` of an object.
    ///
    /// Nulls are treated as absent fields. Everything that [`check`](crate::check::check) accepts can be parsed.
    pub fn parse(kind: ObjectKind, members: &Map<String, Value>) -> serde_json::Result<Self> {
        Self::from_value(kind, without_nulls(members))
    }
}

fn without_nulls(members: &Map<String, Value>) -> Value {
    fn copy(value: &Value) -> Value {
        match value {
            Value::Object(members) => without_nulls(members),
            Value::Array(items) => items.iter().filter(|item| !item.is_null()).map(copy).collect(),
            plain => plain.clone(),
        }
    }
    let present = members.iter().filter(|(_, value)| !value.is_null());
    Value::Object(present.map(|(name, value)| (name.clone(), copy(value))).collect())
}

/// Returns the top-level fields of an object with this content, except its metadata.
pub(crate) fn content_members(content: &impl ApiContent) -> Map<String, Value> {
    match json!(content) {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_ordered_by_name() {
        assert!(ObjectKind::ALL.is_sorted_by_key(|kind| kind.name()));
        assert_eq!(ObjectKind::named("FileWatch"), Some(ObjectKind::FileWatch));
        assert_eq!(ObjectKind::named("Pod"), None);
    }

    #[test]
    fn nulls_are_like_absent_fields() {
        let members = json!({"spec": {"args": ["a", null], "dir": null, "startOn": {"startAfter": null}}});
        let parsed = Content::parse(ObjectKind::Cmd, members.as_object().expect("an object"));
        let Ok(Content::Cmd(command)) = parsed else { panic!("{parsed:?}") };
        assert_eq!((command.spec.args.len(), command.spec.dir.as_str()), (1, ""));
        assert!(command.spec.start_on.is_some());
    }

    #[test]
    fn all_kinds_can_be_empty() {
        for kind in ObjectKind::ALL {
            let parsed = Content::parse(*kind, &Map::new()).expect("no field is required");
            assert_eq!(parsed, Content::empty(*kind), "{kind}");
        }
    }
}

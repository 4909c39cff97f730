//! Newtypes for names and ids, cheap to clone.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(as = "String"))]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl AsRef<str>) -> Self {
                Self(Arc::from(text.as_ref()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new("")
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Arc::from(text))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

name!(
    /// What the user calls a resource. Unique in a project.
    ResourceName
);
name!(
    /// An image as the Tiltfile names it: `web`, `gcr.io/team/web`, `web:tag`.
    ImageName
);
name!(
    /// A cluster of a session, named by its kubeconfig context. Empty: the session's own cluster, which is the default
    /// of resources.
    ClusterName
);
name!(
    /// The uid of a Kubernetes object.
    Uid
);
name!(
    /// A container's runtime id, for example `containerd://4f…`; it changes when the container restarts.
    ContainerId
);
name!(
    /// A section of the log: one update, one container of a pod, one run of a server.
    SpanId
);

impl ClusterName {
    pub fn is_session(&self) -> bool {
        self.as_str().is_empty()
    }

    /// Returns the name of its `Cluster` object. As in Tilt, that of the session is `default`.
    pub fn object_name(&self) -> String {
        match self.as_str() {
            "" => "default".to_owned(),
            taken @ ("default" | "docker") => format!("context-{taken}"),
            context => context.replace(['/', '%'], "_"),
        }
    }
}

impl ResourceName {
    /// The name of the resource with the objects that belong to no other resource, such as namespaces.
    pub const UNCATEGORIZED: &str = "uncategorized";

    /// Returns the name of the resource that represents the Tiltfile, as in Tilt.
    pub fn tiltfile() -> Self {
        Self::new("(Tiltfile)")
    }

    pub fn is_tiltfile(&self) -> bool {
        self.as_str() == "(Tiltfile)"
    }

    pub fn is_uncategorized(&self) -> bool {
        self.as_str() == Self::UNCATEGORIZED
    }
}

impl SpanId {
    /// Returns the span of a pod's output in the log of a resource, as Tilt names it. Two resources may share a pod.
    pub fn of_pod(resource: &ResourceName, pod: &str) -> Self {
        Self::from(format!("pod:{resource}:{pod}"))
    }
}

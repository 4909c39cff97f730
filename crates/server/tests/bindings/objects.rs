//! The kinds of the object API that the page reads, as TypeScript, with all types they refer to.

use lilt_api::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    Forward, ForwardStatus, KubernetesDiscoverySpec, KubernetesDiscoveryStateRunning,
    KubernetesDiscoveryStateWaiting, KubernetesDiscoveryStatus, KubernetesWatchRef, LabelSelector,
    LabelSelectorRequirement, Pod, PodCondition, PodLogStreamTemplateSpec, PodOwner, PortForwardSpec,
    PortForwardStatus, PortForwardTemplateSpec, UIBoolInputSpec, UIBoolInputStatus, UIButtonSpec,
    UIButtonStatus, UIChoiceInputSpec, UIChoiceInputStatus, UIComponentLocation, UIHiddenInputSpec,
    UIHiddenInputStatus, UIInputSpec, UIInputStatus, UITextInputSpec, UITextInputStatus,
};
use ts_rs::{Config, TS};

const HEAD: &str = "// Written by `cargo test -p lilt-server --features ts`; do not edit.\n\
    \nimport type { ObjectMeta, Time, Timestamp } from \"./protocol\";\n";

/// The specification always exists, the status later.
const OBJECT: &str = "\nexport interface ApiObject<Spec, Status> {\n  apiVersion?: string;\n  kind?: string;\n  \
    metadata: ObjectMeta;\n  spec: Spec;\n  status?: Status | null;\n}\n";

const KINDS: [&str; 3] = ["KubernetesDiscovery", "PortForward", "UIButton"];

pub(crate) fn declarations() -> String {
    let kind = |name: &str| format!("\nexport type {name} = ApiObject<{name}Spec, {name}Status>;\n");
    let kinds: String = KINDS.into_iter().map(kind).collect();
    let parts = declare![
        Container,
        ContainerState,
        ContainerStateRunning,
        ContainerStateTerminated,
        ContainerStateWaiting,
        Forward,
        ForwardStatus,
        KubernetesDiscoverySpec,
        KubernetesDiscoveryStateRunning,
        KubernetesDiscoveryStateWaiting,
        KubernetesDiscoveryStatus,
        KubernetesWatchRef,
        LabelSelector,
        LabelSelectorRequirement,
        Pod,
        PodCondition,
        PodLogStreamTemplateSpec,
        PodOwner,
        PortForwardSpec,
        PortForwardStatus,
        PortForwardTemplateSpec,
        UIBoolInputSpec,
        UIBoolInputStatus,
        UIButtonSpec,
        UIButtonStatus,
        UIChoiceInputSpec,
        UIChoiceInputStatus,
        UIComponentLocation,
        UIHiddenInputSpec,
        UIHiddenInputStatus,
        UIInputSpec,
        UIInputStatus,
        UITextInputSpec,
        UITextInputStatus,
    ];
    format!("{HEAD}{OBJECT}{kinds}{parts}")
}

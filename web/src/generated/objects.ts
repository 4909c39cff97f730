// Written by `cargo test -p lilt-server --features ts`; do not edit.

import type { ObjectMeta, Time, Timestamp } from "./protocol";

export interface ApiObject<Spec, Status> {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: Spec;
  status?: Status | null;
}

export type KubernetesDiscovery = ApiObject<KubernetesDiscoverySpec, KubernetesDiscoveryStatus>;

export type PortForward = ApiObject<PortForwardSpec, PortForwardStatus>;

export type UIButton = ApiObject<UIButtonSpec, UIButtonStatus>;

/**
 * A container of a pod.
 */
export type Container = { 
/**
 * ID of the container in the container runtime.
 */
id: string, 
/**
 * Image of the container.
 */
image: string, 
/**
 * Name of the container.
 */
name: string, 
/**
 * Ports that the container declares.
 */
ports: Array<number>, 
/**
 * Whether the container is ready.
 */
ready: boolean, 
/**
 * Number of restarts.
 */
restarts: number, 
/**
 * State of the container.
 */
state: ContainerState, };

/**
 * State of a container; exactly one field is set.
 */
export type ContainerState = { 
/**
 * Set while the container runs.
 */
running: ContainerStateRunning | null, 
/**
 * Set when the container has terminated.
 */
terminated: ContainerStateTerminated | null, 
/**
 * Set while the container has not started.
 */
waiting: ContainerStateWaiting | null, };

/**
 * Details of a running container.
 */
export type ContainerStateRunning = { 
/**
 * Time when the container started.
 */
startedAt: Time | null, };

/**
 * Details of a terminated container.
 */
export type ContainerStateTerminated = { 
/**
 * Exit code of the process.
 */
exitCode: number, 
/**
 * Time when the container terminated.
 */
finishedAt: Time | null, 
/**
 * Reason why the container terminated.
 */
reason?: string, 
/**
 * Time when the container started.
 */
startedAt: Time | null, };

/**
 * Details of a container that has not started.
 */
export type ContainerStateWaiting = { 
/**
 * Reason why the container is waiting.
 */
reason: string, };

/**
 * A port of this machine that is forwarded to a port of a pod.
 */
export type Forward = { 
/**
 * Port on this machine; 0 selects a free port.
 */
localPort?: number, 
/**
 * Port in the container.
 */
containerPort: number, 
/**
 * Address to listen on. Defaults to `localhost`.
 */
host?: string, 
/**
 * Name of the link to the port.
 */
name?: string, 
/**
 * Path appended to the URL of the link.
 */
path?: string, };

/**
 * State of a port forward.
 */
export type ForwardStatus = { 
/**
 * Port on this machine that is in use.
 */
localPort: number, 
/**
 * Port in the container.
 */
containerPort: number, 
/**
 * Addresses that are listened on.
 */
addresses: Array<string>, 
/**
 * Time when the port forward started.
 */
startedAt?: Timestamp | null, 
/**
 * The error; empty on success.
 */
error?: string, };

/**
 * The pods to find.
 */
export type KubernetesDiscoverySpec = { 
/**
 * Namespaces to watch, and owners of the pods.
 */
watches: Array<KubernetesWatchRef>, 
/**
 * Label selectors of additional pods in the watched namespaces.
 */
extraSelectors?: Array<LabelSelector>, 
/**
 * Port forwards to the best matching pod.
 */
portForwardTemplateSpec?: PortForwardTemplateSpec | null, 
/**
 * Logs of the pods to stream.
 */
podLogStreamTemplateSpec?: PodLogStreamTemplateSpec | null, 
/**
 * Name of the Cluster object. Defaults to `default`.
 */
cluster?: string, };

/**
 * Details of a running discovery.
 */
export type KubernetesDiscoveryStateRunning = { 
/**
 * Time when watching started.
 */
startTime: Timestamp | null, };

/**
 * Details of a discovery that has not started.
 */
export type KubernetesDiscoveryStateWaiting = { 
/**
 * Reason why the discovery is waiting.
 */
reason: string, };

/**
 * The pods that were found.
 */
export type KubernetesDiscoveryStatus = { 
/**
 * Time when watching started; changes after it are reported.
 */
monitorStartTime?: Timestamp | null, 
/**
 * Current pods.
 */
pods: Array<Pod>, 
/**
 * Set while pods are watched.
 */
running?: KubernetesDiscoveryStateRunning | null, 
/**
 * Set while watching has not started.
 */
waiting?: KubernetesDiscoveryStateWaiting | null, };

/**
 * A namespace to watch, and an owner of pods in it.
 */
export type KubernetesWatchRef = { 
/**
 * UID of the owner. If empty, pods are found only by `extraSelectors`.
 */
uid?: string, 
/**
 * Namespace to watch. Defaults to that of the kubeconfig context.
 */
namespace: string, 
/**
 * Name of the owner, for display only.
 */
name?: string, };

/**
 * A label query; all requirements must be met.
 */
export type LabelSelector = { 
/**
 * Required values by label key.
 */
matchLabels?: { [key in string]: string }, 
/**
 * Requirements as expressions.
 */
matchExpressions?: Array<LabelSelectorRequirement>, };

/**
 * A requirement for the value of a label.
 */
export type LabelSelectorRequirement = { 
/**
 * Key of the label.
 */
key: string, 
/**
 * `In`, `NotIn`, `Exists` or `DoesNotExist`.
 */
operator: string, 
/**
 * Values for `In` and `NotIn`.
 */
values?: Array<string>, };

/**
 * A pod, as reported by the cluster.
 */
export type Pod = { 
/**
 * UID of the topmost owner.
 */
ancestorUID?: string, 
/**
 * Conditions of the pod.
 */
conditions?: Array<PodCondition>, 
/**
 * Containers of the pod.
 */
containers: Array<Container>, 
/**
 * Time when the pod was created.
 */
createdAt: Time | null, 
/**
 * Whether the pod is being deleted.
 */
deleting: boolean, 
/**
 * Errors of the pod.
 */
errors: Array<string>, 
/**
 * Init containers of the pod.
 */
initContainers?: Array<Container>, 
/**
 * Name of the pod.
 */
name: string, 
/**
 * Namespace of the pod.
 */
namespace: string, 
/**
 * Direct owner of the pod.
 */
owner?: PodOwner | null, 
/**
 * One of `Pending`, `Running`, `Succeeded`, `Failed` and `Unknown`.
 */
phase: string, 
/**
 * Hash of the pod template; differs between deployments.
 */
podTemplateSpecHash?: string, 
/**
 * Status as shown by `kubectl get pods`.
 */
status: string, 
/**
 * UID of the pod.
 */
uid: string, };

/**
 * One aspect of the state of a pod.
 */
export type PodCondition = { 
/**
 * Time of the last change of `status`.
 */
lastTransitionTime?: Time | null, 
/**
 * Human-readable details.
 */
message?: string, 
/**
 * Reason for the last change of `status`.
 */
reason?: string, 
/**
 * `True`, `False` or `Unknown`.
 */
status: string, 
/**
 * Type of the condition, such as `Ready`.
 */
type: string, };

/**
 * The logs of pods to stream.
 */
export type PodLogStreamTemplateSpec = { 
/**
 * Skips log lines before this time.
 */
sinceTime?: Time | null, 
/**
 * Streams only these containers. Defaults to all containers.
 */
onlyContainers?: Array<string>, 
/**
 * Skips these containers.
 */
ignoreContainers?: Array<string>, };

/**
 * The direct owner of a pod.
 */
export type PodOwner = { 
/**
 * API group and version of the owner.
 */
apiVersion: string, 
/**
 * Time when the owner was created.
 */
creationTimestamp?: Time | null, 
/**
 * Kind of the owner.
 */
kind: string, 
/**
 * Name of the owner.
 */
name: string, };

/**
 * The pod and the ports to forward.
 */
export type PortForwardSpec = { 
/**
 * Name of the pod.
 */
podName: string, 
/**
 * Namespace of the pod. Defaults to that of the kubeconfig context.
 */
namespace?: string, 
/**
 * Ports to forward.
 */
forwards: Array<Forward>, 
/**
 * Name of the Cluster object. Defaults to `default`.
 */
cluster?: string, };

/**
 * The observed state of the port forwards.
 */
export type PortForwardStatus = { 
/**
 * State of each port forward.
 */
forwardStatuses?: Array<ForwardStatus>, };

/**
 * Port forwards to a pod.
 */
export type PortForwardTemplateSpec = { 
/**
 * Ports to forward.
 */
forwards: Array<Forward>, };

/**
 * A checkbox.
 */
export type UIBoolInputSpec = { 
/**
 * Whether the box is checked initially.
 */
defaultValue?: boolean, 
/**
 * Value of the environment variable if the box is checked. Defaults to `true`.
 */
trueString?: string | null, 
/**
 * Value of the environment variable if the box is not checked. Defaults to `false`.
 */
falseString?: string | null, };

/**
 * Value of a checkbox.
 */
export type UIBoolInputStatus = { 
/**
 * Whether the box was checked.
 */
value: boolean, };

/**
 * The location and the appearance of the button.
 */
export type UIButtonSpec = { 
/**
 * Location in the web UI.
 */
location: UIComponentLocation, 
/**
 * Text of the button.
 */
text: string, 
/**
 * Name of an icon of Material Icons.
 */
iconName?: string, 
/**
 * Icon as an `<svg>` element.
 */
iconSVG?: string, 
/**
 * Whether the button is disabled.
 */
disabled?: boolean, 
/**
 * Whether a second click is required to confirm.
 */
requiresConfirmation?: boolean, 
/**
 * Inputs that can be filled in before a click.
 */
inputs?: Array<UIInputSpec>, };

/**
 * The last click.
 */
export type UIButtonStatus = { 
/**
 * Time of the last click. A later time is a new click.
 */
lastClickedAt?: Timestamp | null, 
/**
 * Values of the inputs at the last click.
 */
inputs?: Array<UIInputStatus>, };

/**
 * A choice of one of several values.
 */
export type UIChoiceInputSpec = { 
/**
 * Values to choose from. The first one is the default.
 */
choices?: Array<string>, };

/**
 * Value of a choice.
 */
export type UIChoiceInputStatus = { 
/**
 * Value that was chosen.
 */
value: string, };

/**
 * A location in the web UI.
 */
export type UIComponentLocation = { 
/**
 * Name of the resource; for `Global`, the place, such as `nav`.
 */
componentID: string, 
/**
 * `Resource` or `Global`.
 */
componentType: string, };

/**
 * A value that is submitted without being shown.
 */
export type UIHiddenInputSpec = { 
/**
 * Value of the input.
 */
value: string, };

/**
 * Value of a hidden input.
 */
export type UIHiddenInputStatus = { 
/**
 * Value of the input.
 */
value: string, };

/**
 * An input of a button; one of `text`, `bool`, `choice` and `hidden` is set.
 */
export type UIInputSpec = { 
/**
 * Name of the input and of the environment variable with its value.
 */
name: string, 
/**
 * Label shown next to the input.
 */
label?: string, 
/**
 * A text field.
 */
text?: UITextInputSpec | null, 
/**
 * A checkbox.
 */
bool?: UIBoolInputSpec | null, 
/**
 * A value that is submitted without being shown.
 */
hidden?: UIHiddenInputSpec | null, 
/**
 * A choice of one of several values.
 */
choice?: UIChoiceInputSpec | null, };

/**
 * Value of an input at the last click.
 */
export type UIInputStatus = { 
/**
 * Name of the input.
 */
name: string, 
/**
 * Value of a text field.
 */
text?: UITextInputStatus | null, 
/**
 * Value of a checkbox.
 */
bool?: UIBoolInputStatus | null, 
/**
 * Value of a hidden input.
 */
hidden?: UIHiddenInputStatus | null, 
/**
 * Value of a choice.
 */
choice?: UIChoiceInputStatus | null, };

/**
 * A text field.
 */
export type UITextInputSpec = { 
/**
 * Initial value.
 */
defaultValue?: string, 
/**
 * Text shown while the field is empty.
 */
placeholder?: string, };

/**
 * Value of a text field.
 */
export type UITextInputStatus = { 
/**
 * Text that was entered.
 */
value: string, };

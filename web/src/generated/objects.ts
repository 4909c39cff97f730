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
 * What the container runtime calls it.
 */
id: string, 
/**
 * The image that it runs.
 */
image: string, 
/**
 * The name.
 */
name: string, 
/**
 * The ports that it declares.
 */
ports: Array<number>, 
/**
 * Whether it is ready.
 */
ready: boolean, 
/**
 * How often it was started again.
 */
restarts: number, 
/**
 * How it is; one of three.
 */
state: ContainerState, };

/**
 * How a container is; one of them.
 */
export type ContainerState = { 
/**
 * Set while it runs.
 */
running: ContainerStateRunning | null, 
/**
 * Set when it has ended.
 */
terminated: ContainerStateTerminated | null, 
/**
 * Set while it has not begun.
 */
waiting: ContainerStateWaiting | null, };

/**
 * It runs.
 */
export type ContainerStateRunning = { 
/**
 * When it began.
 */
startedAt: Time | null, };

/**
 * It has ended.
 */
export type ContainerStateTerminated = { 
/**
 * The code that the process ended with.
 */
exitCode: number, 
/**
 * When it ended.
 */
finishedAt: Time | null, 
/**
 * Why, in a word or a sentence.
 */
reason?: string, 
/**
 * When it began.
 */
startedAt: Time | null, };

/**
 * It has not begun.
 */
export type ContainerStateWaiting = { 
/**
 * Why, in a word or a sentence.
 */
reason: string, };

/**
 * A port of this machine that leads to one of a pod.
 */
export type Forward = { 
/**
 * The port on this machine; 0 takes one that is free.
 */
localPort?: number, 
/**
 * The port in the container.
 */
containerPort: number, 
/**
 * The address on this machine; without one it is localhost.
 */
host?: string, 
/**
 * What the link to it is called.
 */
name?: string, 
/**
 * What is appended to the link.
 */
path?: string, };

/**
 * How a forward goes.
 */
export type ForwardStatus = { 
/**
 * The port on this machine that it has.
 */
localPort: number, 
/**
 * The port in the container.
 */
containerPort: number, 
/**
 * Where it listens.
 */
addresses: Array<string>, 
/**
 * When it began.
 */
startedAt?: Timestamp | null, 
/**
 * What went wrong; empty if nothing did.
 */
error?: string, };

/**
 * Which pods.
 */
export type KubernetesDiscoverySpec = { 
/**
 * Where they are, and what they come of.
 */
watches: Array<KubernetesWatchRef>, 
/**
 * Pods of the watched namespaces with these labels count, too.
 */
extraSelectors?: Array<LabelSelector>, 
/**
 * Which ports lead to the best of them.
 */
portForwardTemplateSpec?: PortForwardTemplateSpec | null, 
/**
 * Which of their logs are shown.
 */
podLogStreamTemplateSpec?: PodLogStreamTemplateSpec | null, 
/**
 * The name of the Cluster object; without one it is "default".
 */
cluster?: string, };

/**
 * It looks for pods.
 */
export type KubernetesDiscoveryStateRunning = { 
/**
 * When it began.
 */
startTime: Timestamp | null, };

/**
 * It cannot look yet.
 */
export type KubernetesDiscoveryStateWaiting = { 
/**
 * Why, in a word or a sentence.
 */
reason: string, };

/**
 * The pods that were found.
 */
export type KubernetesDiscoveryStatus = { 
/**
 * Since when nothing is missed.
 */
monitorStartTime?: Timestamp | null, 
/**
 * The pods, as they are now.
 */
pods: Array<Pod>, 
/**
 * Set while it runs.
 */
running?: KubernetesDiscoveryStateRunning | null, 
/**
 * Set while it has not begun.
 */
waiting?: KubernetesDiscoveryStateWaiting | null, };

/**
 * A namespace, and an object in it that pods come of.
 */
export type KubernetesWatchRef = { 
/**
 * The uid of the object; without one the namespace alone counts.
 */
uid?: string, 
/**
 * The namespace.
 */
namespace: string, 
/**
 * The name of the object, for people.
 */
name?: string, };

/**
 * Which labels; all of it must be met.
 */
export type LabelSelector = { 
/**
 * Labels with these values.
 */
matchLabels?: { [key in string]: string }, 
/**
 * What must be so of labels.
 */
matchExpressions?: Array<LabelSelectorRequirement>, };

/**
 * What must be so of a label.
 */
export type LabelSelectorRequirement = { 
/**
 * The name of the label.
 */
key: string, 
/**
 * In, NotIn, Exists or DoesNotExist.
 */
operator: string, 
/**
 * The values for In and NotIn.
 */
values?: Array<string>, };

/**
 * A pod, as the cluster tells it.
 */
export type Pod = { 
/**
 * What it came of.
 */
ancestorUID?: string, 
/**
 * What the cluster says of it.
 */
conditions?: Array<PodCondition>, 
/**
 * Its containers.
 */
containers: Array<Container>, 
/**
 * When it was made.
 */
createdAt: Time | null, 
/**
 * Whether it is about to go.
 */
deleting: boolean, 
/**
 * What is wrong with it.
 */
errors: Array<string>, 
/**
 * Those that run before the others.
 */
initContainers?: Array<Container>, 
/**
 * The name.
 */
name: string, 
/**
 * The namespace in the cluster; without one it is that of the kubeconfig context.
 */
namespace: string, 
/**
 * What made it.
 */
owner?: PodOwner | null, 
/**
 * Pending, Running, Succeeded, Failed or Unknown.
 */
phase: string, 
/**
 * Tells pods of one deployment from those of the next.
 */
podTemplateSpecHash?: string, 
/**
 * How it is, as `kubectl get pods` says it.
 */
status: string, 
/**
 * Its uid.
 */
uid: string, };

/**
 * Something that is so of a pod, or is not.
 */
export type PodCondition = { 
/**
 * Since when it is so.
 */
lastTransitionTime?: Time | null, 
/**
 * More about it, for people.
 */
message?: string, 
/**
 * Why, in a word or a sentence.
 */
reason?: string, 
/**
 * True, False or Unknown.
 */
status: string, 
/**
 * What it is about, such as Ready.
 */
type: string, };

/**
 * Which logs of pods are shown.
 */
export type PodLogStreamTemplateSpec = { 
/**
 * Lines before that are left out.
 */
sinceTime?: Time | null, 
/**
 * Only those of these containers.
 */
onlyContainers?: Array<string>, 
/**
 * All but those of these containers.
 */
ignoreContainers?: Array<string>, };

/**
 * What made a pod.
 */
export type PodOwner = { 
/**
 * Group and version of the object.
 */
apiVersion: string, 
/**
 * When that was made.
 */
creationTimestamp?: Time | null, 
/**
 * What the object is.
 */
kind: string, 
/**
 * The name.
 */
name: string, };

/**
 * From where to where.
 */
export type PortForwardSpec = { 
/**
 * The pod.
 */
podName: string, 
/**
 * The namespace in the cluster; without one it is that of the kubeconfig context.
 */
namespace?: string, 
/**
 * The ports.
 */
forwards: Array<Forward>, 
/**
 * The name of the Cluster object; without one it is "default".
 */
cluster?: string, };

/**
 * How it goes.
 */
export type PortForwardStatus = { 
/**
 * Each of the ports.
 */
forwardStatuses?: Array<ForwardStatus>, };

/**
 * Which ports lead to a pod.
 */
export type PortForwardTemplateSpec = { 
/**
 * The ports.
 */
forwards: Array<Forward>, };

/**
 * A check box.
 */
export type UIBoolInputSpec = { 
/**
 * Whether it is checked at first.
 */
defaultValue?: boolean, 
/**
 * The variable's value if it is checked; without one: true.
 */
trueString?: string | null, 
/**
 * The variable's value if it is not checked; without one: false.
 */
falseString?: string | null, };

/**
 * What was entered.
 */
export type UIBoolInputStatus = { 
/**
 * The value.
 */
value: boolean, };

/**
 * How the button looks, and where.
 */
export type UIButtonSpec = { 
/**
 * Where on the page it stands.
 */
location: UIComponentLocation, 
/**
 * What stands on it.
 */
text: string, 
/**
 * The name of an icon of Material Icons.
 */
iconName?: string, 
/**
 * An icon as an <svg> element.
 */
iconSVG?: string, 
/**
 * Whether it cannot be clicked.
 */
disabled?: boolean, 
/**
 * Whether a second click is needed.
 */
requiresConfirmation?: boolean, 
/**
 * What can be entered before a click.
 */
inputs?: Array<UIInputSpec>, };

/**
 * The last click.
 */
export type UIButtonStatus = { 
/**
 * When it was clicked. A later time is a click.
 */
lastClickedAt?: Timestamp | null, 
/**
 * What was entered with it.
 */
inputs?: Array<UIInputStatus>, };

/**
 * One of several.
 */
export type UIChoiceInputSpec = { 
/**
 * What can be chosen. The first one is, at first.
 */
choices?: Array<string>, };

/**
 * What was chosen.
 */
export type UIChoiceInputStatus = { 
/**
 * The value.
 */
value: string, };

/**
 * A place on the page.
 */
export type UIComponentLocation = { 
/**
 * The name of the resource; of global ones, nav or another place.
 */
componentID: string, 
/**
 * Resource or Global.
 */
componentType: string, };

/**
 * A value that goes along.
 */
export type UIHiddenInputSpec = { 
/**
 * The value.
 */
value: string, };

/**
 * What went along.
 */
export type UIHiddenInputStatus = { 
/**
 * The value.
 */
value: string, };

/**
 * Something to enter; one of text, bool, choice and hidden.
 */
export type UIInputSpec = { 
/**
 * The name of the variable that gets it.
 */
name: string, 
/**
 * What stands beside it.
 */
label?: string, 
/**
 * A text.
 */
text?: UITextInputSpec | null, 
/**
 * A check box.
 */
bool?: UIBoolInputSpec | null, 
/**
 * Nothing to see: a value that goes along.
 */
hidden?: UIHiddenInputSpec | null, 
/**
 * One of several.
 */
choice?: UIChoiceInputSpec | null, };

/**
 * What was entered.
 */
export type UIInputStatus = { 
/**
 * Which of the inputs.
 */
name: string, 
/**
 * Of a text.
 */
text?: UITextInputStatus | null, 
/**
 * Of a check box.
 */
bool?: UIBoolInputStatus | null, 
/**
 * What went along.
 */
hidden?: UIHiddenInputStatus | null, 
/**
 * Of several.
 */
choice?: UIChoiceInputStatus | null, };

/**
 * A text.
 */
export type UITextInputSpec = { 
/**
 * What stands there at first.
 */
defaultValue?: string, 
/**
 * What stands there in grey while nothing does.
 */
placeholder?: string, };

/**
 * What was entered.
 */
export type UITextInputStatus = { 
/**
 * The value.
 */
value: string, };

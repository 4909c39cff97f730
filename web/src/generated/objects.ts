// Written by `cargo test -p lilt-server --features ts`; do not edit.

import type { ObjectMeta, Timestamp } from "./protocol";

export interface KubernetesDiscovery {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: KubernetesDiscoverySpec;
  status?: KubernetesDiscoveryStatus | null;
}

export interface PortForward {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: PortForwardSpec;
  status?: PortForwardStatus | null;
}

export interface UIButton {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: UIButtonSpec;
  status?: UIButtonStatus | null;
}

export interface Container {
  id: string;
  image: string;
  name: string;
  ports: number[] | null;
  ready: boolean;
  restarts: number;
  state: ContainerState;
}

export interface ContainerState {
  running: ContainerStateRunning | null;
  terminated: ContainerStateTerminated | null;
  waiting: ContainerStateWaiting | null;
}

export interface ContainerStateRunning {
  startedAt: Timestamp | null;
}

export interface ContainerStateTerminated {
  exitCode: number;
  finishedAt: Timestamp | null;
  reason?: string;
  startedAt: Timestamp | null;
}

export interface ContainerStateWaiting {
  reason: string;
}

export interface Forward {
  containerPort: number;
  host?: string;
  localPort?: number;
  name?: string;
  path?: string;
}

export interface ForwardStatus {
  addresses: string[] | null;
  containerPort: number;
  error?: string;
  localPort: number;
  startedAt?: Timestamp | null;
}

export interface KubernetesDiscoverySpec {
  cluster?: string;
  extraSelectors?: LabelSelector[] | null;
  podLogStreamTemplateSpec?: PodLogStreamTemplateSpec | null;
  portForwardTemplateSpec?: PortForwardTemplateSpec | null;
  watches: KubernetesWatchRef[] | null;
}

export interface KubernetesDiscoveryStateRunning {
  startTime: Timestamp | null;
}

export interface KubernetesDiscoveryStateWaiting {
  reason: string;
}

export interface KubernetesDiscoveryStatus {
  monitorStartTime?: Timestamp | null;
  pods: Pod[] | null;
  running?: KubernetesDiscoveryStateRunning | null;
  waiting?: KubernetesDiscoveryStateWaiting | null;
}

export interface KubernetesWatchRef {
  name?: string;
  namespace: string;
  uid?: string;
}

export interface LabelSelector {
  matchExpressions?: LabelSelectorRequirement[] | null;
  matchLabels?: Record<string, string>;
}

export interface LabelSelectorRequirement {
  key: string;
  operator: string;
  values?: string[] | null;
}

export interface Pod {
  ancestorUID?: string;
  conditions?: PodCondition[] | null;
  containers: Container[] | null;
  createdAt: Timestamp | null;
  deleting: boolean;
  errors: string[] | null;
  initContainers?: Container[] | null;
  name: string;
  namespace: string;
  owner?: PodOwner | null;
  phase: string;
  podTemplateSpecHash?: string;
  status: string;
  uid: string;
}

export interface PodCondition {
  lastTransitionTime?: Timestamp | null;
  message?: string;
  reason?: string;
  status: string;
  type: string;
}

export interface PodLogStreamTemplateSpec {
  ignoreContainers?: string[] | null;
  onlyContainers?: string[] | null;
  sinceTime?: Timestamp | null;
}

export interface PodOwner {
  apiVersion: string;
  creationTimestamp?: Timestamp | null;
  kind: string;
  name: string;
}

export interface PortForwardSpec {
  cluster?: string;
  forwards: Forward[] | null;
  namespace?: string;
  podName: string;
}

export interface PortForwardStatus {
  forwardStatuses?: ForwardStatus[] | null;
}

export interface PortForwardTemplateSpec {
  forwards: Forward[] | null;
}

export interface UIBoolInputSpec {
  defaultValue?: boolean;
  falseString?: string;
  trueString?: string;
}

export interface UIBoolInputStatus {
  value: boolean;
}

export interface UIButtonSpec {
  disabled?: boolean;
  iconName?: string;
  iconSVG?: string;
  inputs?: UIInputSpec[] | null;
  location: UIComponentLocation;
  requiresConfirmation?: boolean;
  text: string;
}

export interface UIButtonStatus {
  inputs?: UIInputStatus[] | null;
  lastClickedAt?: Timestamp | null;
}

export interface UIChoiceInputSpec {
  choices?: string[] | null;
}

export interface UIChoiceInputStatus {
  value: string;
}

export interface UIComponentLocation {
  componentID: string;
  componentType: string;
}

export interface UIHiddenInputSpec {
  value: string;
}

export interface UIHiddenInputStatus {
  value: string;
}

export interface UIInputSpec {
  bool?: UIBoolInputSpec | null;
  choice?: UIChoiceInputSpec | null;
  hidden?: UIHiddenInputSpec | null;
  label?: string;
  name: string;
  text?: UITextInputSpec | null;
}

export interface UIInputStatus {
  bool?: UIBoolInputStatus | null;
  choice?: UIChoiceInputStatus | null;
  hidden?: UIHiddenInputStatus | null;
  name: string;
  text?: UITextInputStatus | null;
}

export interface UITextInputSpec {
  defaultValue?: string;
  placeholder?: string;
}

export interface UITextInputStatus {
  value: string;
}

package api

// What follows describes the part of a pod that a graph may change. It stands in the definition once for each place where
// pods are described: this is why definitions grow beyond what an annotation can hold.

// IntOrString is a number or a text, such as a port or its name.
type IntOrString string

// Quantity is an amount, such as 500m or 2Gi.
type Quantity string

// PodSpec describes what is on a node together.
type PodSpec struct {
	// Containers that run side by side. The operator's own is named main.
	Containers []Container `json:"containers,omitempty"`
	// InitContainers run before, one after another.
	InitContainers []Container `json:"initContainers,omitempty"`
	// Volumes that containers can mount.
	Volumes []Volume `json:"volumes,omitempty"`
	// NodeSelector has labels that a node must have.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Affinity says where pods would rather be, or must be.
	Affinity *Affinity `json:"affinity,omitempty"`
	// Tolerations for taints of nodes.
	Tolerations []Toleration `json:"tolerations,omitempty"`
	// ServiceAccountName is whom the pods are for the API server.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// AutomountServiceAccountToken gives them its token.
	AutomountServiceAccountToken bool `json:"automountServiceAccountToken,omitempty"`
	// ImagePullSecrets are needed for images of private registries.
	ImagePullSecrets []LocalReference `json:"imagePullSecrets,omitempty"`
	// PriorityClassName says who has to go first when there is no room.
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// SchedulerName is who chooses the node.
	SchedulerName string `json:"schedulerName,omitempty"`
	// HostNetwork gives the pods the network of the node.
	HostNetwork bool `json:"hostNetwork,omitempty"`
	// ShareProcessNamespace lets containers of a pod see each other's processes.
	ShareProcessNamespace bool `json:"shareProcessNamespace,omitempty"`
	// TerminationGracePeriodSeconds is how long a pod may take to end.
	//
	// +minimum=0
	TerminationGracePeriodSeconds int `json:"terminationGracePeriodSeconds,omitempty"`
	// SecurityContext of all containers.
	SecurityContext *PodSecurityContext `json:"securityContext,omitempty"`
}

// Container is one program with its files.
type Container struct {
	// Name within the pod.
	Name string `json:"name"`
	// Image with its files.
	Image string `json:"image,omitempty"`
	// ImagePullPolicy says when it is fetched anew.
	//
	// +enum=Always;IfNotPresent;Never
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`
	// Command in place of the entry point of the image.
	Command []string `json:"command,omitempty"`
	// Args of the command.
	Args []string `json:"args,omitempty"`
	// WorkingDir in which it starts.
	WorkingDir string `json:"workingDir,omitempty"`
	// Env is its environment.
	Env []Variable `json:"env,omitempty"`
	// EnvFrom takes all variables of a ConfigMap or Secret.
	EnvFrom []EnvFrom `json:"envFrom,omitempty"`
	// Ports that it listens on.
	Ports []Port `json:"ports,omitempty"`
	// Resources it needs, and may use at most.
	Resources *Resources `json:"resources,omitempty"`
	// VolumeMounts say where volumes are seen.
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty"`
	// LivenessProbe decides whether it must be started again.
	LivenessProbe *Probe `json:"livenessProbe,omitempty"`
	// ReadinessProbe decides whether it gets requests.
	ReadinessProbe *Probe `json:"readinessProbe,omitempty"`
	// StartupProbe must succeed before the other ones begin.
	StartupProbe *Probe `json:"startupProbe,omitempty"`
	// Lifecycle has what is done when it starts and before it ends.
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
	// SecurityContext of this container.
	SecurityContext *SecurityContext `json:"securityContext,omitempty"`
	// RestartPolicy Always makes an init container one that stays.
	//
	// +enum=Always
	RestartPolicy string `json:"restartPolicy,omitempty"`
}

// Variable of an environment.
type Variable struct {
	// Name of the variable.
	Name string `json:"name"`
	// Value it has.
	Value string `json:"value,omitempty"`
	// ValueFrom says where the value is.
	ValueFrom *Source `json:"valueFrom,omitempty"`
}

// Source of a value.
type Source struct {
	// FieldRef is a field of the pod.
	FieldRef *FieldRef `json:"fieldRef,omitempty"`
	// ConfigMapKeyRef is a key of a ConfigMap.
	ConfigMapKeyRef *KeyRef `json:"configMapKeyRef,omitempty"`
	// SecretKeyRef is a key of a Secret.
	SecretKeyRef *KeyRef `json:"secretKeyRef,omitempty"`
}

// FieldRef names a field of the pod.
type FieldRef struct {
	// APIVersion of the path.
	APIVersion string `json:"apiVersion,omitempty"`
	// FieldPath such as metadata.name.
	FieldPath string `json:"fieldPath"`
}

// KeyRef names a key of a ConfigMap or Secret.
type KeyRef struct {
	// Name of the object.
	Name string `json:"name"`
	// Key in it.
	Key string `json:"key"`
	// Optional ones may be missing.
	Optional bool `json:"optional,omitempty"`
}

// EnvFrom takes all keys of an object.
type EnvFrom struct {
	// Prefix of the names.
	Prefix string `json:"prefix,omitempty"`
	// ConfigMapRef names the ConfigMap.
	ConfigMapRef *OptionalReference `json:"configMapRef,omitempty"`
	// SecretRef names the Secret.
	SecretRef *OptionalReference `json:"secretRef,omitempty"`
}

// OptionalReference names an object of the namespace.
type OptionalReference struct {
	// Name of the object.
	Name string `json:"name"`
	// Optional ones may be missing.
	Optional bool `json:"optional,omitempty"`
}

// LocalReference names an object of the namespace.
type LocalReference struct {
	// Name of the object.
	Name string `json:"name"`
}

// Port of a container.
type Port struct {
	// Name of the port.
	Name string `json:"name,omitempty"`
	// ContainerPort is its number.
	//
	// +minimum=1
	// +maximum=65535
	ContainerPort int `json:"containerPort"`
	// HostPort is the number it has on the node.
	//
	// +minimum=1
	// +maximum=65535
	HostPort int `json:"hostPort,omitempty"`
	// Protocol is TCP unless given.
	//
	// +enum=TCP;UDP;SCTP
	Protocol string `json:"protocol,omitempty"`
}

// Resources that a container needs.
type Resources struct {
	// Requests are kept free for it.
	Requests map[string]Quantity `json:"requests,omitempty"`
	// Limits are what it may use at most.
	Limits map[string]Quantity `json:"limits,omitempty"`
}

// VolumeMount says where a volume is seen.
type VolumeMount struct {
	// Name of the volume.
	Name string `json:"name"`
	// MountPath in the container.
	MountPath string `json:"mountPath"`
	// SubPath of the volume.
	SubPath string `json:"subPath,omitempty"`
	// ReadOnly forbids to write.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// Probe asks a container how it is.
type Probe struct {
	Handler `json:",inline"`
	// InitialDelaySeconds before the first attempt.
	InitialDelaySeconds int `json:"initialDelaySeconds,omitempty"`
	// PeriodSeconds between attempts.
	PeriodSeconds int `json:"periodSeconds,omitempty"`
	// TimeoutSeconds of an attempt.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// SuccessThreshold is how many must succeed.
	SuccessThreshold int `json:"successThreshold,omitempty"`
	// FailureThreshold is how many must fail.
	FailureThreshold int `json:"failureThreshold,omitempty"`
}

// Handler is something that is done with a container.
type Handler struct {
	// Exec runs a command in it.
	Exec *ExecAction `json:"exec,omitempty"`
	// HTTPGet asks for a page.
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty"`
	// TCPSocket opens a connection.
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty"`
}

// ExecAction runs a command in the container.
type ExecAction struct {
	// Command with its arguments.
	Command []string `json:"command,omitempty"`
}

// HTTPGetAction asks for a page.
type HTTPGetAction struct {
	// Path of the page.
	Path string `json:"path,omitempty"`
	// Port by number or name.
	Port IntOrString `json:"port"`
	// Host in place of the pod.
	Host string `json:"host,omitempty"`
	// Scheme is HTTP unless given.
	//
	// +enum=HTTP;HTTPS
	Scheme string `json:"scheme,omitempty"`
	// HTTPHeaders that are sent.
	HTTPHeaders []Header `json:"httpHeaders,omitempty"`
}

// Header of a request.
type Header struct {
	// Name of the header.
	Name string `json:"name"`
	// Value of the header.
	Value string `json:"value"`
}

// TCPSocketAction opens a connection.
type TCPSocketAction struct {
	// Port by number or name.
	Port IntOrString `json:"port"`
	// Host in place of the pod.
	Host string `json:"host,omitempty"`
}

// Lifecycle has what is done at the ends of a container's life.
type Lifecycle struct {
	// PostStart is done when it has started.
	PostStart *Handler `json:"postStart,omitempty"`
	// PreStop is done before it is told to end.
	PreStop *Handler `json:"preStop,omitempty"`
}

// SecurityContext of a container.
type SecurityContext struct {
	// RunAsUser is the number of the user.
	RunAsUser int `json:"runAsUser,omitempty"`
	// RunAsGroup is the number of the group.
	RunAsGroup int `json:"runAsGroup,omitempty"`
	// RunAsNonRoot refuses to start as root.
	RunAsNonRoot bool `json:"runAsNonRoot,omitempty"`
	// Privileged lifts all bounds.
	Privileged bool `json:"privileged,omitempty"`
	// AllowPrivilegeEscalation lets processes gain rights.
	AllowPrivilegeEscalation bool `json:"allowPrivilegeEscalation,omitempty"`
	// ReadOnlyRootFilesystem forbids to write to the image's files.
	ReadOnlyRootFilesystem bool `json:"readOnlyRootFilesystem,omitempty"`
	// Capabilities that are given or taken.
	Capabilities *Capabilities `json:"capabilities,omitempty"`
	// SeccompProfile that bounds its calls.
	SeccompProfile *Profile `json:"seccompProfile,omitempty"`
}

// PodSecurityContext of all containers of a pod.
type PodSecurityContext struct {
	// RunAsUser is the number of the user.
	RunAsUser int `json:"runAsUser,omitempty"`
	// RunAsGroup is the number of the group.
	RunAsGroup int `json:"runAsGroup,omitempty"`
	// RunAsNonRoot refuses to start as root.
	RunAsNonRoot bool `json:"runAsNonRoot,omitempty"`
	// FSGroup owns volumes.
	FSGroup int `json:"fsGroup,omitempty"`
	// SupplementalGroups of all processes.
	SupplementalGroups []int `json:"supplementalGroups,omitempty"`
	// SeccompProfile that bounds their calls.
	SeccompProfile *Profile `json:"seccompProfile,omitempty"`
}

// Capabilities are single rights of root.
type Capabilities struct {
	// Add gives them.
	Add []string `json:"add,omitempty"`
	// Drop takes them.
	Drop []string `json:"drop,omitempty"`
}

// Profile bounds what a process may do.
type Profile struct {
	// Type of the profile.
	//
	// +enum=Unconfined;RuntimeDefault;Localhost
	Type string `json:"type"`
	// LocalhostProfile is its file on the node.
	LocalhostProfile string `json:"localhostProfile,omitempty"`
}

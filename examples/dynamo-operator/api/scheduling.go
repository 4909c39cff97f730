package api

// Volume has files that containers can share.
type Volume struct {
	// Name within the pod.
	Name string `json:"name"`
	// EmptyDir lives as long as the pod.
	EmptyDir *EmptyDir `json:"emptyDir,omitempty"`
	// HostPath is a path of the node.
	HostPath *HostPath `json:"hostPath,omitempty"`
	// ConfigMap has its keys as files.
	ConfigMap *Keys `json:"configMap,omitempty"`
	// Secret has its keys as files.
	Secret *SecretKeys `json:"secret,omitempty"`
	// PersistentVolumeClaim outlives the pod.
	PersistentVolumeClaim *ClaimedVolume `json:"persistentVolumeClaim,omitempty"`
}

// EmptyDir is empty at first.
type EmptyDir struct {
	// Medium is Memory, or the disk.
	Medium string `json:"medium,omitempty"`
	// SizeLimit of it.
	SizeLimit Quantity `json:"sizeLimit,omitempty"`
}

// HostPath is a path of the node.
type HostPath struct {
	// Path on the node.
	Path string `json:"path"`
	// Type that it must have.
	Type string `json:"type,omitempty"`
}

// Keys are files made of the keys of an object.
type Keys struct {
	// Name of the object.
	Name string `json:"name"`
	// Items that are wanted, all unless given.
	Items []Item `json:"items,omitempty"`
	// DefaultMode of the files.
	DefaultMode int `json:"defaultMode,omitempty"`
	// Optional ones may be missing.
	Optional bool `json:"optional,omitempty"`
}

// SecretKeys are files made of the keys of a Secret.
type SecretKeys struct {
	// SecretName is its name.
	SecretName string `json:"secretName"`
	// Items that are wanted, all unless given.
	Items []Item `json:"items,omitempty"`
	// DefaultMode of the files.
	DefaultMode int `json:"defaultMode,omitempty"`
	// Optional ones may be missing.
	Optional bool `json:"optional,omitempty"`
}

// Item is a key as a file.
type Item struct {
	// Key of the object.
	Key string `json:"key"`
	// Path of the file.
	Path string `json:"path"`
	// Mode of the file.
	Mode int `json:"mode,omitempty"`
}

// ClaimedVolume names a claim.
type ClaimedVolume struct {
	// ClaimName is its name.
	ClaimName string `json:"claimName"`
	// ReadOnly forbids to write.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// Affinity says where pods would rather be, or must be.
type Affinity struct {
	// NodeAffinity is about labels of nodes.
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty"`
	// PodAffinity is to be near to pods.
	PodAffinity *PodAffinity `json:"podAffinity,omitempty"`
	// PodAntiAffinity is to be far from pods.
	PodAntiAffinity *PodAffinity `json:"podAntiAffinity,omitempty"`
}

// NodeAffinity is about labels of nodes.
type NodeAffinity struct {
	// Required must hold.
	Required *NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
	// Preferred should hold.
	Preferred []WeightedNodeTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// NodeSelector has terms of which one must hold.
type NodeSelector struct {
	// NodeSelectorTerms of which one must hold.
	NodeSelectorTerms []NodeTerm `json:"nodeSelectorTerms"`
}

// WeightedNodeTerm counts if it holds.
type WeightedNodeTerm struct {
	// Weight of the term.
	//
	// +minimum=1
	// +maximum=100
	Weight int `json:"weight"`
	// Preference is the term.
	Preference NodeTerm `json:"preference"`
}

// NodeTerm has rules that must all hold.
type NodeTerm struct {
	// MatchExpressions about labels.
	MatchExpressions []Rule `json:"matchExpressions,omitempty"`
	// MatchFields about fields.
	MatchFields []Rule `json:"matchFields,omitempty"`
}

// Rule about a label or field.
type Rule struct {
	// Key of the label.
	Key string `json:"key"`
	// Operator such as In or Exists.
	Operator string `json:"operator"`
	// Values to compare with.
	Values []string `json:"values,omitempty"`
}

// PodAffinity is about pods that run.
type PodAffinity struct {
	// Required must hold.
	Required []PodTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
	// Preferred should hold.
	Preferred []WeightedPodTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// WeightedPodTerm counts if it holds.
type WeightedPodTerm struct {
	// Weight of the term.
	//
	// +minimum=1
	// +maximum=100
	Weight int `json:"weight"`
	// PodAffinityTerm is the term.
	PodAffinityTerm PodTerm `json:"podAffinityTerm"`
}

// PodTerm says which pods, and how near.
type PodTerm struct {
	// LabelSelector says which pods.
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`
	// NamespaceSelector says in which namespaces.
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`
	// Namespaces by name.
	Namespaces []string `json:"namespaces,omitempty"`
	// TopologyKey is the label of nodes that are near each other.
	TopologyKey string `json:"topologyKey"`
}

// LabelSelector says which objects.
type LabelSelector struct {
	// MatchLabels must be there.
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// MatchExpressions must hold.
	MatchExpressions []Rule `json:"matchExpressions,omitempty"`
}

// Toleration of a taint.
type Toleration struct {
	// Key of the taint.
	Key string `json:"key,omitempty"`
	// Operator is Equal unless given.
	//
	// +enum=Equal;Exists
	Operator string `json:"operator,omitempty"`
	// Value of the taint.
	Value string `json:"value,omitempty"`
	// Effect of the taint.
	Effect string `json:"effect,omitempty"`
	// TolerationSeconds until it must go.
	TolerationSeconds int `json:"tolerationSeconds,omitempty"`
}

// Package api has what people write into the cluster. cmd/codegen makes the definitions of the kinds from this source: comments
// become descriptions, lines that begin with + become rules.
package api

// GraphDeployment serves a model with several programs that work together.
//
// +kind=graphdeployments
type GraphDeployment struct {
	Metadata Metadata    `json:"metadata"`
	Spec     GraphSpec   `json:"spec"`
	Status   GraphStatus `json:"status,omitempty"`
}

// GraphSpec says which roles there are.
type GraphSpec struct {
	// Model to serve.
	Model string `json:"model"`
	// Image of all pods that name no other.
	//
	// +default=busybox
	Image string `json:"image,omitempty"`
	// SSHKeySecret has the key with which pods reach those on further nodes. The operator names its own if none is named.
	SSHKeySecret string `json:"sshKeySecret,omitempty"`
	// Frontend takes requests.
	Frontend *Role `json:"frontend,omitempty"`
	// Planner looks at the load.
	Planner *Role `json:"planner,omitempty"`
	// Prefill reads prompts. It is of use only beside decode.
	Prefill *Role `json:"prefill,omitempty"`
	// Decode writes answers.
	Decode *Role `json:"decode,omitempty"`
}

// Role is what one program of the graph runs as.
type Role struct {
	Pods `json:",inline"`
	// Followers are the pods on further nodes, for models that are too large for one.
	Followers *Pods `json:"followers,omitempty"`
}

// Pods are made alike.
type Pods struct {
	// Replicas wanted.
	//
	// +minimum=0
	// +maximum=100
	// +default=1
	Replicas int `json:"replicas,omitempty"`
	// Image in place of the graph's.
	Image string `json:"image,omitempty"`
	// Command in place of the image's.
	Command []string `json:"command,omitempty"`
	// Env is added to the environment.
	Env map[string]string `json:"env,omitempty"`
	// PodSpec is merged over what the operator would make: elements with a name by their name.
	//
	// +schema=PodSpec
	PodSpec map[string]any `json:"podSpec,omitempty"`
}

// GraphStatus is what the operator saw.
type GraphStatus struct {
	// Phase is Ready when every role has the pods it wants.
	//
	// +enum=Pending;Ready
	Phase string `json:"phase,omitempty"`
	// Roles with how many of their pods are ready.
	Roles map[string]string `json:"roles,omitempty"`
}

// GraphDeploymentRequest asks for a graph without saying what it is made of.
//
// +kind=graphdeploymentrequests
type GraphDeploymentRequest struct {
	Metadata Metadata      `json:"metadata"`
	Spec     RequestSpec   `json:"spec"`
	Status   RequestStatus `json:"status,omitempty"`
}

// RequestSpec is what is asked for.
type RequestSpec struct {
	// Model to serve.
	Model string `json:"model"`
	// Workers that share the load. With two or more, prefill and decode are apart.
	//
	// +minimum=1
	// +maximum=100
	// +default=1
	Workers int `json:"workers,omitempty"`
}

// RequestStatus says what came of it.
type RequestStatus struct {
	// Graph that was made.
	Graph string `json:"graph,omitempty"`
}

// Metadata is what the operator needs to know of any object.
type Metadata struct {
	Name              string   `json:"name"`
	Namespace         string   `json:"namespace"`
	UID               string   `json:"uid"`
	ResourceVersion   string   `json:"resourceVersion"`
	DeletionTimestamp string   `json:"deletionTimestamp"`
	Finalizers        []string `json:"finalizers"`
}

// NamedPods is one workload of a graph.
type NamedPods struct {
	Role string
	Pods Pods
}

// HasFollowers says whether pods on several nodes work as one.
func (spec GraphSpec) HasFollowers() bool {
	for _, role := range []*Role{spec.Frontend, spec.Planner, spec.Prefill, spec.Decode} {
		if role != nil && role.Followers != nil {
			return true
		}
	}
	return false
}

// Workloads lists what a graph wants to run, always in the same order.
func (spec GraphSpec) Workloads() []NamedPods {
	var all []NamedPods
	for _, one := range []struct {
		name string
		role *Role
	}{{"frontend", spec.Frontend}, {"planner", spec.Planner}, {"prefill", spec.Prefill}, {"decode", spec.Decode}} {
		if one.role == nil {
			continue
		}
		all = append(all, NamedPods{one.name, one.role.Pods})
		if one.role.Followers != nil {
			all = append(all, NamedPods{one.name + "-followers", *one.role.Followers})
		}
	}
	return all
}

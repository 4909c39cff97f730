package controller

import (
	"maps"
	"slices"

	"example.com/dynamo-operator/api"
)

// message is the first line that every pod of a graph logs. Change it while lilt runs: new pods log it in a moment.
const message = "is at your service"

// workload is the Deployment of one role.
func (c *Controller) workload(graph api.GraphDeployment, name string, wanted api.NamedPods) object {
	labels := object{c.label("graph"): graph.Metadata.Name, c.label("role"): wanted.Role}
	pod := merge(c.pod(graph, wanted), wanted.Pods.PodSpec)
	return object{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata": object{
			"name":            name,
			"labels":          labels,
			"ownerReferences": c.owner("GraphDeployment", graph.Metadata),
		},
		"spec": object{
			"replicas": wanted.Pods.Replicas,
			"selector": object{"matchLabels": labels},
			"template": object{"metadata": object{"labels": labels}, "spec": pod},
		},
	}
}

func (c *Controller) pod(graph api.GraphDeployment, wanted api.NamedPods) object {
	image, command := graph.Spec.Image, wanted.Pods.Command
	if wanted.Pods.Image != "" {
		image = wanted.Pods.Image
	}
	if len(command) == 0 {
		command = []string{"sh", "-c", `echo "$GRAPH: $ROLE of $MODEL $MESSAGE"; exec sleep 1000000`}
	}
	env := []any{
		object{"name": "GRAPH", "value": graph.Metadata.Name},
		object{"name": "MODEL", "value": graph.Spec.Model},
		object{"name": "ROLE", "value": wanted.Role},
		object{"name": "MESSAGE", "value": message},
	}
	// In a fixed order: another one would change the pod template.
	for _, name := range slices.Sorted(maps.Keys(wanted.Pods.Env)) {
		env = append(env, object{"name": name, "value": wanted.Pods.Env[name]})
	}
	main := object{"name": "main", "image": image, "command": command, "env": env}
	pod := object{"containers": []any{main}, "terminationGracePeriodSeconds": 0}
	if key := graph.Spec.SSHKeySecret; key != "" {
		// Optional: graphs in other namespaces have their own.
		secret := object{"secretName": key, "defaultMode": 0o400, "optional": true}
		pod["volumes"] = []any{object{"name": "ssh-key", "secret": secret}}
		main["volumeMounts"] = []any{object{"name": "ssh-key", "mountPath": "/etc/graph/ssh", "readOnly": true}}
	}
	return pod
}

// merge merges two trees: list elements with a name by their name, other lists as a whole.
func merge(under, over any) any {
	switch over := over.(type) {
	case nil:
		return under
	case object:
		made := object{}
		if under, ok := under.(object); ok {
			for key, value := range under {
				made[key] = value
			}
		}
		for key, value := range over {
			made[key] = merge(made[key], value)
		}
		return made
	case []any:
		return mergeLists(under, over)
	}
	return over
}

func mergeLists(under any, over []any) any {
	named := func(element any) any {
		fields, _ := element.(object)
		return fields["name"]
	}
	old, _ := under.([]any)
	made := append([]any{}, old...)
	for _, element := range over {
		if named(element) == nil {
			return over
		}
		place := -1
		for i, other := range made {
			if named(other) == named(element) {
				place = i
			}
		}
		if place < 0 {
			made = append(made, element)
		} else {
			made[place] = merge(made[place], element)
		}
	}
	return made
}

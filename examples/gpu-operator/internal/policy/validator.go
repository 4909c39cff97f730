package policy

import (
	"context"
	"log"
	"net/http"

	"example.com/gpu-operator/internal/kube"
)

type object = map[string]any

type pod struct {
	Metadata struct {
		DeletionTimestamp string
		Annotations       map[string]string
	}
	Status struct {
		Conditions []struct{ Type, Status string }
	}
}

// validate creates or replaces the validator as the policy demands, and returns its status.
func (o *Operator) validate(ctx context.Context, policy Policy) (string, error) {
	pods, name := o.pods(), policy.validator()
	wanted := policy.image() + " " + policy.Spec.Operator.DefaultRuntime
	var found pod
	err := o.Client.Do(ctx, http.MethodGet, pods+"/"+name, nil, &found)
	switch {
	case kube.Is(err, http.StatusNotFound):
		log.Printf("%s: a validator with %s", policy.Metadata.Name, wanted)
		return "notReady", o.Client.Do(ctx, http.MethodPost, pods, o.pod(policy, name, wanted), nil)
	case err != nil:
		return "", err
	case found.Metadata.DeletionTimestamp != "":
		return "notReady", nil
	case found.Metadata.Annotations["gpu.example.com/wanted"] != wanted:
		log.Printf("%s: the validator is to be another one", policy.Metadata.Name)
		return "notReady", o.Client.Do(ctx, http.MethodDelete, pods+"/"+name, nil, nil)
	}
	for _, condition := range found.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == "True" {
			return "ready", nil
		}
	}
	return "notReady", nil
}

// remove deletes the validator, and returns whether it is gone.
func (o *Operator) remove(ctx context.Context, policy Policy) (bool, error) {
	err := o.Client.Do(ctx, http.MethodDelete, o.pods()+"/"+policy.validator(), nil, nil)
	if kube.Is(err, http.StatusNotFound) {
		return true, nil
	}
	return false, err
}

func (o *Operator) pods() string {
	return "/api/v1/namespaces/" + o.Namespace + "/pods"
}

func (p *Policy) validator() string {
	return p.Metadata.Name + "-validator"
}

// pod returns the validator's pod, which its policy owns.
func (o *Operator) pod(policy Policy, name, wanted string) object {
	secrets := []object{}
	for _, secret := range policy.Spec.Validator.ImagePullSecrets {
		secrets = append(secrets, object{"name": secret})
	}
	return object{
		"metadata": object{
			"name":        name,
			"labels":      object{"app": name},
			"annotations": object{"gpu.example.com/wanted": wanted},
			"ownerReferences": []object{{
				"apiVersion": "gpu.example.com/v1", "kind": "ClusterPolicy", "controller": true,
				"name": policy.Metadata.Name, "uid": policy.Metadata.UID,
			}},
		},
		"spec": object{
			"terminationGracePeriodSeconds": 0,
			"automountServiceAccountToken":  false,
			"imagePullSecrets":              secrets,
			"securityContext":               object{"runAsNonRoot": true},
			"containers": []object{{
				"name":           "validator",
				"image":          policy.image(),
				"args":           []string{"validate", policy.Spec.Operator.DefaultRuntime},
				"ports":          []object{{"containerPort": 8080}},
				"readinessProbe": object{"httpGet": object{"path": "/", "port": 8080}, "periodSeconds": 1},
			}},
		},
	}
}

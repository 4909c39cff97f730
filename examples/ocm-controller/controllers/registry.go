package controllers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"example.com/ocm-controller/pkg/kube"
)

const registryPort = 5000

// Registry is a Deployment that the controller creates when there is something to deliver.
type Registry struct {
	Client    *kube.Client
	Namespace string
	// The controller's own pod, whose image the registry runs, too.
	Pod string
}

type object = map[string]any

// No keep-alive: a connection would stay with the pod that the service led to when it was opened.
var client = http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second}

// Ensure creates the missing parts of the registry.
func (r *Registry) Ensure(ctx context.Context) error {
	deployments := "/apis/apps/v1/namespaces/" + r.Namespace + "/deployments"
	err := r.Client.Do(ctx, http.MethodGet, deployments+"/registry", nil, nil)
	if !kube.Is(err, http.StatusNotFound) {
		return err
	}
	var pod struct {
		Spec struct{ Containers []struct{ Image string } }
	}
	if err := r.Client.Do(ctx, http.MethodGet, "/api/v1/namespaces/"+r.Namespace+"/pods/"+r.Pod, nil, &pod); err != nil {
		return err
	}
	labels := object{"app": "registry"}
	container := object{
		"name":            "registry",
		"image":           pod.Spec.Containers[0].Image,
		"command":         []string{"/manager", "registry"},
		"ports":           []object{{"containerPort": registryPort}},
		"readinessProbe":  object{"tcpSocket": object{"port": registryPort}, "periodSeconds": 1},
		"securityContext": object{"allowPrivilegeEscalation": false, "capabilities": object{"drop": []string{"ALL"}}},
	}
	deployment := object{
		"metadata": object{"name": "registry", "labels": labels},
		"spec": object{
			"selector": object{"matchLabels": labels},
			"template": object{
				"metadata": object{"labels": labels},
				"spec": object{
					"containers":                    []object{container},
					"securityContext":               object{"runAsNonRoot": true},
					"automountServiceAccountToken":  false,
					"terminationGracePeriodSeconds": 1,
				},
			},
		},
	}
	service := object{
		"metadata": object{"name": "registry", "labels": labels},
		"spec":     object{"selector": labels, "ports": []object{{"port": registryPort}}},
	}
	if err := r.Client.Do(ctx, http.MethodPost, r.services(), service, nil); err != nil && !kube.Is(err, http.StatusConflict) {
		return err
	}
	return r.Client.Do(ctx, http.MethodPost, deployments, deployment, nil)
}

// Remove deletes what exists of the registry.
func (r *Registry) Remove(ctx context.Context) error {
	parts := []string{"/apis/apps/v1/namespaces/" + r.Namespace + "/deployments/registry", r.services() + "/registry"}
	for _, part := range parts {
		if err := r.Client.Do(ctx, http.MethodDelete, part, nil, nil); err != nil && !kube.Is(err, http.StatusNotFound) {
			return err
		}
	}
	return nil
}

// Send sends a request about a snapshot to the registry.
func (r *Registry) Send(ctx context.Context, method, name string, body io.Reader) error {
	address := fmt.Sprintf("http://registry.%s.svc:%d/%s", r.Namespace, registryPort, name)
	request, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("the registry does not answer: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the registry answers %s", answer.Status)
	}
	return nil
}

func (r *Registry) services() string {
	return "/api/v1/namespaces/" + r.Namespace + "/services"
}

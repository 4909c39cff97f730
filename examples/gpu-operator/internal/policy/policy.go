// Package policy keeps one validator per cluster policy, with the image that the policy names.
package policy

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"slices"
	"time"

	"example.com/gpu-operator/internal/kube"
)

const (
	policies = "/apis/gpu.example.com/v1/clusterpolicies"
	// Keeps a policy in the cluster until its validator is deleted.
	finalizer = "gpu.example.com/validator"
)

// Policy is a ClusterPolicy object.
type Policy struct {
	Metadata struct {
		Name            string `json:"name"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
		// Set when it is being deleted.
		DeletionTimestamp string   `json:"deletionTimestamp"`
		Finalizers        []string `json:"finalizers"`
	} `json:"metadata"`
	Spec struct {
		Operator struct {
			DefaultRuntime string `json:"defaultRuntime"`
		} `json:"operator"`
		Validator struct {
			Repository       string   `json:"repository"`
			Version          string   `json:"version"`
			ImagePullSecrets []string `json:"imagePullSecrets"`
		} `json:"validator"`
	} `json:"spec"`
	Status Status `json:"status"`
}

// Status is the status of a policy.
type Status struct {
	State     string `json:"state"`
	Validator string `json:"validator"`
}

// Operator reconciles the policies of the cluster.
type Operator struct {
	Client    *kube.Client
	Namespace string
}

// Run never returns.
func (o *Operator) Run(ctx context.Context) {
	// All policies, after every change of one.
	changes := make(chan map[string]Policy)
	go o.follow(ctx, changes)
	known := map[string]Policy{}
	unfinished := time.NewTicker(time.Second)
	for {
		select {
		case known = <-changes:
		case <-unfinished.C:
		}
		for _, policy := range known {
			if err := o.reconcile(ctx, policy); err != nil {
				log.Printf("%s: %v", policy.Metadata.Name, err)
			}
		}
	}
}

// follow lists and watches, and starts over when the watch ends.
func (o *Operator) follow(ctx context.Context, changes chan<- map[string]Policy) {
	for ; ; time.Sleep(time.Second) {
		var list struct {
			Metadata struct {
				ResourceVersion string `json:"resourceVersion"`
			} `json:"metadata"`
			Items []Policy `json:"items"`
		}
		if err := o.Client.Do(ctx, http.MethodGet, policies, nil, &list); err != nil {
			log.Printf("cannot list policies: %v", err)
			continue
		}
		known := map[string]Policy{}
		tell := func() {
			copied := map[string]Policy{}
			for name, policy := range known {
				copied[name] = policy
			}
			changes <- copied
		}
		for _, policy := range list.Items {
			known[policy.Metadata.Name] = policy
		}
		tell()
		err := o.Client.Watch(ctx, policies, list.Metadata.ResourceVersion, func(event kube.Event) {
			var policy Policy
			if err := json.Unmarshal(event.Object, &policy); err != nil {
				log.Printf("not a policy: %v", err)
				return
			}
			if event.Type == "DELETED" {
				delete(known, policy.Metadata.Name)
			} else {
				known[policy.Metadata.Name] = policy
			}
			tell()
		})
		log.Printf("watching anew: %v", err)
	}
}

func (o *Operator) reconcile(ctx context.Context, policy Policy) error {
	if policy.Metadata.DeletionTimestamp != "" {
		gone, err := o.remove(ctx, policy)
		if err != nil || !gone {
			return err
		}
		return o.finalizers(ctx, policy, func(all []string) []string {
			return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return one == finalizer })
		})
	}
	if !slices.Contains(policy.Metadata.Finalizers, finalizer) {
		// This changes the policy, which starts another reconciliation.
		return o.finalizers(ctx, policy, func(all []string) []string { return append(slices.Clone(all), finalizer) })
	}
	state, err := o.validate(ctx, policy)
	if err != nil {
		return err
	}
	status := Status{State: state, Validator: policy.image()}
	if status == policy.Status {
		return nil
	}
	return o.patch(ctx, policy, "/status", object{"status": status})
}

func (o *Operator) finalizers(ctx context.Context, policy Policy, change func([]string) []string) error {
	return o.patch(ctx, policy, "", object{"metadata": object{"finalizers": change(policy.Metadata.Finalizers)}})
}

// patch ignores a policy that no longer exists.
func (o *Operator) patch(ctx context.Context, policy Policy, part string, patch object) error {
	err := o.Client.Do(ctx, http.MethodPatch, policies+"/"+policy.Metadata.Name+part, patch, nil)
	if kube.Is(err, http.StatusNotFound) {
		return nil
	}
	return err
}

func (p *Policy) image() string {
	return p.Spec.Validator.Repository + ":" + p.Spec.Validator.Version
}

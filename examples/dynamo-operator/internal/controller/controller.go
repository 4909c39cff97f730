// Package controller reconciles graphs and requests with the cluster.
package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.com/dynamo-operator/api"
	"example.com/dynamo-operator/internal/kube"
)

type object = map[string]any

type deployment struct {
	Metadata struct {
		Name, Namespace string
		Generation      int
		Labels          map[string]string
	}
	Spec   struct{ Replicas int }
	Status struct{ ReadyReplicas, UpdatedReplicas, ObservedGeneration int }
}

// Controller compares the desired with the actual state whenever either changes.
type Controller struct {
	client      *kube.Client
	group       string
	graphs      *kube.Mirror[api.GraphDeployment]
	requests    *kube.Mirror[api.GraphDeploymentRequest]
	deployments *kube.Mirror[deployment]
	// Has room for one: changes during a reconciliation cause one more, however many there are.
	changed chan struct{}
}

// Start watches graphs, requests and workloads in all namespaces.
func Start(ctx context.Context, client *kube.Client, group string) *Controller {
	c := &Controller{client: client, group: group, changed: make(chan struct{}, 1)}
	wake := func() {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
	kinds := "/apis/" + group + "/v1alpha1/"
	c.graphs = kube.Follow[api.GraphDeployment](ctx, client, kinds+"graphdeployments", nil, wake)
	c.requests = kube.Follow[api.GraphDeploymentRequest](ctx, client, kinds+"graphdeploymentrequests", nil, wake)
	ours := url.Values{"labelSelector": {c.label("graph")}}
	c.deployments = kube.Follow[deployment](ctx, client, "/apis/apps/v1/deployments", ours, wake)
	return c
}

func (c *Controller) label(name string) string { return c.group + "/" + name }

// Run reconciles until the context ends.
func (c *Controller) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
		}
		if err := c.reconcile(ctx); err != nil && ctx.Err() == nil {
			log.Printf("will try again: %v", err)
			time.AfterFunc(time.Second, func() {
				select {
				case c.changed <- struct{}{}:
				default:
				}
			})
		}
	}
}

// Ready returns whether all lists have been read.
func (c *Controller) Ready() bool {
	_, graphs := c.graphs.Items()
	_, requests := c.requests.Items()
	_, deployments := c.deployments.Items()
	return graphs && requests && deployments
}

// Table returns the graphs as a table.
func (c *Controller) Table() string {
	graphs, _ := c.graphs.Items()
	slices.SortFunc(graphs, func(a, b api.GraphDeployment) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	var text strings.Builder
	for _, graph := range graphs {
		fmt.Fprintf(&text, "%s/%s\t%s\t%s\n", graph.Metadata.Namespace, graph.Metadata.Name, graph.Spec.Model, graph.Status.Phase)
	}
	return text.String()
}

func (c *Controller) reconcile(ctx context.Context) error {
	if !c.Ready() {
		return nil
	}
	requests, _ := c.requests.Items()
	for _, request := range requests {
		if err := c.answer(ctx, request); err != nil && !kube.Missing(err) {
			return fmt.Errorf("request %s: %w", request.Metadata.Name, err)
		}
	}
	graphs, _ := c.graphs.Items()
	deployments, _ := c.deployments.Items()
	for _, graph := range graphs {
		// It may have been deleted in the meantime.
		if err := c.reconcileGraph(ctx, graph, deployments); err != nil && !kube.Missing(err) {
			return fmt.Errorf("graph %s: %w", graph.Metadata.Name, err)
		}
	}
	return nil
}

func (c *Controller) reconcileGraph(ctx context.Context, graph api.GraphDeployment, all []deployment) error {
	there := map[string]deployment{}
	for _, one := range all {
		if one.Metadata.Namespace == graph.Metadata.Namespace && one.Metadata.Labels[c.label("graph")] == graph.Metadata.Name {
			there[one.Metadata.Name] = one
		}
	}
	if graph.Metadata.DeletionTimestamp != "" {
		return c.clearUp(ctx, graph.Metadata, there)
	}
	if !slices.Contains(graph.Metadata.Finalizers, c.finalizer()) {
		return c.setFinalizers(ctx, graph.Metadata, append(graph.Metadata.Finalizers, c.finalizer()))
	}
	folder := deployments(graph.Metadata.Namespace)
	status := api.GraphStatus{Phase: "Ready", Roles: map[string]string{}}
	for _, wanted := range graph.Spec.Workloads() {
		name := graph.Metadata.Name + "-" + wanted.Role
		if err := c.client.Apply(ctx, folder+name, c.workload(graph, name, wanted)); err != nil {
			return err
		}
		one, known := there[name]
		delete(there, name)
		ready := 0
		if known && one.Status.ObservedGeneration >= one.Metadata.Generation {
			ready = min(one.Status.ReadyReplicas, one.Status.UpdatedReplicas)
		}
		status.Roles[wanted.Role] = fmt.Sprintf("%d/%d", ready, wanted.Pods.Replicas)
		if !known || ready < wanted.Pods.Replicas {
			status.Phase = "Pending"
		}
	}
	for name := range there {
		log.Printf("%s is not wanted any more", name)
		if err := c.client.Delete(ctx, folder+name); err != nil {
			return err
		}
	}
	path := c.path(graph.Metadata, "graphdeployments") + "/status"
	return c.report(ctx, path, graph.Metadata.Name, graph.Status, status)
}

func deployments(namespace string) string {
	return "/apis/apps/v1/namespaces/" + namespace + "/deployments/"
}

// finalizer keeps a graph in the cluster until the operator has deleted its objects.
func (c *Controller) finalizer() string { return c.label("workloads") }

// clearUp deletes the objects of a graph, and then removes the finalizer.
func (c *Controller) clearUp(ctx context.Context, graph api.Metadata, there map[string]deployment) error {
	for name := range there {
		if err := c.client.Delete(ctx, deployments(graph.Namespace)+name); err != nil {
			return err
		}
	}
	if len(there) > 0 || !slices.Contains(graph.Finalizers, c.finalizer()) {
		return nil
	}
	log.Printf("%s: cleared up", graph.Name)
	others := slices.DeleteFunc(slices.Clone(graph.Finalizers), func(one string) bool { return one == c.finalizer() })
	return c.setFinalizers(ctx, graph, others)
}

func (c *Controller) setFinalizers(ctx context.Context, graph api.Metadata, finalizers []string) error {
	// Rejected after a concurrent change, which starts another reconciliation.
	metadata := object{"resourceVersion": graph.ResourceVersion, "finalizers": finalizers}
	return c.client.Patch(ctx, kube.Merge, c.path(graph, "graphdeployments"), object{"metadata": metadata})
}

// report writes a status if it has changed.
func (c *Controller) report(ctx context.Context, path, name string, before, now any) error {
	old, _ := json.Marshal(before)
	text, err := json.Marshal(now)
	if err != nil || string(old) == string(text) {
		return err
	}
	log.Printf("%s: %s", name, text)
	return c.client.Patch(ctx, kube.Merge, path, object{"status": now})
}

func (c *Controller) path(of api.Metadata, plural string) string {
	return "/apis/" + c.group + "/v1alpha1/namespaces/" + of.Namespace + "/" + plural + "/" + of.Name
}

// answer creates the graph that a request asks for.
func (c *Controller) answer(ctx context.Context, request api.GraphDeploymentRequest) error {
	role := func(replicas int) object { return object{"replicas": replicas} }
	spec := object{"model": request.Spec.Model, "frontend": role(1), "decode": role(request.Spec.Workers)}
	if request.Spec.Workers > 1 {
		prefill := request.Spec.Workers / 2
		spec["prefill"], spec["decode"] = role(prefill), role(request.Spec.Workers-prefill)
	}
	graph := object{
		"apiVersion": c.group + "/v1alpha1",
		"kind":       "GraphDeployment",
		"metadata":   object{"name": request.Metadata.Name, "ownerReferences": c.owner("GraphDeploymentRequest", request.Metadata)},
		"spec":       spec,
	}
	if err := c.client.Apply(ctx, c.path(request.Metadata, "graphdeployments"), graph); err != nil {
		return err
	}
	path := c.path(request.Metadata, "graphdeploymentrequests") + "/status"
	made := api.RequestStatus{Graph: request.Metadata.Name}
	return c.report(ctx, path, request.Metadata.Name, request.Status, made)
}

// owner makes the cluster delete an object together with its owner.
func (c *Controller) owner(kind string, of api.Metadata) []object {
	return []object{{"apiVersion": c.group + "/v1alpha1", "kind": kind, "name": of.Name, "uid": of.UID, "controller": true}}
}

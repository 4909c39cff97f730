// Package controllers reconciles the registry with the components.
package controllers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"slices"
	"time"

	"example.com/ocm-controller/api"
	"example.com/ocm-controller/pkg/kube"
)

// Components adds each component to the registry, and removes it again.
type Components struct {
	Client    *kube.Client
	Namespace string
	Registry  *Registry
	Verbosity int

	known map[string]api.Component
}

type change struct {
	// All components, after a list.
	all []api.Component
	// Or a change of one.
	kind string
	one  api.Component
}

// Run never returns.
func (c *Components) Run(ctx context.Context) {
	changes := make(chan change)
	go c.follow(ctx, changes)
	unfinished := time.NewTicker(time.Second)
	for {
		select {
		case change := <-changes:
			if change.kind == "" {
				c.known = map[string]api.Component{}
				for _, component := range change.all {
					c.known[component.Metadata.Name] = component
					c.reconcile(ctx, component)
				}
			} else if change.kind == "DELETED" {
				delete(c.known, change.one.Metadata.Name)
			} else {
				c.known[change.one.Metadata.Name] = change.one
				c.reconcile(ctx, change.one)
			}
		case <-unfinished.C:
			for _, component := range c.known {
				if component.Status.State != "Ready" {
					c.reconcile(ctx, component)
				}
			}
		}
	}
}

// follow lists and watches, and starts over when the watch ends.
func (c *Components) follow(ctx context.Context, changes chan<- change) {
	path := api.Path(c.Namespace)
	for ; ; time.Sleep(time.Second) {
		var list struct {
			Metadata api.Metadata
			Items    []api.Component
		}
		if err := c.Client.Do(ctx, http.MethodGet, path, nil, &list); err != nil {
			log.Printf("cannot list components: %v", err)
			continue
		}
		changes <- change{all: list.Items}
		err := c.Client.Watch(ctx, path, list.Metadata.ResourceVersion, func(event kube.Event) {
			var component api.Component
			if err := json.Unmarshal(event.Object, &component); err != nil {
				log.Printf("not a component: %v", err)
				return
			}
			changes <- change{kind: event.Type, one: component}
		})
		c.say(1, "watching anew: %v", err)
	}
}

func (c *Components) reconcile(ctx context.Context, component api.Component) {
	name := component.Metadata.Name
	if component.Metadata.DeletionTimestamp != "" {
		if err := c.remove(ctx, component); err != nil {
			log.Printf("%s cannot go yet: %v", name, err)
		}
		return
	}
	status := api.Status{State: "Ready", Message: "delivered " + component.Spec.Version}
	if err := c.deliver(ctx, component); err != nil {
		status = api.Status{State: "Waiting", Message: err.Error()}
	}
	c.say(2, "%s is %s: %s", name, status.State, status.Message)
	if status == component.Status {
		return
	}
	log.Printf("%s becomes %s: %s", name, status.State, status.Message)
	patch := map[string]any{"status": status}
	if err := c.Client.Do(ctx, http.MethodPatch, c.path(name)+"/status", patch, nil); err != nil {
		log.Printf("cannot tell the status of %s: %v", name, err)
	}
}

func (c *Components) deliver(ctx context.Context, component api.Component) error {
	name := component.Metadata.Name
	if !slices.Contains(component.Metadata.Finalizers, api.Finalizer) {
		if err := c.finalizers(ctx, name, append(component.Metadata.Finalizers, api.Finalizer)); err != nil {
			return err
		}
	}
	snapshot, err := c.snapshot(ctx, component)
	if err != nil {
		return err
	}
	if err := c.Registry.Ensure(ctx); err != nil {
		return err
	}
	return c.Registry.Send(ctx, http.MethodPut, name, bytes.NewReader(snapshot))
}

// remove deletes its snapshot, and the registry with the last one.
func (c *Components) remove(ctx context.Context, component api.Component) error {
	others := 0
	for _, known := range c.known {
		if known.Metadata.DeletionTimestamp == "" {
			others++
		}
	}
	if others == 0 {
		if err := c.Registry.Remove(ctx); err != nil {
			return err
		}
	} else if err := c.Registry.Send(ctx, http.MethodDelete, component.Metadata.Name, nil); err != nil {
		return err
	}
	is := func(finalizer string) bool { return finalizer == api.Finalizer }
	err := c.finalizers(ctx, component.Metadata.Name, slices.DeleteFunc(component.Metadata.Finalizers, is))
	if kube.Is(err, http.StatusNotFound) {
		return nil
	}
	return err
}

func (c *Components) finalizers(ctx context.Context, name string, finalizers []string) error {
	patch := map[string]any{"metadata": map[string]any{"finalizers": finalizers}}
	return c.Client.Do(ctx, http.MethodPatch, c.path(name), patch, nil)
}

func (c *Components) path(name string) string {
	return fmt.Sprintf("%s/%s", api.Path(c.Namespace), name)
}

func (c *Components) say(verbosity int, words string, values ...any) {
	if c.Verbosity >= verbosity {
		log.Printf(words, values...)
	}
}

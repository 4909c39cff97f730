package kube

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/url"
	"sync"
	"time"
)

// Mirror holds the current objects of a path of the API server.
type Mirror[T any] struct {
	client  *Client
	path    string
	query   url.Values
	changed func()

	lock  sync.Mutex
	items map[string]T
	// False until the first list.
	complete bool
}

// Follow keeps a mirror up to date until the context ends, and reports every change. Rules narrow the list.
func Follow[T any](ctx context.Context, client *Client, path string, rules url.Values, changed func()) *Mirror[T] {
	if rules == nil {
		rules = url.Values{}
	}
	mirror := &Mirror[T]{client: client, path: path, query: rules, changed: changed, items: map[string]T{}}
	go func() {
		for ctx.Err() == nil {
			if err := mirror.follow(ctx); err != nil && ctx.Err() == nil {
				log.Printf("cannot watch %s: %v", path, err)
				time.Sleep(500 * time.Millisecond)
			}
		}
	}()
	return mirror
}

// Items returns the objects, and whether they have been listed.
func (m *Mirror[T]) Items() ([]T, bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	all := make([]T, 0, len(m.items))
	for _, item := range m.items {
		all = append(all, item)
	}
	return all, m.complete
}

type identity struct {
	Metadata struct{ Namespace, Name, ResourceVersion string }
}

// follow lists and then watches; it returns when the list must be repeated.
func (m *Mirror[T]) follow(ctx context.Context) error {
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []json.RawMessage
	}
	if err := m.client.Get(ctx, m.path+"?"+m.query.Encode(), &list); err != nil {
		return err
	}
	fresh := map[string]T{}
	for _, text := range list.Items {
		key, _, item, err := decode[T](text)
		if err != nil {
			return err
		}
		fresh[key] = item
	}
	m.lock.Lock()
	m.items, m.complete = fresh, true
	m.lock.Unlock()
	m.changed()
	version := list.Metadata.ResourceVersion
	for ctx.Err() == nil {
		next, err := m.watch(ctx, version)
		if err != nil {
			return err
		}
		version = next
	}
	return nil
}

// watch applies changes until the server ends the request, and returns the version to continue from.
func (m *Mirror[T]) watch(ctx context.Context, version string) (string, error) {
	query := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {version}}
	for key, values := range m.query {
		query[key] = values
	}
	answer, err := m.client.send(ctx, "GET", m.path+"?"+query.Encode(), "", nil)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	events := json.NewDecoder(answer.Body)
	for {
		var event struct {
			Type   string
			Object json.RawMessage
		}
		if events.Decode(&event) != nil {
			return version, nil // it ends now and then
		}
		if event.Type == "ERROR" {
			return "", errors.New(string(event.Object))
		}
		key, now, item, err := decode[T](event.Object)
		if err != nil {
			return "", err
		}
		version = now
		if event.Type == "BOOKMARK" {
			continue
		}
		m.lock.Lock()
		if event.Type == "DELETED" {
			delete(m.items, key)
		} else {
			m.items[key] = item
		}
		m.lock.Unlock()
		m.changed()
	}
}

func decode[T any](text []byte) (key, version string, item T, err error) {
	var who identity
	if err = json.Unmarshal(text, &who); err == nil {
		err = json.Unmarshal(text, &item)
	}
	return who.Metadata.Namespace + "/" + who.Metadata.Name, who.Metadata.ResourceVersion, item, err
}

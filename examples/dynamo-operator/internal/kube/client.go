// Package kube is a client of the API server for use inside a pod, with only the standard library.
package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
)

const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

// manager is the field manager of applied objects.
const manager = "dynamo-operator"

// Kinds of patches.
const (
	Merge     = "application/merge-patch+json"
	Strategic = "application/strategic-merge-patch+json"
)

// Client sends requests with the pod's service account.
type Client struct {
	base string
	http *http.Client
}

// Refusal is an error response of the API server.
type Refusal struct {
	Code    int
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Missing returns whether an error means that an object does not exist.
func Missing(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.Code == http.StatusNotFound
}

// InCluster returns a client for the API server of the cluster in which the pod runs.
func InCluster() (*Client, error) {
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	host := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	return &Client{"https://" + host, &http.Client{Transport: transport}}, nil
}

// Get reads an object.
func (c *Client) Get(ctx context.Context, path string, into any) error {
	return c.ask(ctx, http.MethodGet, path, "", nil, into)
}

// Apply creates an object, or sets the given fields of an existing one.
func (c *Client) Apply(ctx context.Context, path string, object any) error {
	path += "?force=true&fieldManager=" + manager
	return c.ask(ctx, http.MethodPatch, path, "application/apply-patch+yaml", object, nil)
}

// Patch changes an object.
func (c *Client) Patch(ctx context.Context, kind, path string, patch any) error {
	return c.ask(ctx, http.MethodPatch, path+"?fieldManager="+manager, kind, patch, nil)
}

// Delete deletes an object, if it exists.
func (c *Client) Delete(ctx context.Context, path string) error {
	err := c.ask(ctx, http.MethodDelete, path+"?propagationPolicy=Background", "", nil, nil)
	if Missing(err) {
		return nil
	}
	return err
}

func (c *Client) ask(ctx context.Context, method, path, kind string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	answer, err := c.send(ctx, method, path, kind, text)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// send returns the body of a successful response.
func (c *Client) send(ctx context.Context, method, path, kind string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	// Read each time: the token is renewed while the pod runs.
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode < 300 {
		return answer, nil
	}
	defer answer.Body.Close()
	var status struct{ Message string }
	if json.NewDecoder(answer.Body).Decode(&status) != nil || status.Message == "" {
		status.Message = fmt.Sprintf("%s %s: %s", method, path, answer.Status)
	}
	return nil, &Refusal{answer.StatusCode, status.Message}
}

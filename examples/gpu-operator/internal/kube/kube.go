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
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

// Client sends requests with the pod's service account.
type Client struct {
	base   string
	client *http.Client
}

// InCluster returns a client for the API server of the cluster in which the pod runs.
func InCluster() (*Client, error) {
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	host := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	return &Client{"https://" + host, &http.Client{Transport: transport}}, nil
}

// Refusal is an error response of the API server.
type Refusal struct {
	Code    int
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Is returns whether an error is a response with this status code.
func Is(err error, code int) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.Code == code
}

// Do sends an object, if there is one, and decodes the response if a target is given. A PATCH is a merge patch.
func (c *Client) Do(ctx context.Context, method, path string, send, receive any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, err := c.open(ctx, method, path, send)
	if err != nil {
		return err
	}
	defer body.Close()
	if receive == nil {
		return nil
	}
	return json.NewDecoder(body).Decode(receive)
}

// Event is a change in a watch.
type Event struct {
	Type   string
	Object json.RawMessage
}

// Watch calls back for every change after a version, until the API server ends the request.
func (c *Client) Watch(ctx context.Context, path, version string, each func(Event)) error {
	body, err := c.open(ctx, http.MethodGet, path+"?watch=true&timeoutSeconds=300&resourceVersion="+version, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	decoder := json.NewDecoder(body)
	for {
		var event Event
		if err := decoder.Decode(&event); err != nil {
			return err
		}
		if event.Type == "ERROR" {
			return fmt.Errorf("the watch ended: %s", event.Object)
		}
		each(event)
	}
}

func (c *Client) open(ctx context.Context, method, path string, send any) (io.ReadCloser, error) {
	var body io.Reader
	if send != nil {
		text, err := json.Marshal(send)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	// Read each time: the token is renewed while the pod runs.
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	answer, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 300 {
		defer answer.Body.Close()
		var status struct{ Message string }
		_ = json.NewDecoder(answer.Body).Decode(&status)
		return nil, &Refusal{answer.StatusCode, fmt.Sprintf("%s %s: %s %s", method, path, answer.Status, status.Message)}
	}
	return answer.Body, nil
}

// Package kube speaks to the API server of the pod that it runs in, with nothing but the standard library.
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

// Client asks the API server as the pod's service account.
type Client struct {
	base   string
	client *http.Client
}

// InCluster finds the API server the way every pod can.
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

// Refusal is an answer that is not a good one.
type Refusal struct {
	Code    int
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Is tells whether an error is the API server's answer with this code.
func Is(err error, code int) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.Code == code
}

// Do sends an object, if there is one, and reads the answer, if it is wanted. A PATCH is a merge patch.
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

// Event is a change that a watch tells of.
type Event struct {
	Type   string
	Object json.RawMessage
}

// Watch calls for each change after a version, until the API server ends it.
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
	// Read each time: it is renewed while the pod runs.
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

// Package cluster reads pods and jobs from the API server inside a pod, with only the standard library.
package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
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
	return &Client{"https://" + host, &http.Client{Transport: transport, Timeout: 10 * time.Second}}, nil
}

// Trouble is a problem to report.
type Trouble struct {
	Object string `json:"object"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

type state struct {
	Waiting    *struct{ Reason, Message string }
	Terminated *struct {
		Reason   string
		ExitCode int
	}
}

type pods struct {
	Items []struct {
		Metadata struct{ Namespace, Name string }
		Status   struct {
			ContainerStatuses []struct {
				State     state
				LastState state `json:"lastState"`
			}
		}
	}
}

type jobs struct {
	Items []struct {
		Metadata struct{ Namespace, Name string }
		Status   struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
}

// Troubles lists the current problems in the namespace.
func (c *Client) Troubles(ctx context.Context, namespace string) ([]Trouble, error) {
	var found []Trouble
	var pods pods
	if err := c.get(ctx, "/api/v1/namespaces/"+namespace+"/pods", &pods); err != nil {
		return nil, err
	}
	for _, pod := range pods.Items {
		name := "pod " + pod.Metadata.Namespace + "/" + pod.Metadata.Name
		for _, container := range pod.Status.ContainerStatuses {
			if reason, detail := judge(container.State, container.LastState); reason != "" {
				found = append(found, Trouble{name, reason, detail})
			}
		}
	}
	var jobs jobs
	if err := c.get(ctx, "/apis/batch/v1/namespaces/"+namespace+"/jobs", &jobs); err != nil {
		return nil, err
	}
	for _, job := range jobs.Items {
		for _, condition := range job.Status.Conditions {
			if condition.Type == "Failed" && condition.Status == "True" {
				name := "job " + job.Metadata.Namespace + "/" + job.Metadata.Name
				found = append(found, Trouble{name, "JobFailed", condition.Message})
			}
		}
	}
	return found, nil
}

func judge(now, last state) (reason, detail string) {
	for _, ended := range []state{now, last} {
		if ended.Terminated != nil && ended.Terminated.Reason == "OOMKilled" {
			return "OOMKilled", "it wants more memory than it may have"
		}
	}
	if now.Waiting == nil {
		return "", ""
	}
	switch now.Waiting.Reason {
	case "CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull":
		return strings.Replace(now.Waiting.Reason, "ErrImagePull", "ImagePullBackOff", 1), now.Waiting.Message
	}
	return "", ""
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return err
	}
	// Read each time: the token is renewed while the pod runs.
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	answer, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

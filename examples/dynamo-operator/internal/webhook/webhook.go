// Package webhook defaults and validates graphs for the API server. It creates its own certificates and registers
// itself.
package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"net/url"
	"sync/atomic"

	"example.com/dynamo-operator/api"
	"example.com/dynamo-operator/internal/kube"
	"example.com/dynamo-operator/internal/operator"
)

// Place is where the operator runs, and the names by which the API server knows its webhook.
type Place struct {
	operator.Operator
	Service, Configuration string
	// Certificates are created here, or given.
	Certificates string
}

// host is the name by which the API server calls the webhook.
func (p Place) host() string { return p.Service + "." + p.Namespace + ".svc" }

// Webhook is ready once the API server knows its certificate in each of its configurations.
type Webhook struct{ announced [2]atomic.Bool }

// kinds of configurations. The API server calls mutating webhooks first.
var kinds = [2]string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}

// Announced returns whether the API server has the webhook's current certificate.
func (w *Webhook) Announced() bool { return w.announced[0].Load() && w.announced[1].Load() }

// configuration is a webhook configuration of the API server.
type configuration struct {
	Webhooks []struct {
		Name         string
		ClientConfig struct{ CABundle []byte }
	}
}

// Start serves, and keeps the authority in the configurations whenever somebody overwrites them.
func Start(ctx context.Context, client *kube.Client, place Place) (*Webhook, error) {
	pems, err := certificates(ctx, client, place)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(pems.certificate, pems.key)
	if err != nil {
		return nil, err
	}
	handler := http.NewServeMux()
	handler.HandleFunc("/complete", answer(complete))
	handler.HandleFunc("/validate", answer(validate))
	listener, err := tls.Listen("tcp", ":9443", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		return nil, err
	}
	go func() { log.Fatal(http.Serve(listener, handler)) }()

	webhook := &Webhook{}
	for i, kind := range kinds {
		go keepAnnounced(ctx, client, kind, place.Configuration, pems.authority, &webhook.announced[i])
	}
	return webhook, nil
}

func keepAnnounced(ctx context.Context, client *kube.Client, kind, name string, authority []byte, announced *atomic.Bool) {
	folder := "/apis/admissionregistration.k8s.io/v1/" + kind
	changed := make(chan struct{}, 1)
	rules := url.Values{"fieldSelector": {"metadata.name=" + name}}
	mirror := kube.Follow[configuration](ctx, client, folder, rules, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	for range changed {
		configurations, _ := mirror.Items()
		for _, one := range configurations {
			if err := announce(ctx, client, folder+"/"+name, one, authority); err != nil {
				log.Printf("cannot announce the webhook: %v", err)
				continue
			}
			announced.Store(true)
		}
	}
}

func announce(ctx context.Context, client *kube.Client, path string, known configuration, authority []byte) error {
	var patches []object
	for _, one := range known.Webhooks {
		if !bytes.Equal(one.ClientConfig.CABundle, authority) {
			patches = append(patches, object{"name": one.Name, "clientConfig": object{"caBundle": authority}})
		}
	}
	if patches == nil {
		return nil
	}
	log.Printf("certificates: the API server is told whom to trust")
	return client.Patch(ctx, kube.Strategic, path, object{"webhooks": patches})
}

// answer returns an admission response for a graph: its patch, or why it is rejected.
func answer(decide func(api.GraphSpec) ([]object, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			APIVersion, Kind string
			Request          struct {
				UID    string
				Object api.GraphDeployment
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		response := object{"uid": asked.Request.UID, "allowed": true}
		changes, err := decide(asked.Request.Object.Spec)
		if err != nil {
			log.Printf("refused %s: %v", asked.Request.Object.Metadata.Name, err)
			response["allowed"], response["status"] = false, object{"message": err.Error()}
		} else if len(changes) > 0 {
			text, _ := json.Marshal(changes)
			response["patchType"], response["patch"] = "JSONPatch", text
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{"apiVersion": asked.APIVersion, "kind": asked.Kind, "response": response})
	}
}

// complete sets defaults that depend on other fields: the SSH key of roles with several nodes.
func complete(spec api.GraphSpec) ([]object, error) {
	if spec.SSHKeySecret != "" || !spec.HasFollowers() {
		return nil, nil
	}
	return []object{{"op": "add", "path": "/spec/sshKeySecret", "value": operator.SSHKeyName}}, nil
}

// validate checks what the schema cannot express.
func validate(spec api.GraphSpec) ([]object, error) {
	if len(spec.Workloads()) == 0 {
		return nil, errors.New("a graph without roles does nothing")
	}
	if spec.Prefill != nil && spec.Decode == nil {
		return nil, errors.New("prefill is of use only beside decode")
	}
	return nil, nil
}

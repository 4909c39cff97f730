// Package webhook tells the API server which graphs make no sense, over certificates that it makes and announces itself.
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
)

// Place is where the operator runs.
type Place struct{ Namespace, Deployment, Service, Configuration string }

// host is the name by which the API server calls the webhook.
func (p Place) host() string { return p.Service + "." + p.Namespace + ".svc" }

// Webhook is announced once the API server knows its certificate.
type Webhook struct{ announced atomic.Bool }

// Announced says whether the API server would ask here, and believe the answer.
func (w *Webhook) Announced() bool { return w.announced.Load() }

// configuration is what the API server knows of webhooks.
type configuration struct {
	Webhooks []struct {
		Name         string
		ClientConfig struct{ CABundle []byte }
	}
}

// Start serves, and keeps the authority in the configuration, whoever writes that anew.
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
	handler.HandleFunc("/validate", review)
	listener, err := tls.Listen("tcp", ":9443", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		return nil, err
	}
	go func() { log.Fatal(http.Serve(listener, handler)) }()

	webhook := &Webhook{}
	folder := "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	changed := make(chan struct{}, 1)
	rules := url.Values{"fieldSelector": {"metadata.name=" + place.Configuration}}
	mirror := kube.Follow[configuration](ctx, client, folder, rules, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	go func() {
		for range changed {
			configurations, _ := mirror.Items()
			for _, one := range configurations {
				if err := announce(ctx, client, folder+"/"+place.Configuration, one, pems.authority); err != nil {
					log.Printf("cannot announce the webhook: %v", err)
					continue
				}
				webhook.announced.Store(true)
			}
		}
	}()
	return webhook, nil
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

func review(w http.ResponseWriter, r *http.Request) {
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
	answer := object{"uid": asked.Request.UID, "allowed": true}
	if err := validate(asked.Request.Object.Spec); err != nil {
		log.Printf("refused %s: %v", asked.Request.Object.Metadata.Name, err)
		answer["allowed"], answer["status"] = false, object{"message": err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"apiVersion": asked.APIVersion, "kind": asked.Kind, "response": answer})
}

// validate says what the schema cannot.
func validate(spec api.GraphSpec) error {
	if len(spec.Workloads()) == 0 {
		return errors.New("a graph without roles does nothing")
	}
	if spec.Prefill != nil && spec.Decode == nil {
		return errors.New("prefill is of use only beside decode")
	}
	return nil
}

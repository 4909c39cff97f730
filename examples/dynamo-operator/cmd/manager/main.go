// manager is the operator: it watches graphs, creates their workloads, completes them, and rejects invalid ones.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"example.com/dynamo-operator/internal/controller"
	"example.com/dynamo-operator/internal/kube"
	"example.com/dynamo-operator/internal/operator"
	"example.com/dynamo-operator/internal/webhook"
)

// greeting is the response of the health endpoint.
const greeting = "the operator is well"

func main() {
	log.SetFlags(0)
	group := flag.String("api-group", "dynamo.example.com", "the API group of its kinds")
	version := flag.String("operator-version", "dev", "what it calls itself")
	var place webhook.Place
	flag.StringVar(&place.Deployment, "deployment", "", "the Deployment it runs in")
	flag.StringVar(&place.Service, "webhook-service", "", "the Service that leads to its webhook")
	flag.StringVar(&place.Certificates, "webhook-certificates", "made", "made: by the operator; given: waited for")
	flag.StringVar(&place.Configuration, "webhook-configuration", "", "how the API server knows its webhook")
	flag.Parse()
	place.Namespace = os.Getenv("NAMESPACE")
	log.Printf("dynamo-operator %s for %s", *version, *group)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	client, err := kube.InCluster()
	if err != nil {
		log.Fatalf("the operator runs in a pod: %v", err)
	}
	// Healthy even while it waits for certificates.
	http.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, greeting) })
	go func() { log.Fatal(http.ListenAndServe(":8081", nil)) }()
	if err := operator.KeepSSHKey(ctx, client, place.Operator); err != nil {
		log.Fatalf("cannot make the ssh key of graphs: %v", err)
	}
	hook, err := webhook.Start(ctx, client, place)
	if err != nil {
		log.Fatalf("cannot start the webhook: %v", err)
	}
	graphs := controller.Start(ctx, client, *group)

	// Ready once the webhook is registered with its certificates and all lists have been read.
	http.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !hook.Announced() || !graphs.Ready() {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/graphs", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, graphs.Table()) })
	graphs.Run(ctx)
}

// manager delivers components: it watches them in its namespace and uploads snapshots of them to a registry.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"
	"os"

	"example.com/ocm-controller/controllers"
	"example.com/ocm-controller/pkg/kube"
	"example.com/ocm-controller/pkg/registry"
)

func main() {
	log.SetFlags(0)
	verbosity := flag.Int("verbosity", 0, "1 tells of new watches, 2 of everything that is looked at")
	health := flag.String("health-address", ":8081", "where to answer whether it is well")
	flag.Parse()
	if flag.Arg(0) == "registry" {
		log.Fatal(registry.Serve(":5000"))
	}

	client, err := kube.InCluster()
	if err != nil {
		log.Fatalf("the manager runs in a pod: %v", err)
	}
	namespace := os.Getenv("POD_NAMESPACE")
	http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	go func() { log.Fatal(http.ListenAndServe(*health, nil)) }()

	log.Printf("delivering the components of %s", namespace)
	components := controllers.Components{
		Client:    client,
		Namespace: namespace,
		Registry:  &controllers.Registry{Client: client, Namespace: namespace, Pod: os.Getenv("POD_NAME")},
		Verbosity: *verbosity,
	}
	components.Run(context.Background())
}

// gpu-operator validates every node as the cluster policies demand. `gpu-operator validate RUNTIME` is the validator.
package main

import (
	"context"
	"log"
	"os"

	"example.com/gpu-operator/internal/kube"
	"example.com/gpu-operator/internal/policy"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) == 3 && os.Args[1] == "validate" {
		log.Fatal(policy.Validate(os.Args[2]))
	}
	client, err := kube.InCluster()
	if err != nil {
		log.Fatalf("the operator runs in a pod: %v", err)
	}
	namespace := os.Getenv("POD_NAMESPACE")
	log.Printf("the operator works in %s", namespace)
	operator := policy.Operator{Client: client, Namespace: namespace}
	operator.Run(context.Background())
}

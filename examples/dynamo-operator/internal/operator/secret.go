// Package operator is what the operator knows of itself, and what it keeps in the cluster for its own use.
package operator

import (
	"context"

	"example.com/dynamo-operator/internal/kube"
)

type object = map[string]any

// Operator is where it runs.
type Operator struct{ Namespace, Deployment string }

func (o Operator) secret(name string) string {
	return "/api/v1/namespaces/" + o.Namespace + "/secrets/" + name
}

// ReadSecret gives nothing if there is none.
func ReadSecret(ctx context.Context, client *kube.Client, o Operator, name string) (map[string][]byte, error) {
	var secret struct{ Data map[string][]byte }
	if err := client.Get(ctx, o.secret(name), &secret); err != nil && !kube.Missing(err) {
		return nil, err
	}
	return secret.Data, nil
}

// KeepSecret makes one that belongs to the operator's Deployment and goes with it.
func KeepSecret(ctx context.Context, client *kube.Client, o Operator, name, kind string, data object) error {
	var owner struct{ Metadata struct{ Name, UID string } }
	if err := client.Get(ctx, "/apis/apps/v1/namespaces/"+o.Namespace+"/deployments/"+o.Deployment, &owner); err != nil {
		return err
	}
	reference := object{"apiVersion": "apps/v1", "kind": "Deployment", "name": owner.Metadata.Name, "uid": owner.Metadata.UID}
	return client.Apply(ctx, o.secret(name), object{
		"apiVersion": "v1",
		"kind":       "Secret",
		"type":       kind,
		"metadata":   object{"name": name, "ownerReferences": []object{reference}},
		"data":       data,
	})
}

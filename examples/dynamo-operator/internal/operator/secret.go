// Package operator holds the operator's own settings, and the Secrets that it keeps for itself.
package operator

import (
	"context"

	"example.com/dynamo-operator/internal/kube"
)

type object = map[string]any

// Operator says where the operator runs.
type Operator struct{ Namespace, Deployment string }

func (o Operator) secret(name string) string {
	return "/api/v1/namespaces/" + o.Namespace + "/secrets/" + name
}

// ReadSecret returns nil if the Secret does not exist.
func ReadSecret(ctx context.Context, client *kube.Client, o Operator, name string) (map[string][]byte, error) {
	var secret struct{ Data map[string][]byte }
	if err := client.Get(ctx, o.secret(name), &secret); err != nil && !kube.Missing(err) {
		return nil, err
	}
	return secret.Data, nil
}

// KeepSecret creates a Secret that the operator's Deployment owns.
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

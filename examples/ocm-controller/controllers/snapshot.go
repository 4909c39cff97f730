package controllers

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"example.com/ocm-controller/api"
	"example.com/ocm-controller/pkg/kube"
)

const heading = "A snapshot of"

// snapshot is what the registry stores of a component with all its keys.
func (c *Components) snapshot(ctx context.Context, component api.Component) ([]byte, error) {
	lines := []string{
		fmt.Sprintf("%s %s %s", heading, component.Metadata.Name, component.Spec.Version),
		component.Spec.Text,
	}
	for _, name := range component.Spec.Verify {
		var secret struct{ Data map[string][]byte }
		err := c.Client.Do(ctx, http.MethodGet, "/api/v1/namespaces/"+c.Namespace+"/secrets/"+name, nil, &secret)
		if kube.Is(err, http.StatusNotFound) {
			return nil, fmt.Errorf("there is no Secret %s with a key to verify it", name)
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("verified with %s %s", name, fingerprint(secret.Data)))
	}
	return []byte(strings.Join(lines, "\n") + "\n"), nil
}

func fingerprint(keys map[string][]byte) string {
	names := make([]string, 0, len(keys))
	for name := range keys {
		names = append(names, name)
	}
	slices.Sort(names)
	hash := sha256.New()
	for _, name := range names {
		hash.Write(keys[name])
	}
	return fmt.Sprintf("%.4x", hash.Sum(nil))
}

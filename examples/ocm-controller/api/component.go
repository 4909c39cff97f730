// Package api has the kinds that the controller knows.
package api

// Path is where the API server keeps the components of a namespace.
func Path(namespace string) string {
	return "/apis/ocm.example.com/v1alpha1/namespaces/" + namespace + "/components"
}

// Finalizer keeps a component until its snapshot is out of the registry.
const Finalizer = "ocm.example.com/snapshot"

// Component is a text in a version, delivered as a snapshot if its signatures can be verified.
type Component struct {
	Metadata Metadata `json:"metadata"`
	Spec     struct {
		Version string `json:"version"`
		Text    string `json:"text"`
		// Secrets with keys that must be there to verify it.
		Verify []string `json:"verify"`
	} `json:"spec"`
	Status Status `json:"status"`
}

// Metadata is what the controller needs of it.
type Metadata struct {
	Name              string   `json:"name"`
	ResourceVersion   string   `json:"resourceVersion"`
	DeletionTimestamp string   `json:"deletionTimestamp"`
	Finalizers        []string `json:"finalizers"`
}

// Status is what became of it.
type Status struct {
	State   string `json:"state"`
	Message string `json:"message"`
}

package policy

import (
	"fmt"
	"log"
	"net/http"
)

const verdict = "The node is fit for GPUs"

// Validate runs the validator: it checks its node, and serves the result.
func Validate(runtime string) error {
	found := fmt.Sprintf("%s, with %s.\n", verdict, runtime)
	log.Print(found)
	return http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, found)
	}))
}

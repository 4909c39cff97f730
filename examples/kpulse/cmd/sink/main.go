// sink is the channel that kpulse would send to: it prints what it is sent.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
)

func main() {
	http.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil && len(body) > 0 {
			fmt.Printf("received: %s\n", body)
		}
	})
	fmt.Println("sink: listening")
	log.Fatal(http.ListenAndServe(":8081", nil))
}

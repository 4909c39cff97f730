// kpulse watches a namespace and sends problems and recoveries to a webhook.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"example.com/kpulse/internal/alerts"
	"example.com/kpulse/internal/cluster"
)

const greeting = "kpulse is watching"

func main() {
	log.SetFlags(0)
	client, err := cluster.InCluster()
	if err != nil {
		log.Fatalf("kpulse runs in a pod: %v", err)
	}
	webhook, namespace := os.Getenv("WEBHOOK"), os.Getenv("WATCHED_NAMESPACE")
	log.Printf("%s %s", greeting, namespace)

	http.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, greeting) })
	http.HandleFunc("/test-channel", func(w http.ResponseWriter, r *http.Request) {
		if err := send(webhook, "TEST of channel "+r.URL.Query().Get("name")); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	})
	// Reports whether the placeholder in the Secret was replaced, without revealing the value.
	http.HandleFunc("/credentials", func(w http.ResponseWriter, _ *http.Request) {
		token, _ := os.ReadFile("/etc/kpulse/TOKEN")
		fmt.Fprintln(w, len(token) > 0 && string(token) != "placeholder")
	})
	go func() { log.Fatal(http.ListenAndServe(":8080", nil)) }()

	var book alerts.Book
	for ; ; time.Sleep(500 * time.Millisecond) {
		troubles, err := client.Troubles(context.Background(), namespace)
		if err != nil {
			log.Printf("cannot look: %v", err)
			continue
		}
		for _, message := range book.Compare(troubles) {
			if err := send(webhook, message); err != nil {
				log.Printf("cannot send %q: %v", message, err)
			}
		}
	}
}

func send(webhook, message string) error {
	answer, err := http.Post(webhook, "text/plain", strings.NewReader(message))
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

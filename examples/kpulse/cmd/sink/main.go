// sink stands in for the channel that kpulse sends to: it prints and serves the messages that it receives.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
)

// remembered is how many messages it serves.
const remembered = 100

type sink struct {
	guard    sync.Mutex
	messages []string
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.guard.Lock()
	defer s.guard.Unlock()
	if len(body) == 0 {
		fmt.Fprintln(w, strings.Join(s.messages, "\n"))
		return
	}
	fmt.Printf("received: %s\n", body)
	s.messages = append(s.messages, string(body))
	if len(s.messages) > remembered {
		s.messages = s.messages[1:]
	}
}

func main() {
	fmt.Println("sink: listening")
	log.Fatal(http.ListenAndServe(":8081", &sink{}))
}

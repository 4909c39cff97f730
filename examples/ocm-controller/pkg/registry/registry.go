// Package registry keeps snapshots in memory: PUT, GET and DELETE /NAME.
package registry

import (
	"io"
	"log"
	"net/http"
	"sync"
)

// Serve handles requests until it fails.
func Serve(address string) error {
	var lock sync.Mutex
	snapshots := map[string][]byte{}
	log.Printf("the registry listens on %s", address)
	return http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		name := r.URL.Path[1:]
		switch r.Method {
		case http.MethodPut:
			snapshot, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			if string(snapshots[name]) != string(snapshot) {
				log.Printf("snapshot %s: %q", name, snapshot)
			}
			snapshots[name] = snapshot
		case http.MethodDelete:
			delete(snapshots, name)
			log.Printf("snapshot %s is deleted", name)
		default:
			snapshot, found := snapshots[name]
			if !found && name != "" {
				http.NotFound(w, r)
				return
			}
			_, _ = w.Write(snapshot)
		}
	}))
}

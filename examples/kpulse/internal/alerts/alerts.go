// Package alerts remembers current problems, to report which are new and which are over.
package alerts

import (
	"fmt"

	"example.com/kpulse/internal/cluster"
)

// Book holds the problems that were reported.
type Book struct {
	open map[string]cluster.Trouble
}

// Compare takes the current problems, and returns the messages to send.
func (b *Book) Compare(now []cluster.Trouble) []string {
	var messages []string
	current := map[string]cluster.Trouble{}
	for _, trouble := range now {
		key := trouble.Object + " " + trouble.Reason
		current[key] = trouble
		if _, told := b.open[key]; !told {
			messages = append(messages, firing(trouble))
		}
	}
	for key, trouble := range b.open {
		if _, still := current[key]; !still {
			messages = append(messages, fmt.Sprintf("RESOLVED %s: %s", trouble.Object, trouble.Reason))
		}
	}
	b.open = current
	return messages
}

func firing(trouble cluster.Trouble) string {
	return fmt.Sprintf("FIRING %s: %s", trouble.Object, trouble.Reason)
}

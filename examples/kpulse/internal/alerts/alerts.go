// Package alerts remembers what is wrong, and says what is new and what is over.
package alerts

import (
	"fmt"

	"example.com/kpulse/internal/cluster"
)

// Book is what was told so far.
type Book struct {
	open map[string]cluster.Trouble
}

// Compare takes what is wrong now, and gives the messages to send.
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

package alerts

import (
	"slices"
	"testing"

	"example.com/kpulse/internal/cluster"
)

func TestEachTroubleIsToldOnceAndItsEndToo(t *testing.T) {
	var book Book
	trouble := cluster.Trouble{Object: "pod a/b", Reason: "OOMKilled"}
	for _, step := range []struct {
		now  []cluster.Trouble
		want []string
	}{
		{nil, nil},
		{[]cluster.Trouble{trouble}, []string{"FIRING pod a/b: OOMKilled"}},
		{[]cluster.Trouble{trouble}, nil},
		{nil, []string{"RESOLVED pod a/b: OOMKilled"}},
	} {
		if got := book.Compare(step.now); !slices.Equal(got, step.want) {
			t.Errorf("%v: got %v, want %v", step.now, got, step.want)
		}
	}
}

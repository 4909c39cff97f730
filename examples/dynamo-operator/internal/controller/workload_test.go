package controller

import (
	"encoding/json"
	"testing"
)

func TestMerge(t *testing.T) {
	tree := func(text string) (value any) {
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	under := tree(`{"containers":[{"name":"main","image":"a","args":["x","y"]}],"seconds":0}`)
	over := tree(`{"containers":[{"name":"side"},{"name":"main","args":["z"]}],"host":true}`)
	made, _ := json.Marshal(merge(under, over))
	want := `{"containers":[{"args":["z"],"image":"a","name":"main"},{"name":"side"}],"host":true,"seconds":0}`
	if string(made) != want {
		t.Errorf("%s", made)
	}
}

package controllers

import "testing"

func TestFingerprintsDoNotDependOnTheOrderOfKeys(t *testing.T) {
	for range 20 {
		if fingerprint(map[string][]byte{"a": []byte("1"), "b": []byte("2")}) != "6b51d431" {
			t.Fatal("another fingerprint")
		}
	}
}

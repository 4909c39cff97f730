package webhook

import "testing"

func TestCertificatesAreForOneHost(t *testing.T) {
	made, err := makeCertificates("dynamo-webhook.here.svc")
	if err != nil {
		t.Fatal(err)
	}
	if !made.usable("dynamo-webhook.here.svc") {
		t.Error("what was just made is of no use")
	}
	if made.usable("dynamo-webhook.there.svc") {
		t.Error("another host would be believed")
	}
	other, err := makeCertificates("dynamo-webhook.here.svc")
	if err != nil {
		t.Fatal(err)
	}
	made.authority = other.authority
	if made.usable("dynamo-webhook.here.svc") {
		t.Error("another authority would be believed")
	}
	if (pems{}).usable("dynamo-webhook.here.svc") {
		t.Error("nothing would be believed")
	}
}

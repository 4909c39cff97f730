package webhook

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log"
	"math/big"
	"slices"
	"time"

	"example.com/dynamo-operator/internal/kube"
)

const secretName = "webhook-server-cert"

type object = map[string]any

// pems are what the API server trusts, and what the webhook shows.
type pems struct{ authority, certificate, key []byte }

// certificates are those of the Secret, or new ones, which are put there. The Secret belongs to the operator's Deployment
// and goes with it.
func certificates(ctx context.Context, client *kube.Client, place Place) (pems, error) {
	folder := "/api/v1/namespaces/" + place.Namespace + "/secrets/" + secretName
	var secret struct{ Data map[string][]byte }
	if err := client.Get(ctx, folder, &secret); err != nil && !kube.Missing(err) {
		return pems{}, err
	}
	found := pems{secret.Data["ca.crt"], secret.Data["tls.crt"], secret.Data["tls.key"]}
	if found.usable(place.host()) {
		log.Printf("certificates: those of the Secret %s", secretName)
		return found, nil
	}
	made, err := makeCertificates(place.host())
	if err != nil {
		return pems{}, err
	}
	var owner struct{ Metadata struct{ Name, UID string } }
	if err := client.Get(ctx, "/apis/apps/v1/namespaces/"+place.Namespace+"/deployments/"+place.Deployment, &owner); err != nil {
		return pems{}, err
	}
	reference := object{"apiVersion": "apps/v1", "kind": "Deployment", "name": owner.Metadata.Name, "uid": owner.Metadata.UID}
	log.Printf("certificates: new ones, kept in the Secret %s", secretName)
	return made, client.Apply(ctx, folder, object{
		"apiVersion": "v1",
		"kind":       "Secret",
		"type":       "kubernetes.io/tls",
		"metadata":   object{"name": secretName, "ownerReferences": []object{reference}},
		"data":       object{"ca.crt": made.authority, "tls.crt": made.certificate, "tls.key": made.key},
	})
}

// usable says whether the API server would believe them for another month.
func (p pems) usable(host string) bool {
	pair, err := tls.X509KeyPair(p.certificate, p.key)
	if err != nil {
		return false
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(p.authority) || !slices.Contains(leaf.DNSNames, host) {
		return false
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: time.Now().AddDate(0, 1, 0)})
	return err == nil
}

func makeCertificates(host string) (pems, error) {
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: "dynamo-operator authority"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(10, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano() + 1),
		Subject:      pkix.Name{CommonName: host},
		DNSNames:     []string{host},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pems{}, err
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pems{}, err
	}
	root, err := x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return pems{}, err
	}
	signed, err := x509.CreateCertificate(rand.Reader, leaf, authority, &leafKey.PublicKey, authorityKey)
	if err != nil {
		return pems{}, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(leafKey)
	return pems{block("CERTIFICATE", root), block("CERTIFICATE", signed), block("PRIVATE KEY", key)}, err
}

func block(kind string, content []byte) []byte {
	return bytes.TrimSpace(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
}

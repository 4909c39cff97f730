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
	"example.com/dynamo-operator/internal/operator"
)

const secretName = "webhook-server-cert"

type object = map[string]any

// pems are the authority that the API server trusts, and the webhook's own certificate and key.
type pems struct{ authority, certificate, key []byte }

// certificates returns those of the Secret, or new ones that it stores there.
func certificates(ctx context.Context, client *kube.Client, place Place) (pems, error) {
	for waits := false; ; waits = true {
		secret, err := operator.ReadSecret(ctx, client, place.Operator, secretName)
		if err != nil {
			return pems{}, err
		}
		found := pems{secret["ca.crt"], secret["tls.crt"], secret["tls.key"]}
		if found.usable(place.host()) {
			log.Printf("certificates: those of the Secret %s", secretName)
			return found, nil
		}
		if place.Certificates != "given" {
			break
		}
		if !waits {
			log.Printf("certificates: waiting for the Secret %s with ca.crt, tls.crt and tls.key for %s", secretName, place.host())
		}
		select {
		case <-ctx.Done():
			return pems{}, ctx.Err()
		case <-time.After(time.Second):
		}
	}
	made, err := makeCertificates(place.host())
	if err != nil {
		return pems{}, err
	}
	log.Printf("certificates: new ones, kept in the Secret %s", secretName)
	data := object{"ca.crt": made.authority, "tls.crt": made.certificate, "tls.key": made.key}
	return made, operator.KeepSecret(ctx, client, place.Operator, secretName, "kubernetes.io/tls", data)
}

// usable returns whether the certificates are valid for another month.
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

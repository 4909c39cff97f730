package operator

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"log"

	"example.com/dynamo-operator/internal/kube"
)

// SSHKeyName is the Secret with the SSH key that pods of a role use to reach those on other nodes, as MPI does.
const SSHKeyName = "graph-ssh-key"

// KeepSSHKey creates the key once: running pods already use it.
func KeepSSHKey(ctx context.Context, client *kube.Client, o Operator) error {
	known, err := ReadSecret(ctx, client, o, SSHKeyName)
	if err != nil || len(known["ssh-privatekey"]) > 0 {
		return err
	}
	private, public, err := makeSSHKey()
	if err != nil {
		return err
	}
	log.Printf("ssh key: a new one, kept in the Secret %s", SSHKeyName)
	data := object{"ssh-privatekey": private, "authorized_keys": public}
	return KeepSecret(ctx, client, o, SSHKeyName, "kubernetes.io/ssh-auth", data)
}

// makeSSHKey returns a private key as in id_ecdsa, and its line for authorized_keys.
func makeSSHKey() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	point, err := key.PublicKey.ECDH()
	if err != nil {
		return nil, nil, err
	}
	var blob []byte
	for _, part := range [][]byte{[]byte("ecdsa-sha2-nistp256"), []byte("nistp256"), point.Bytes()} {
		blob = binary.BigEndian.AppendUint32(blob, uint32(len(part)))
		blob = append(blob, part...)
	}
	line := "ecdsa-sha2-nistp256 " + base64.StdEncoding.EncodeToString(blob) + " graphs\n"
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), []byte(line), nil
}

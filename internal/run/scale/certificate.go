package scale

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Identity is a certificate with its key, and the certificate of the authority that issued it and those of its peers.
// All are PEM.
type Identity struct {
	Authority   string `json:"authority"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
}

// certificateAge is how far the validity of certificates extends into the past and the future, so that hosts with
// different clocks accept them.
const certificateAge = 366 * 24 * time.Hour

// coordinatorName returns the name in the coordinator's certificate. It doesn't depend on the coordinator's address.
func coordinatorName(run string) string { return "coordinator." + run + ".brunt.invalid" }

// NewIdentities creates the certificates of one run: an authority, whose key is not kept, the coordinator's
// certificate, and the certificate that all workers of the run share. Keys are ECDSA P-256. Other runs refuse these
// certificates.
func NewIdentities(run string) (coordinator, worker Identity, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return coordinator, worker, err
	}
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority." + run},
		NotBefore: now.Add(-certificateAge), NotAfter: now.Add(certificateAge),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
	if err != nil {
		return coordinator, worker, err
	}
	root := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	issue := func(serial int64, name string, use x509.ExtKeyUsage) (Identity, error) {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return Identity{}, err
		}
		leaf := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
			NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{use},
		}
		der, err := x509.CreateCertificate(rand.Reader, leaf, authority, &own.PublicKey, key)
		if err != nil {
			return Identity{}, err
		}
		secret, err := x509.MarshalPKCS8PrivateKey(own)
		if err != nil {
			return Identity{}, err
		}
		return Identity{
			Authority:   root,
			Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
			Key:         string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
		}, nil
	}
	if coordinator, err = issue(2, coordinatorName(run), x509.ExtKeyUsageServerAuth); err != nil {
		return coordinator, worker, err
	}
	worker, err = issue(3, "worker."+run, x509.ExtKeyUsageClientAuth)
	return coordinator, worker, err
}

// config returns a TLS configuration for a client or a server.
func (i *Identity) config() (*tls.Config, error) {
	pair, err := tls.X509KeyPair([]byte(i.Certificate), []byte(i.Key))
	if err != nil {
		return nil, fmt.Errorf("the run's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(i.Authority)) {
		return nil, errors.New("the certificate of the run's authority can't be read")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: roots, ClientCAs: roots,
		ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}

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

// clockMargin is how much longer certificates are valid than the run may last, at both ends. Workers whose clocks
// differ by much less are refused (mostOffset), so clocks that reject a certificate are wrong, not only different.
const clockMargin = time.Hour

// coordinatorName returns the name in the coordinator's certificate. It doesn't depend on the coordinator's address.
func coordinatorName(run string) string { return "coordinator." + run + ".brunt.invalid" }

// NewIdentities creates the certificates of one run that ends within lasts: an authority, whose key is not kept, the
// coordinator's certificate, and the certificate that all workers of the run share. Keys are ECDSA P-256. Other runs
// refuse these certificates.
func NewIdentities(run string, lasts time.Duration) (coordinator, worker Identity, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return coordinator, worker, err
	}
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority." + run},
		NotBefore: now.Add(-clockMargin), NotAfter: now.Add(lasts + clockMargin),
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

// Valid returns the time in which the certificate is valid, including clockMargin at both ends.
func (i *Identity) Valid() (from, until time.Time, err error) {
	block, _ := pem.Decode([]byte(i.Certificate))
	if block == nil {
		return from, until, errors.New("the run's certificate can't be read")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return from, until, fmt.Errorf("the run's certificate: %w", err)
	}
	return leaf.NotBefore, leaf.NotAfter, nil
}

// expired returns the text for a worker whose certificate one side doesn't accept because of the time.
func (i *Identity) expired(now time.Time) string {
	from, until, err := i.Valid()
	if err != nil {
		return err.Error()
	}
	const layout = "2006-01-02 15:04 MST"
	return fmt.Sprintf("the ticket is valid from %s to %s, and this machine's clock reads %s: set the clocks of both "+
		"machines (NTP), or use a new ticket", from.UTC().Format(layout), until.UTC().Format(layout),
		now.UTC().Format(layout))
}

package auth

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCert writes a certificate of that name with its key.
func writeCert(t *testing.T, cert, key, name string) {
	t.Helper()
	k := ecKey("")
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(nil, tmpl, tmpl, k.pub, k.priv)
	if err != nil {
		t.Fatal(err)
	}
	priv, err := x509.MarshalPKCS8PrivateKey(k.priv)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct {
		path, kind string
		body       []byte
	}{{cert, "CERTIFICATE", der}, {key, "PRIVATE KEY", priv}} {
		if err := os.WriteFile(f.path, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.body}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTLS(t *testing.T) {
	dir, clock, log := t.TempDir(), newClock(), &testLog{}
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if _, err := TLSConfig(cert, key, clock.now, nil); err == nil || !strings.Contains(err.Error(), cert) {
		t.Error(err)
	}
	if _, err := TLSConfig(cert, "", clock.now, nil); err == nil {
		t.Error("no key")
	}
	writeCert(t, cert, key, "first")
	c, err := TLSConfig(cert, key, clock.now, log.logger())
	if err != nil {
		t.Fatal(err)
	}
	if c.MinVersion != tls.VersionTLS12 {
		t.Error(c.MinVersion)
	}
	name := func() string {
		t.Helper()
		p, err := c.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		x, err := x509.ParseCertificate(p.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return x.Subject.CommonName
	}
	if name() != "first" {
		t.Error(name())
	}
	clock.add(certEvery)
	writeCert(t, cert, key, "second one")
	if name() != "second one" {
		t.Error(name())
	}
	clock.add(certEvery)
	os.WriteFile(cert, []byte("half a certif"), 0o600)
	if name() != "second one" || !strings.Contains(log.String(), "the old one is kept") {
		t.Error(name(), log.String())
	}
	clock.add(certEvery)
	writeCert(t, cert, key, "third")
	if name() != "third" {
		t.Error(name())
	}
	os.Chmod(key, 0o644)
	if _, err := TLSConfig(cert, key, clock.now, log.logger()); err != nil || !strings.Contains(log.String(), "can read the key") {
		t.Error(err, log.String())
	}
}

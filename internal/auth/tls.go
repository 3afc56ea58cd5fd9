package auth

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certEvery is how often the files of a certificate are looked at.
const certEvery = 10 * time.Second

// TLSConfig serves a certificate from two files in PEM, TLS 1.2 or later. It takes the files anew
// when they have changed; where the new ones cannot be used it logs that and keeps the old.
func TLSConfig(certFile, keyFile string, now func() time.Time, log *slog.Logger) (*tls.Config, error) {
	if certFile == "" || keyFile == "" {
		return nil, fmt.Errorf("TLS needs a certificate and a key, each the name of a file")
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &certificate{cert: certFile, key: keyFile, now: now, log: log}
	if err := c.load(); err != nil {
		return nil, err
	}
	if info, err := os.Stat(keyFile); err == nil && info.Mode().Perm()&0o007 != 0 {
		log.Warn("everybody on this machine can read the key of the certificate", "file", keyFile, "mode", info.Mode().Perm().String())
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get(), nil },
		NextProtos:     []string{"h2", "http/1.1"},
	}, nil
}

type certificate struct {
	cert, key string
	now       func() time.Time
	log       *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	mark   string
	looked time.Time
}

// get is the certificate by now.
func (c *certificate) get() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= certEvery {
		c.looked = now
		if m := c.marks(); m != c.mark {
			if err := c.load(); err != nil {
				c.log.Error("the new certificate cannot be used; the old one is kept", "error", err)
			} else {
				c.log.Info("the certificate was read anew", "file", c.cert)
			}
		}
	}
	return c.pair
}

// marks tells versions of the files apart.
func (c *certificate) marks() string {
	s := ""
	for _, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			s += fmt.Sprintf("%d %d;", info.ModTime().UnixNano(), info.Size())
		}
	}
	return s
}

func (c *certificate) load() error {
	c.mark = c.marks() // also of files that cannot be used: they are not tried again and again
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", c.cert, c.key, err)
	}
	c.pair = &pair
	return nil
}

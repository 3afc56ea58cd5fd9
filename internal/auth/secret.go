package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"log/slog"
)

const hidden = "[secret]"

// Secret is a text that is not to be seen: formatted, logged or marshalled in any way it is
// "[secret]". [Secret.Reveal] is the only way to it.
type Secret struct {
	// A pointer, since fmt looks into unexported fields of others without asking Format.
	text *string
}

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal is the text, for the one place that needs it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Format writes no secret, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// String hides it too, as do the next three.
func (Secret) String() string { return hidden }

// LogValue hides it from logs.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides it from JSON and YAML.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// UnmarshalText takes it from a configuration.
func (s *Secret) UnmarshalText(b []byte) error {
	*s = NewSecret(string(b))
	return nil
}

// TokenPrefix is how the daemon's tokens begin, so that scanners of repositories know them.
const TokenPrefix = "esc_"

// secretBits is the size of everything that is drawn here.
const secretBits = 256

// draw makes a secret of 256 random bits in hexadecimal.
func draw(prefix string) Secret {
	var b [secretBits / 8]byte
	_, _ = rand.Read(b[:]) // it never fails: it crashes the program instead
	return NewSecret(prefix + hex.EncodeToString(b[:]))
}

// digest is what is kept of a secret. Nothing else could be made of 256 random bits by trying, so
// that a slow hash would add nothing.
type digest [sha256.Size]byte

// Format hides it: it is no secret, and nobody's business.
func (digest) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[digest]")) }

func hexOf(d digest) string { return hex.EncodeToString(d[:]) }

func digestOf(text string) digest { return sha256.Sum256([]byte(text)) }

// is compares in constant time.
func (d *digest) is(o *digest) bool { return subtle.ConstantTimeCompare(d[:], o[:]) == 1 }

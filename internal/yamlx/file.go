package yamlx

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Load reads a file and hands it to its parser; what names the kind of file in an error.
func Load[T any](what, path string, parse func(name string, data []byte) (T, error)) (T, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		var none T
		return none, fmt.Errorf("%s: %w", what, err)
	}
	return parse(path, data)
}

// Hash is the SHA-256 of a file's bytes, in hex: who it is, wherever it lies.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// BaseName is the name a file gives to what it describes: its own, without folder and ending.
func BaseName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".yaml"), ".yml")
}

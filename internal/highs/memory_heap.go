//go:build highs && (amd64 || arm64) && (freebsd || netbsd || windows)

package highs

import "context"

// withMemory leaves the memory of instances to wazero.
func withMemory(ctx context.Context) context.Context { return ctx }

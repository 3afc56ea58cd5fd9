//go:build highs && (amd64 || arm64) && (linux || darwin)

package highs

import (
	"context"
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

// mapped is the memory of an instance as a reservation of addresses, of which the
// system backs what is touched. As a Go slice it would be copied each time it grows,
// and the copies left for the garbage collector.
type mapped []byte

func (m mapped) Reallocate(size uint64) []byte {
	if size > uint64(len(m)) {
		return nil
	}
	return m[:size]
}

func (m mapped) Free() { _ = syscall.Munmap(m) }

// withMemory gives the module that is instantiated with the context mapped memory.
// A system that does not reserve so much leaves it with what wazero makes by itself.
func withMemory(ctx context.Context) context.Context {
	m, err := syscall.Mmap(-1, 0, maxHeap, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return ctx
	}
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(
		func(uint64, uint64) experimental.LinearMemory { return mapped(m) }))
}

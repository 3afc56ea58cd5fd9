//go:build highs && (amd64 || arm64) && (linux || darwin || freebsd || netbsd || windows)

package highs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/tetratelabs/wazero/api"
)

// What HiGHS exports, under the names emscripten gave (assignWasmExports in
// build/highs.js). All but the first three are functions of its C interface, which
// highs_c_api.h describes.
const (
	fnConstructors = "v"
	fnMalloc       = "uc"
	fnFree         = "tc"

	fnCreate      = "F"
	fnRun         = "N"
	fnPassLP      = "U"
	fnPassMIP     = "V"
	fnSetBool     = "ia"
	fnSetInt      = "ja"
	fnSetDouble   = "ka"
	fnSetText     = "la" // takes the value of any option as text
	fnIntInfo     = "Aa"
	fnDoubleInfo  = "Ba"
	fnInt64Info   = "Ca"
	fnSolution    = "Ea"
	fnBasis       = "Fa"
	fnModelStatus = "Ga"
	fnSetBasis    = "Sa"
	fnSetSolution = "Va"
)

// instance is one HiGHS with its memory. The first failure stays in err and makes
// every later call do nothing, so that a sequence of calls is checked once.
type instance struct {
	ctx    context.Context
	module api.Module
	clock  *clock
	log    logger
	err    error
	// starved is that HiGHS was refused memory.
	starved bool

	highs uint64
	temp  []uint64 // allocations to free
}

func (i *instance) discard() { _ = i.module.Close(i.ctx) }

// call calls an exported function that has a result.
func (i *instance) call(name string, args ...uint64) uint64 {
	if i.err != nil {
		return 0
	}
	out, err := i.module.ExportedFunction(name).Call(i.ctx, args...)
	if err != nil {
		i.fail(i.explain(err))
		return 0
	}
	if len(out) == 0 {
		return 0
	}
	return out[0]
}

func (i *instance) fail(err error) {
	if i.err == nil {
		i.err = err
	}
}

// do calls a function whose result is a HighsStatus.
func (i *instance) do(what, name string, args ...uint64) {
	const failed = -1
	if api.DecodeI32(i.call(name, args...)) != failed || i.err != nil {
		return
	}
	if why := i.log.complaint(); why != "" {
		what += ": " + why
	}
	i.fail(errors.New(what))
}

// explain shortens the error of a call, which lists the stack of HiGHS.
func (i *instance) explain(err error) error {
	if i.starved {
		return fmt.Errorf("HiGHS asked for more memory than the %d MiB it can have", maxHeap>>20)
	}
	if c := (*crash)(nil); errors.As(err, &c) {
		return c
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(line)
}

// alloc returns memory for n items and a view of it, which holds until the next
// call. A view of nothing is at no address.
func (i *instance) alloc(n, size int) (at uint64, view []byte) {
	if n == 0 || i.err != nil {
		return 0, nil
	}
	if n > maxHeap/size {
		i.fail(fmt.Errorf("%d numbers do not fit into %d MiB", n, maxHeap>>20))
		return 0, nil
	}
	if at = i.call(fnMalloc, uint64(n*size)); at == 0 {
		i.fail(i.explain(errors.New("out of memory")))
		return 0, nil
	}
	i.temp = append(i.temp, at)
	view, _ = i.module.Memory().Read(uint32(at), uint32(n*size))
	return at, view
}

// free gives back all that was allocated.
func (i *instance) free() {
	for _, at := range i.temp {
		i.call(fnFree, at)
	}
	i.temp = i.temp[:0]
}

func (i *instance) text(s string) uint64 {
	at, view := i.alloc(len(s)+1, 1)
	copy(view, s+"\x00")
	return at
}

func (i *instance) floats(s []float64) uint64 {
	at, view := i.alloc(len(s), 8)
	for k := 0; len(view) > 0; k, view = k+1, view[8:] {
		binary.LittleEndian.PutUint64(view, math.Float64bits(s[k]))
	}
	return at
}

func (i *instance) ints(s []int32) uint64 {
	at, view := i.alloc(len(s), 4)
	for k := 0; len(view) > 0; k, view = k+1, view[4:] {
		binary.LittleEndian.PutUint32(view, uint32(s[k]))
	}
	return at
}

// view returns what an allocation holds now.
func (i *instance) view(at uint64, n, size int) []byte {
	if n == 0 || i.err != nil {
		return nil
	}
	view, _ := i.module.Memory().Read(uint32(at), uint32(n*size))
	return view
}

func (i *instance) readFloats(at uint64, n int) []float64 {
	out := make([]float64, n)
	for k, view := 0, i.view(at, n, 8); len(view) > 0; k, view = k+1, view[8:] {
		out[k] = math.Float64frombits(binary.LittleEndian.Uint64(view))
	}
	return out
}

func (i *instance) readInts(at uint64, n int) []int32 {
	out := make([]int32, n)
	for k, view := 0, i.view(at, n, 4); len(view) > 0; k, view = k+1, view[4:] {
		out[k] = int32(binary.LittleEndian.Uint32(view))
	}
	return out
}

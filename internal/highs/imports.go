//go:build highs && (amd64 || arm64) && (linux || darwin || freebsd || netbsd || windows)

package highs

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tetratelabs/wazero/api"
)

// The module that HiGHS imports functions from, and their names there: emscripten
// shortens them, differently in each build. They are listed in the package that the
// .wasm file comes in, in build/highs.js, as wasmImports.
const (
	hostName = "a"

	cxaThrow       = "a"
	exit           = "b"
	performanceNow = "c"
	fdWrite        = "f"
	ioctl          = "h"
	openAt         = "i"
	dateNow        = "j"
	abort          = "k"
	environSizes   = "o"
	clockTimeGet   = "p"
	resizeHeap     = "q"
	procExit       = "r"
)

const (
	page    = 64 << 10
	maxHeap = 2 << 30

	// What a file system that holds nothing answers.
	errNoEntry = -44
	errNoTTY   = -59
)

// crash is HiGHS ending itself.
type crash struct{ what string }

func (c *crash) Error() string { return c.what }

// imported returns a function of the host. What has nothing to do, such as closing
// files or setting the time zone, answers 0.
func imported(name string) api.GoModuleFunc {
	switch name {
	case cxaThrow:
		return func(_ context.Context, m api.Module, stack []uint64) {
			panic(&crash{"HiGHS threw the C++ exception " + exceptionType(m.Memory(), uint32(stack[1]))})
		}
	case abort:
		return func(context.Context, api.Module, []uint64) { panic(&crash{"HiGHS aborted"}) }
	case exit, procExit:
		return func(_ context.Context, _ api.Module, stack []uint64) {
			panic(&crash{fmt.Sprintf("HiGHS exited with code %d", int32(stack[0]))})
		}
	case clockTimeGet:
		return func(ctx context.Context, m api.Module, stack []uint64) {
			m.Memory().WriteUint64Le(uint32(stack[2]), uint64(instanceOf(ctx).clock.read()))
			stack[0] = 0
		}
	case performanceNow, dateNow:
		return func(ctx context.Context, _ api.Module, stack []uint64) {
			stack[0] = api.EncodeF64(float64(instanceOf(ctx).clock.read()) / 1e6)
		}
	case fdWrite:
		return write
	case resizeHeap:
		return growHeap
	case environSizes:
		return func(_ context.Context, m api.Module, stack []uint64) {
			m.Memory().WriteUint32Le(uint32(stack[0]), 0)
			m.Memory().WriteUint32Le(uint32(stack[1]), 0)
			stack[0] = 0
		}
	case openAt:
		return answer(errNoEntry)
	case ioctl:
		return answer(errNoTTY)
	}
	return func(_ context.Context, _ api.Module, stack []uint64) {
		if len(stack) > 0 {
			stack[0] = 0
		}
	}
}

func answer(code int32) api.GoModuleFunc {
	return func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = api.EncodeI32(code) }
}

// exceptionType reads the mangled name of a thrown type: its type info is a table,
// then the address of the name.
func exceptionType(memory api.Memory, info uint32) string {
	if at, ok := memory.ReadUint32Le(info + 4); ok {
		if name, ok := memory.Read(at, 64); ok {
			if s, _, ok := strings.Cut(string(name), "\x00"); ok {
				return s
			}
		}
	}
	return "of an unknown type"
}

// write is POSIX writev; all files are the log.
func write(ctx context.Context, m api.Module, stack []uint64) {
	memory, log := m.Memory(), &instanceOf(ctx).log
	vector, n := uint32(stack[1]), uint32(stack[2])
	var written uint32
	for ; n > 0; n-- {
		at, _ := memory.ReadUint32Le(vector)
		size, _ := memory.ReadUint32Le(vector + 4)
		text, _ := memory.Read(at, size)
		log.write(text)
		written += size
		vector += 8
	}
	memory.WriteUint32Le(uint32(stack[3]), written)
	stack[0] = 0
}

// growHeap makes room for a heap of a size, and some more, since growing copies.
func growHeap(ctx context.Context, m api.Module, stack []uint64) {
	want, have := stack[0]&math.MaxUint32, uint64(m.Memory().Size())
	stack[0] = 0
	if want <= maxHeap {
		want = max(want, min(have+have/5, maxHeap))
		if _, ok := m.Memory().Grow(uint32((want - have + page - 1) / page)); ok {
			stack[0] = 1
			return
		}
	}
	instanceOf(ctx).starved = true
}

// logger passes on what HiGHS prints and remembers the last of it, to tell why
// something went wrong.
type logger struct {
	to   io.Writer
	last []byte
}

const keep = 4 << 10

func (l *logger) write(text []byte) {
	if l.to != nil {
		_, _ = l.to.Write(text) // a solve is worth more than its log
	}
	l.last = append(l.last, text...)
	if over := len(l.last) - keep; over > 0 {
		l.last = append(l.last[:0], l.last[over:]...)
	}
}

// complaint returns the last line in which HiGHS complains, if any.
func (l *logger) complaint() string {
	lines := strings.Split(string(l.last), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if text, ok := strings.CutPrefix(lines[i], "ERROR:"); ok {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

package store

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A layer under SQLite that records what reaches the operating system and when it is
// synced, so that images can be made of what a disk may hold after the power fails.

type opKind uint8

const (
	opCreate opKind = iota
	opOpen          // the next sync of this file syncs the folder, too
	opWrite
	opTruncate
	opSync
	opDelete // the name may come back after a crash
	opDeleteSynced
	opMark // not SQLite's: size is the number of a batch that was acknowledged
)

type op struct {
	kind opKind
	file string // the name without the folder
	off  int64  // of opWrite; size of opTruncate
	data []byte
}

// recorder records the operations on files of one folder.
type recorder struct {
	dir  string
	base map[string][]byte // what was on disk before
	mu   sync.Mutex
	ops  []op
	live map[string]bool
}

func (r *recorder) add(o op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, o)
}

func (r *recorder) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops)
}

// mark notes that a batch was acknowledged.
func (r *recorder) mark(seq int64) { r.add(op{kind: opMark, off: seq}) }

// shim is the registered layer, and what its functions need to know.
var shim struct {
	sync.Mutex
	once      sync.Once
	under     uintptr // the operating system's layer
	recorders []*recorder
	files     map[uintptr]*shimFile
}

type shimFile struct {
	rec     *recorder
	name    string
	methods uintptr // the original ones
}

const shimName = "escala-recorder"

// at is the C structure at an address.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// fn is the C function pointer of a Go function, call the inverse.
func fn[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

func call[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

type (
	openFn   = func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32
	deleteFn = func(*libc.TLS, uintptr, uintptr, int32) int32
	closeFn  = func(*libc.TLS, uintptr) int32
	writeFn  = func(*libc.TLS, uintptr, uintptr, int32, int64) int32
	sizeFn   = func(*libc.TLS, uintptr, int64) int32
	syncFn   = func(*libc.TLS, uintptr, int32) int32
)

// record begins to record the files of a folder.
func record(t testing.TB, dir string) *recorder {
	shim.once.Do(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		sqlite3.Xsqlite3_initialize(tls)
		shim.under = sqlite3.Xsqlite3_vfs_find(tls, 0)
		shim.files = make(map[uintptr]*shimFile)
		v := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
		*at[sqlite3.Tsqlite3_vfs](v) = *at[sqlite3.Tsqlite3_vfs](shim.under)
		name, err := libc.CString(shimName)
		if err != nil {
			panic(err)
		}
		at[sqlite3.Tsqlite3_vfs](v).FzName = name
		at[sqlite3.Tsqlite3_vfs](v).FxOpen = fn[openFn](shimOpen)
		at[sqlite3.Tsqlite3_vfs](v).FxDelete = fn[deleteFn](shimDelete)
		sqlite3.Xsqlite3_vfs_register(tls, v, 0)
	})
	r := &recorder{dir: dir, base: map[string][]byte{}, live: map[string]bool{}}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r.base[filepath.Base(name)] = data
		r.live[filepath.Base(name)] = true
	}
	shim.Lock()
	defer shim.Unlock()
	shim.recorders = append(shim.recorders, r)
	return r
}

func recorderOf(path string) (*recorder, string) {
	for _, r := range shim.recorders {
		if filepath.Dir(path) == r.dir {
			return r, filepath.Base(path)
		}
	}
	return nil, ""
}

func shimOpen(tls *libc.TLS, _, zName, pFile uintptr, flags int32, pOut uintptr) int32 {
	rc := call[openFn](at[sqlite3.Tsqlite3_vfs](shim.under).FxOpen)(tls, shim.under, zName, pFile, flags, pOut)
	if rc != 0 || zName == 0 {
		return rc
	}
	shim.Lock()
	defer shim.Unlock()
	r, name := recorderOf(libc.GoString(zName))
	if r == nil {
		return rc
	}
	if !r.live[name] {
		r.live[name] = true
		r.add(op{kind: opCreate, file: name})
	}
	if flags&(sqlite3.SQLITE_OPEN_WAL|sqlite3.SQLITE_OPEN_MAIN_JOURNAL) != 0 && flags&sqlite3.SQLITE_OPEN_CREATE != 0 { // as in unixOpen
		r.add(op{kind: opOpen, file: name})
	}
	file := at[sqlite3.Tsqlite3_file](pFile)
	shim.files[pFile] = &shimFile{r, name, file.FpMethods}
	m := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{}))) // as long as the process
	*at[sqlite3.Tsqlite3_io_methods](m) = *at[sqlite3.Tsqlite3_io_methods](file.FpMethods)
	own := at[sqlite3.Tsqlite3_io_methods](m)
	own.FxClose, own.FxWrite, own.FxTruncate, own.FxSync = fn[closeFn](shimClose), fn[writeFn](shimWrite), fn[sizeFn](shimTruncate), fn[syncFn](shimSync)
	file.FpMethods = m
	return rc
}

func shimDelete(tls *libc.TLS, _, zName uintptr, syncDir int32) int32 {
	rc := call[deleteFn](at[sqlite3.Tsqlite3_vfs](shim.under).FxDelete)(tls, shim.under, zName, syncDir)
	shim.Lock()
	defer shim.Unlock()
	if r, name := recorderOf(libc.GoString(zName)); r != nil && rc == 0 {
		delete(r.live, name)
		kind := opDelete
		if syncDir != 0 {
			kind = opDeleteSynced
		}
		r.add(op{kind: kind, file: name})
	}
	return rc
}

func fileAt(pFile uintptr) (*shimFile, *sqlite3.Tsqlite3_io_methods) {
	shim.Lock()
	defer shim.Unlock()
	f := shim.files[pFile]
	return f, at[sqlite3.Tsqlite3_io_methods](f.methods)
}

func shimClose(tls *libc.TLS, pFile uintptr) int32 {
	_, under := fileAt(pFile)
	shim.Lock()
	delete(shim.files, pFile)
	shim.Unlock()
	return call[closeFn](under.FxClose)(tls, pFile)
}

func shimWrite(tls *libc.TLS, pFile, p uintptr, n int32, off int64) int32 {
	f, under := fileAt(pFile)
	f.rec.add(op{kind: opWrite, file: f.name, off: off, data: append([]byte(nil), unsafe.Slice(at[byte](p), n)...)})
	return call[writeFn](under.FxWrite)(tls, pFile, p, n, off)
}

func shimTruncate(tls *libc.TLS, pFile uintptr, size int64) int32 {
	f, under := fileAt(pFile)
	f.rec.add(op{kind: opTruncate, file: f.name, off: size})
	return call[sizeFn](under.FxTruncate)(tls, pFile, size)
}

func shimSync(tls *libc.TLS, pFile uintptr, flags int32) int32 {
	f, under := fileAt(pFile)
	rc := call[syncFn](under.FxSync)(tls, pFile, flags)
	f.rec.add(op{kind: opSync, file: f.name}) // from now on, not before
	return rc
}

// disk is what a file may be after a crash: what was synced, and what was asked for since.
type disk struct {
	synced  []byte
	there   bool // its name is on disk for sure
	settles bool // its next sync syncs the folder
	pending []op
	deleted bool // asked for, and not on disk for sure
}

// settle is a sync of the folder.
func settle(files map[string]*disk) {
	for name, f := range files {
		f.there = true
		if f.deleted {
			delete(files, name)
		}
	}
}

// image writes into dir what a disk may hold if the power fails after the first n operations: of
// what was not synced any part, in which the last write may be torn. It returns the last
// batch that was acknowledged by then.
func (r *recorder) image(t testing.TB, dir string, n int, rng *rand.Rand) (acked int64) {
	r.mu.Lock()
	ops := r.ops[:n]
	r.mu.Unlock()
	files := map[string]*disk{}
	for name, data := range r.base {
		files[name] = &disk{synced: append([]byte(nil), data...), there: true}
	}
	for _, o := range ops {
		f := files[o.file]
		switch o.kind {
		case opMark:
			acked = o.off
		case opCreate:
			files[o.file] = &disk{there: o.file == "escala.db"} // the store syncs the folder itself
		case opOpen:
			files[o.file].settles = true
		case opSync:
			for _, p := range f.pending {
				f.synced = p.apply(f.synced, len(p.data))
			}
			f.pending = nil
			if f.settles {
				f.settles = false
				settle(files)
			}
		case opDelete:
			f.deleted = true
		case opDeleteSynced:
			delete(files, o.file)
		default:
			f.pending = append(f.pending, o)
		}
	}
	odds := []float64{0, 0.5, 0.9, 1}[rng.IntN(4)]
	for name, f := range files {
		if strings.HasSuffix(name, "-shm") || f.deleted && rng.IntN(2) == 0 || !f.there && rng.IntN(2) == 0 {
			continue
		}
		var chosen []op
		for _, p := range f.pending {
			if rng.Float64() < odds {
				chosen = append(chosen, p)
			}
		}
		for i, p := range chosen {
			k := len(p.data)
			if i == len(chosen)-1 && rng.IntN(2) == 0 {
				k = rng.IntN(k + 1)
			}
			f.synced = p.apply(f.synced, k)
		}
		if err := os.WriteFile(filepath.Join(dir, name), f.synced, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return acked
}

// apply does a write of its first k bytes, or a truncation.
func (o *op) apply(data []byte, k int) []byte {
	size := o.off
	if o.kind == opWrite {
		size = max(int64(len(data)), o.off+int64(k))
	}
	if size > int64(len(data)) {
		data = append(data, make([]byte, size-int64(len(data)))...)
	}
	data = data[:size]
	if o.kind == opWrite {
		copy(data[o.off:], o.data[:k])
	}
	return data
}

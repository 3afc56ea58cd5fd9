//go:build highs && (amd64 || arm64) && (linux || darwin || freebsd || netbsd || windows)

package highs

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

//go:embed highs.wasm
var wasm []byte

// Available returns nil if this program has the solver, else [ErrNotBuilt].
func Available() error { return nil }

// Solver solves models. It may be used by several goroutines at a time.
type Solver struct {
	cache   wazero.CompilationCache // holds the machine code
	runtime wazero.Runtime
	module  wazero.CompiledModule

	closed context.Context // done once Close is called
	close  context.CancelFunc
	busy   sync.RWMutex // read-locked by solves
}

// New compiles HiGHS to machine code, unless it finds that in the user's cache
// folder: seconds the first time, a tenth of one later. A cache that cannot be used
// costs those seconds each time and is no error. A context that ends stops it.
func New(ctx context.Context) (*Solver, error) {
	if dir, err := os.UserCacheDir(); err == nil {
		if cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(dir, "escala", "wazero")); err == nil {
			if s, err := compile(ctx, cache); err == nil || ctx.Err() != nil {
				return s, err
			}
		}
	}
	return compile(ctx, wazero.NewCompilationCache())
}

func compile(ctx context.Context, cache wazero.CompilationCache) (*Solver, error) {
	s := &Solver{cache: cache}
	if err := s.compile(ctx); err != nil {
		return nil, fmt.Errorf("highs: compiling: %w", errors.Join(err, s.release()))
	}
	s.closed, s.close = context.WithCancel(context.Background())
	return s, nil
}

func (s *Solver) compile(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil { // how wazero says that it may not make memory executable
			err = fmt.Errorf("%v", p)
		}
	}()
	// WithCloseOnContextDone would make a solve take three times as long; the clock
	// does its work. See clock.
	s.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCompilationCache(s.cache))
	ctx = experimental.WithCompilationWorkers(ctx, max(2, runtime.GOMAXPROCS(0))) // with one it would not look at ctx
	if s.module, err = s.runtime.CompileModule(ctx, wasm); err != nil {
		return err
	}
	host := s.runtime.NewHostModuleBuilder(hostName)
	for _, f := range s.module.ImportedFunctions() {
		_, name, _ := f.Import()
		host.NewFunctionBuilder().WithGoModuleFunction(imported(name), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	_, err = host.Instantiate(ctx)
	return err
}

func (s *Solver) release() error {
	ctx := context.Background()
	var err error
	if s.runtime != nil {
		err = s.runtime.Close(ctx)
	}
	return errors.Join(err, s.cache.Close(ctx))
}

// Close ends the solves that run, as if their contexts were cancelled, waits for
// them and gives everything back.
func (s *Solver) Close() error {
	s.close()
	s.busy.Lock()
	defer s.busy.Unlock()
	return s.release()
}

// Solve solves a model, or returns what it found until a limit is reached or the
// context ends, which is no error. An error is a model or an option that is wrong,
// or HiGHS failing, as it does when 2 GiB of memory are not enough.
func (s *Solver) Solve(ctx context.Context, m *Model, o Options) (Result, error) {
	s.busy.RLock()
	defer s.busy.RUnlock()
	if s.closed.Err() != nil {
		return Result{}, ErrClosed
	}
	c := startClock(ctx, s.closed, &o)
	if err := m.check(); err != nil {
		return Result{}, fmt.Errorf("highs: %w", err)
	}
	if err := o.check(m); err != nil {
		return Result{}, fmt.Errorf("highs: %w", err)
	}
	if m.Columns() == 0 {
		return m.empty(), nil
	}
	i, err := s.instantiate(c, &o)
	if err != nil {
		return Result{}, fmt.Errorf("highs: starting: %w", err)
	}
	defer i.discard()
	r, err := i.solve(m, &o)
	if err != nil {
		return Result{}, fmt.Errorf("highs: %w", err)
	}
	return r, nil
}

// instantiate makes a HiGHS that knows nothing yet.
func (s *Solver) instantiate(c *clock, o *Options) (*instance, error) {
	i := &instance{clock: c, log: logger{to: o.Log}}
	// No cancelling: what interrupts a solve is the clock.
	i.ctx = context.WithValue(context.Background(), instanceKey{}, i)
	var err error
	i.module, err = s.runtime.InstantiateModule(withMemory(i.ctx), s.module, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	return i, err
}

// An instance finds itself in the functions it imports by the context of the call.
type instanceKey struct{}

func instanceOf(ctx context.Context) *instance { return ctx.Value(instanceKey{}).(*instance) }

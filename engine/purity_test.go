package engine

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPure: the packages a decision goes through may not know of clocks, chance,
// files, the network, goroutines or drivers. Each ban has its reason.
func TestPure(t *testing.T) {
	banned := map[string]string{
		"time":         "time is an argument: the same facts must give the same decisions",
		"math/rand":    "chance would make a replay differ",
		"math/rand/v2": "chance would make a replay differ",
		"crypto/rand":  "chance would make a replay differ",
		"os":           "no I/O: a decision must not depend on the machine",
		"io":           "no I/O: a decision must not depend on the machine",
		"net":          "no I/O: a decision must not depend on the machine",
		"net/http":     "no I/O: a decision must not depend on the machine",
		"sync":         "no goroutines: their order is not part of the input",
		"sync/atomic":  "no goroutines: their order is not part of the input",
		"log":          "decisions return reasons, they do not log",
		"log/slog":     "decisions return reasons, they do not log",
	}
	allowed := map[string]bool{ // of this module: ground floors only
		"workload": true, "cluster": true, "fact": true, "policy": true, "place": true, "budget": true, "horizon": true, "internal/splitmix": true, "internal/pack": true,
	}
	const module = "github.com/escala-sched/escala/"
	for _, dir := range []string{".", "../fact", "../place", "../workload", "../horizon"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files: %v", dir, err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			ast, err := parser.ParseFile(token.NewFileSet(), f, src, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, imp := range ast.Imports {
				path := strings.Trim(imp.Path.Value, `"`)
				if why, bad := banned[path]; bad {
					t.Errorf("%s imports %s: %s", f, path, why)
				}
				if local, ok := strings.CutPrefix(path, module); ok && !allowed[local] {
					t.Errorf("%s imports %s: the engine stands on ground floors alone", f, local)
				}
				if strings.Contains(path, ".") && !strings.HasPrefix(path, module) {
					t.Errorf("%s imports %s: no library decides", f, path)
				}
			}
			for _, word := range []string{"go func", "for range e.classOf", "range e.plan.slots", "chan "} {
				if strings.Contains(string(src), word) {
					t.Errorf("%s contains %q: goroutines and the order of maps are not part of the input", f, word)
				}
			}
		}
	}
}

package yamlxtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/escala-sched/escala/internal/yamlx"
)

// BadFiles reads each file of testdata/bad, which begins with a line "# want: "
// and the error it must give, with a place in the file.
func BadFiles(t *testing.T, parse func(name string, data []byte) error) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no broken files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(data), "\n")
			var e *yamlx.Error
			if err := parse(filepath.Base(file), data); !errors.As(err, &e) {
				t.Fatalf("error is %v, want a place in the file", err)
			}
			if got := "# want: " + e.Head(); got != first {
				t.Errorf("error\n got %s\nwant %s", got, first)
			}
			if !strings.Contains(e.Excerpt, "^") {
				t.Errorf("error without an excerpt: %q", e.Excerpt)
			}
		})
	}
}

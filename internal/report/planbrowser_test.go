package report

import (
	"bytes"
	"strings"
	"testing"
)

// TestPlanPageInABrowser opens the page of a plan in a real browser: it is drawn without
// a complaint under its own policy, which allows no script and no request.
func TestPlanPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	var buf bytes.Buffer
	if err := WritePlanHTML(&buf, night()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(openPage(t, buf.Bytes()), "</svg>"); n != 2 {
		t.Errorf("%d pictures, want 2", n)
	}
}

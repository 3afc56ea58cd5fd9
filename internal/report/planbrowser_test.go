package report

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPlanPageInABrowser opens the page of a plan in a real browser: it is drawn without
// a complaint under its own policy, which allows no script and no request.
func TestPlanPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: the page is not opened in a browser")
	}
	dir := t.TempDir()
	page := filepath.Join(dir, "plan.html")
	var buf bytes.Buffer
	if err := WritePlanHTML(&buf, night()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--enable-logging=stderr", "--dump-dom", "file://"+page)
	var dom, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &dom, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	for _, line := range strings.Split(log.String(), "\n") {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the page complains: %s", line)
		}
	}
	if n := strings.Count(dom.String(), "</svg>"); n != 2 {
		t.Errorf("%d pictures, want 2", n)
	}
}

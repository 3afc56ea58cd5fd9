package report

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/budget"
)

// TestPageInABrowser opens the page in a real browser: its script runs without a
// complaint under the page's own policy, draws the picture, and asks nobody for anything.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	teams := []string{"vision", "speech", "language", "robotics", "biology", "ranking", "climate", "infra", "safety"}
	for name, c := range map[string]*Comparison{"budgets": demoWith(300, 4, budget.Equal("demo", teams)), "applications": dayOf(t)} {
		t.Run(name, func(t *testing.T) { inABrowser(t, c) })
	}
}

func inABrowser(t *testing.T, c *Comparison) {
	var buf bytes.Buffer
	if err := WriteHTML(&buf, c); err != nil {
		t.Fatal(err)
	}
	dom := openPage(t, buf.Bytes(), "--virtual-time-budget=3000", "--window-size=1200,2000")
	// The script sizes the canvas when it draws; as written it has no width.
	if !regexp.MustCompile(`<canvas[^>]*\swidth="\d{3,}"`).MatchString(dom) {
		t.Error("the picture of who ran where was not drawn")
	}
}

// openPage has a real browser draw a page and returns what it made of it; whatever the page
// complains of is an error.
func openPage(t *testing.T, html []byte, options ...string) (dom string) {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: the page is not opened in a browser")
	}
	dir := t.TempDir()
	page := filepath.Join(dir, "page.html")
	if err := os.WriteFile(page, html, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir=" + filepath.Join(dir, "profile"),
		"--enable-logging=stderr"}, options...)
	cmd := exec.CommandContext(ctx, browser, append(args, "--dump-dom", "file://"+page)...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	for _, line := range strings.Split(log.String(), "\n") {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the page complains: %s", line)
		}
	}
	return out.String()
}

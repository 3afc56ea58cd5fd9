package report

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
)

// writePage names a file that the demo page is written to, for looking at.
var writePage = flag.String("page", "", "write the demo page to this file")

func TestHTMLDemo(t *testing.T) {
	n, nodes := 1800, 22
	if testing.Short() {
		n, nodes = 200, 4
	}
	c := demo(n, nodes)
	var b bytes.Buffer
	if err := WriteHTML(&b, c); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 1_500_000 {
		t.Errorf("page of %d bytes; want at most 1.5 MB", b.Len())
	}
	t.Logf("%d bytes", b.Len())
	checkPage(t, b.String())
	if *writePage != "" {
		if err := os.WriteFile(*writePage, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHTMLWithBudgets(t *testing.T) {
	n, nodes := 1800, 22
	if testing.Short() {
		n, nodes = 200, 4
	}
	c := demoWith(n, nodes, budget.Equal("demo", []string{"vision", "speech", "language", "robotics", "biology", "ranking", "climate", "infra", "safety"}))
	var b bytes.Buffer
	if err := WriteHTML(&b, c); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", b.Len())
	if b.Len() > 2_000_000 {
		t.Errorf("page of %d bytes; want at most 2 MB", b.Len())
	}
	checkPage(t, b.String())
	for _, want := range []string{"What accounts were owed and got", "How well accounts were served under fifo", "Unallocated work", "Preemptions per day", "What stopping cost"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if *writePage != "" {
		if err := os.WriteFile(*writePage+"-budgets.html", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.Reset()
	if err := WriteHTML(&b, judged()); err != nil { // figures without anything over time
		t.Fatal(err)
	}
	checkPage(t, b.String())
}

func TestHTMLEscapesNames(t *testing.T) {
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(2)>`
	c := demo(60, 4)
	c.Workload.Name = evil
	c.Workload.Notes = []string{evil}
	for i := range c.Workload.Jobs {
		c.Workload.Jobs[i].ID = evil
		c.Workload.Jobs[i].Team = evil
	}
	c.Cluster.Nodes[0].Name = evil
	for i := range c.Policies {
		c.Policies[i].Name, c.Policies[i].Text = evil, evil
		for k := range c.Policies[i].Metrics.Groups {
			c.Policies[i].Metrics.Groups[k].Name = evil
		}
	}
	var b bytes.Buffer
	if err := WriteHTML(&b, c); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	checkPage(t, page)
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") {
		t.Error("a name of the input became markup")
	}
	if n := strings.Count(strings.ToLower(page), "<script"); n != 2 {
		t.Errorf("%d script elements, want the data and the page's own", n)
	}
}

func TestHTMLWithoutPictures(t *testing.T) {
	c := fixed()
	var b bytes.Buffer
	if err := WriteHTML(&b, c); err != nil {
		t.Fatal(err)
	}
	checkPage(t, b.String())
	c.Policies = c.Policies[:1]
	c.Cluster = &cluster.Spec{Name: "pool:176", Count: 176}
	b.Reset()
	if err := WriteHTML(&b, c); err != nil {
		t.Fatal(err)
	}
	checkPage(t, b.String())
	if !strings.Contains(b.String(), "one pool of GPUs without nodes") {
		t.Error("the page does not say why there is no picture")
	}
}

var (
	requests = regexp.MustCompile(`(?i)(src|href|srcset|action|data|poster)\s*=\s*["']?[a-z]*:?//|url\(|@import|<link|<iframe|fetch\(|XMLHttpRequest|import\(`)
	tags     = regexp.MustCompile(`<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^>"']|"[^"]*"|'[^']*')*?)(/?)>`)
	void     = map[string]bool{"meta": true, "br": true, "input": true}
)

// checkPage tests that the page makes no request and that its tags are balanced.
func checkPage(t *testing.T, page string) {
	t.Helper()
	if m := requests.FindString(page); m != "" {
		t.Errorf("the page asks for something: %q", m)
	}
	if strings.Contains(page, "ZgotmplZ") {
		t.Error("the template refused a value (ZgotmplZ)")
	}
	body := regexp.MustCompile(`(?s)(<script[^>]*>).*?</script>|(<style[^>]*>).*?</style>`).ReplaceAllString(page, "")
	var open []string
	for _, m := range tags.FindAllStringSubmatch(body, -1) {
		name := strings.ToLower(m[2])
		switch {
		case void[name] || m[4] == "/":
		case m[1] == "":
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			t.Fatalf("</%s> closes %v", name, open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) != 0 {
		t.Errorf("unclosed: %v", open)
	}
}

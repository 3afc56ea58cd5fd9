package observe

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// dashboard is Grafana's model as far as a dashboard needs it to load.
type dashboard struct {
	Title, UID    string
	SchemaVersion int
	Templating    struct {
		List []struct{ Name, Type string }
	}
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ RefID, Expr, LegendFormat string }
		// Datasource of panels that show something.
		Datasource struct{ Type, UID string }
	}
}

// TestDashboard: its panels lie on the grid, and ask for metrics and labels that there are.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("../../deploy/grafana/escala.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if d.Title == "" || d.UID == "" || d.SchemaVersion < 36 || len(d.Panels) < 20 {
		t.Errorf("dashboard %q, uid %q, version %d, %d panels", d.Title, d.UID, d.SchemaVersion, len(d.Panels))
	}
	ids, used := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 || p.Title == "" {
			t.Errorf("panel %q has the number %d, which is not its own", p.Title, p.ID)
		}
		ids[p.ID] = true
		g := p.GridPos
		if g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("panel %q lies beside the grid: %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := used[[2]int{x, y}]; other != "" {
					t.Fatalf("panels %q and %q overlap", p.Title, other)
				}
				used[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Datasource.Type != "prometheus" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("panel %q asks nobody", p.Title)
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			if refs[q.RefID] || q.RefID == "" {
				t.Errorf("panel %q has %q twice", p.Title, q.RefID)
			}
			refs[q.RefID] = true
			checkQuery(t, p.Title, q.Expr, regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`).FindAllStringSubmatch(q.LegendFormat, -1))
		}
	}
}

// TestAlerts: rules are complete, and ask for metrics and labels that there are.
func TestAlerts(t *testing.T) {
	data, err := os.ReadFile("../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For string
				Labels           map[string]string
				Annotations      map[string]string
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.DisallowUnknownField()); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			if names[r.Alert] || r.Alert == "" || r.Expr == "" || g.Name == "" {
				t.Errorf("alert %q is there twice, or asks nothing", r.Alert)
			}
			names[r.Alert] = true
			if r.For != "" && !regexp.MustCompile(`^\d+[smhd]$`).MatchString(r.For) {
				t.Errorf("%s: for %q", r.Alert, r.For)
			}
			if s := r.Labels["severity"]; s != "critical" && s != "warning" && s != "info" {
				t.Errorf("%s: severity %q", r.Alert, s)
			}
			for _, k := range []string{"summary", "description", "runbook"} {
				if r.Annotations[k] == "" {
					t.Errorf("%s has no %s", r.Alert, k)
				}
			}
			checkQuery(t, r.Alert, r.Expr, regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(r.Annotations["description"], -1))
		}
	}
	for _, want := range []string{"EscalaJournalCannotBeWritten", "EscalaLoopStalled", "EscalaNoDecision", "EscalaNodeDown", "EscalaStartsFail", "EscalaForecastOff", "EscalaOwedNotDelivered", "EscalaDiskNearlyFull"} {
		if !names[want] {
			t.Errorf("there is no alert %s", want)
		}
	}
}

var (
	metricName = regexp.MustCompile(`\b(?:escala|go|process)_[a-z0-9_]+`)
	matchers   = regexp.MustCompile(`\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	grouping   = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
)

// checkQuery holds that a query names metrics and labels that there are. shown are the labels that
// a legend or a text shows.
func checkQuery(t *testing.T, where, expr string, shown [][]string) {
	t.Helper()
	labels := []string{"instance", "job"}
	found := false
	for _, name := range metricName.FindAllString(expr, -1) {
		m := defined(name)
		if m == nil {
			if name != "go_goroutines" && name != "process_resident_memory_bytes" {
				t.Errorf("%s: there is no metric %s", where, name)
			}
			found = true
			continue
		}
		found = true
		labels = append(labels, m.labels...)
		if m.buckets != nil {
			labels = append(labels, "le")
		}
	}
	if !found {
		t.Errorf("%s: %s asks for no metric", where, expr)
	}
	var named []string
	for _, x := range matchers.FindAllStringSubmatch(expr, -1) {
		for _, m := range matcher.FindAllStringSubmatch(x[1], -1) {
			named = append(named, m[1])
		}
	}
	for _, x := range grouping.FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(x[1], ",") {
			if l = strings.TrimSpace(l); l != "" {
				named = append(named, l)
			}
		}
	}
	for _, x := range shown {
		named = append(named, x[1])
	}
	for _, l := range named {
		if !slices.Contains(labels, l) {
			t.Errorf("%s: no metric of %s has the label %s", where, expr, l)
		}
	}
	if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") || strings.Count(expr, "[") != strings.Count(expr, "]") {
		t.Errorf("%s: brackets of %s do not close", where, expr)
	}
}

// defined is the metric of a series, nil if there is none.
func defined(series string) *metric {
	for _, m := range catalogue {
		if m.name == series && m.buckets == nil {
			return m
		}
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			if m.buckets != nil && m.name+part == series {
				return m
			}
		}
	}
	return nil
}

// TestEveryMetricIsDocumented, with its labels, and nothing that there is not.
func TestEveryMetricIsDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, m := range catalogue {
		i := strings.Index(text, "| `"+m.name+"`")
		if i < 0 {
			t.Errorf("docs/observability.md lacks %s", m.name)
			continue
		}
		row, _, _ := strings.Cut(text[i:], "\n")
		for _, l := range m.labels {
			if !strings.Contains(row, "`"+l+"`") {
				t.Errorf("the row of %s lacks its label %s", m.name, l)
			}
		}
	}
	for _, name := range regexp.MustCompile("\\| `(escala_[a-z0-9_]+)`").FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(catalogue, func(m *metric) bool { return m.name == name[1] }) {
			t.Errorf("docs/observability.md has %s, which there is not", name[1])
		}
	}
}

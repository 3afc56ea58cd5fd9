package slurm_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// withPlugin starts a Slurm with the plugin of deploy/slurm, as a site has it that filled in its table by QOS.
func withPlugin(t *testing.T, byQOS string, extra ...string) *slurmtest.Cluster {
	t.Helper()
	script, err := os.ReadFile("../../deploy/slurm/job_submit.lua")
	if err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob("/usr/lib/*/slurm*/job_submit_lua.so")
	if len(found) == 0 {
		t.Skip("Slurm has no plugin job_submit/lua here (Debian: slurm-wlm-basic-plugins)")
	}
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1, Extra: extra})
	text := strings.Replace(string(script), "escala.by_qos = {\n", "escala.by_qos = {\n"+byQOS, 1)
	if err := os.WriteFile(filepath.Join(c.Dir, "etc", "job_submit.lua"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	conf, err := os.ReadFile(c.Conf)
	if err != nil {
		t.Fatal(err)
	}
	c.StopController()
	if err := os.WriteFile(c.Conf, append(conf, "JobSubmitPlugins=lua\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	c.StartController()
	return c
}

// TestPluginTakesWhatEscalaTakes: the plugin refuses at submission what escala would not understand, and nothing else.
func TestPluginTakesWhatEscalaTakes(t *testing.T) {
	t.Parallel()
	c := withPlugin(t, "")
	data, err := os.ReadFile("testdata/contracts.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		verdict, comment, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			continue
		}
		id, err := c.Submit(t.Context(), "true", "--hold", "--output=/dev/null", "--comment="+comment)
		if (err == nil) != (verdict == "ok") {
			t.Errorf("%q: %v", comment, err)
		}
		if err == nil {
			if text, _, err := c.Comment(t.Context(), id); err != nil || text != comment {
				t.Errorf("%q is now %q, %v", comment, text, err)
			}
		}
	}
	_, err = c.Submit(t.Context(), "true", "--output=/dev/null", "--comment=escala:minruntime=2h")
	if err == nil || !strings.Contains(err.Error(), `escala: the comment is not understood: "minruntime" is not known; there are min-runtime,`) {
		t.Error(err)
	}
	id := c.Sbatch("true", "--hold", "--comment=escala:grace=1m")
	if err := c.Update(t.Context(), id, "comment=escala:grace=soon"); err == nil {
		t.Error("a comment was changed into one that is not understood")
	}
	if err := c.Update(t.Context(), id, "comment=escala:grace=2m"); err != nil {
		t.Error(err)
	}
	if text, _, err := c.Comment(t.Context(), id); err != nil || text != "escala:grace=2m" {
		t.Error(text, err)
	}
}

// TestPluginFillsIn: what a site gives to a QOS stands in the comment, and what can go on is requeued though the site's default is not.
func TestPluginFillsIn(t *testing.T) {
	t.Parallel()
	c := withPlugin(t, "\tlong = \"min-runtime=8h,checkpoint-interval=30m\",\n\tscavenge = \"min-runtime=0,resumable\",\n\todd = \"minruntime=8h\",\n", "JobRequeue=0")
	for _, x := range []struct {
		args    []string
		comment string
		requeue bool
	}{
		{nil, "", false},
		{[]string{"--comment=mine"}, "mine", false},
		{[]string{"--qos=long"}, "escala:min-runtime=8h,checkpoint-interval=30m", true},
		{[]string{"--qos=long", "--comment=mine"}, "mine escala:min-runtime=8h,checkpoint-interval=30m", true},
		{[]string{"--qos=long", "--comment=escala:min-runtime=1h"}, "escala:min-runtime=1h", false},
		{[]string{"--qos=scavenge", "--no-requeue"}, "escala:min-runtime=0,resumable", false},
		{[]string{"--qos=odd"}, "", false},
		{[]string{"--comment=escala:resumable"}, "escala:resumable", true},
		{[]string{"--comment=escala:resumable=no,checkpoint-on-stop", "--requeue"}, "escala:resumable=no,checkpoint-on-stop", true},
		{[]string{"--comment=escala:resumable=no,checkpoint-on-stop"}, "escala:resumable=no,checkpoint-on-stop", false},
		{[]string{"--comment=escala:checkpoint-on-stop"}, "escala:checkpoint-on-stop", true},
		{[]string{"--comment=escala:checkpoint-on-stop=no"}, "escala:checkpoint-on-stop=no", false},
		{[]string{"--comment=escala:checkpoint-on-stop", "--no-requeue"}, "escala:checkpoint-on-stop", false},
		{[]string{"--array=0-3", "--comment=escala:resumable"}, "escala:resumable", true},
	} {
		id := c.Sbatch("true", append([]string{"--hold"}, x.args...)...)
		comment, _, err := c.Comment(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := c.Queue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var j slurm.Job
		for i := range list {
			if list[i].ID == id {
				j = list[i]
			}
		}
		if comment != x.comment || j.Requeue != x.requeue {
			t.Errorf("%v: comment %q, requeue %v", x.args, comment, j.Requeue)
		}
	}
	_, err := c.Submit(t.Context(), "true", "--output=/dev/null", "--qos=long", "--comment=escala:resumable", "--no-requeue")
	if err == nil || !strings.Contains(err.Error(), "--no-requeue, which says the opposite") {
		t.Error(err)
	}
	log, err := os.ReadFile(filepath.Join(c.Dir, "log", "slurmctld.log"))
	if want := `escala: what jobs of QOS odd are to have is wrong, and is left out: "minruntime" is not known`; err != nil || !strings.Contains(string(log), want) {
		t.Errorf("slurmctld's log does not say %q: %v", want, fmt.Sprint(err))
	}
}

// TestPluginOnComments puts many comments together from pieces: the plugin and escala never differ.
func TestPluginOnComments(t *testing.T) {
	t.Parallel()
	c := withPlugin(t, "")
	draw := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // comments, the same ones each time
	pick := func(from ...string) string { return from[draw.IntN(len(from))] }
	value := func() string {
		switch draw.IntN(3) {
		case 0:
			return pick("", "yes", "no", "true", "false", "0", "00", "No", "vision", "a=b", "=", "@")
		case 1:
			return pick("", "B:", "R:", "BR:", ":", "b:") + pick("", "SIG", "sig") + pick("USR1", "usr2", "TERM", "10", "065", "9", "") + pick("", "@", "@0", "@90", "@65536", "@x")
		}
		out := ""
		for range 1 + draw.IntN(3) {
			out += pick("1", "30", "1.5", ".5", "5.", "", "1e3", "0x1", "-1", " 1") + pick("d", "h", "m", "s", "ms", "", "md", "H")
		}
		return out
	}
	taken := 0
	for range 400 {
		comment := pick("", "", "x ", "x") + "escala:"
		for range 1 + draw.IntN(2) {
			comment += pick("min-runtime", "grace", "estimate", "restart-cost", "checkpoint-interval", "checkpoint-on-stop", "resumable", "team", "signal", "class", "") + pick("=", "=", "=", "") + value() + pick(",", ",", " ", "\t")
		}
		_, mine := slurm.ParseContract(comment)
		_, theirs := c.Submit(t.Context(), "true", "--hold", "--output=/dev/null", "--comment="+comment)
		if (mine == nil) != (theirs == nil) {
			t.Errorf("%q: escala %v, the plugin %v", comment, mine, theirs)
		}
		if mine == nil {
			taken++
		}
	}
	if taken < 40 || taken > 360 {
		t.Errorf("%d of 400 were taken: the pieces do not test much", taken)
	}
}

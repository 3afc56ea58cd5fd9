package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestMeasureGPUs(t *testing.T) {
	g := newRig(t)
	g.opts.Pretend, g.opts.SMI = 0, fakeSMI(t, twoH100, "0, 50, 10, 81559\n1, [N/A], 0, 81559\n", "0")
	w, _ := g.world()
	s, err := w.Measure(t.Context())
	if err != nil || s.Source != "nvidia-smi" || len(s.GPUs) != 2 || s.GPUs[0].Busy != 500 || s.GPUs[1].Busy != -1 || s.GPUs[0].Part != 1000 {
		t.Errorf("%+v %v", s, err)
	}
	w.opts.Exporter = exporter("DCGM_FI_PROF_SM_ACTIVE{gpu=\"9\",UUID=\"GPU-bbbb\"} 0.25\nDCGM_FI_PROF_SM_ACTIVE{gpu=\"0\",UUID=\"GPU-other\"} 0.25\n")
	s, err = w.Measure(t.Context())
	if err != nil || s.Source != "dcgm-exporter" || len(s.GPUs) != 1 || s.GPUs[0].GPU != 1 || s.GPUs[0].Busy != 250 {
		t.Errorf("%+v %v", s, err)
	}
	if d := w.Describe(); !strings.Contains(d, "2 GPUs found by nvidia-smi") || !strings.Contains(d, "device files") {
		t.Error(d)
	}
}

func TestDescribePretended(t *testing.T) {
	g := newRig(t)
	w := g.open()
	defer w.Close()
	if d := w.Describe(); !strings.Contains(d, "8 GPUs are pretended") || !strings.Contains(d, "no cgroups: they are switched off") {
		t.Error(d)
	}
	if s := w.Cluster(); len(s.Nodes) != 1 || s.Nodes[0].GPUs != 8 {
		t.Errorf("%+v", s)
	}
}

func TestCgroupPlaces(t *testing.T) {
	for self, want := range map[string]string{
		"0::/\n": "/escala-runs",
		"9:name=systemd:/\n0::/system.slice/escala.service\n": "/system.slice/escala.service/escala-runs",
		"0::/system.slice/escala.service/daemon\n":            "/system.slice/escala.service/escala-runs",
		"": "escala-runs",
	} {
		if got := besideMe(self); got != want {
			t.Errorf("%q: %q, want %q", self, got, want)
		}
	}
	info := "35 24 0:30 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n36 35 0:31 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
	if got := cgroup2Mount(info); got != "/sys/fs/cgroup/unified" {
		t.Errorf("%q", got)
	}
	if got := cgroup2Mount("1 2 0:1 / /proc rw - proc proc rw\n"); got != "" {
		t.Errorf("%q", got)
	}
}

func TestCgroupLimits(t *testing.T) {
	g := &cgroup{dir: t.TempDir()}
	if err := g.limit(2500, 64); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"cpu.max": "250000 100000", "memory.max": "67108864", "memory.oom.group": "1"} {
		if got, _ := os.ReadFile(filepath.Join(g.dir, name)); string(got) != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	os.WriteFile(filepath.Join(g.dir, "memory.events"), []byte("low 0\noom 1\noom_kill 2\n"), 0o600)
	if g.oomKills() != 2 {
		t.Error(g.oomKills())
	}
}

// TestAsNobody holds the world to the contract once more as a user who is not root.
func TestAsNobody(t *testing.T) {
	rootOnly(t)
	dir, err := os.MkdirTemp("", "escala-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o711)
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "local.test")
	if err := os.WriteFile(copied, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(copied, "-test.run", "^(TestConformance|TestEnvironment|TestStartFails|TestSupervisorKilled|TestOutputFiles)$", "-test.timeout", "60s")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "PASS") {
		t.Errorf("%s", out)
	}
}

package local

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeSMI writes an nvidia-smi that answers as told.
func fakeSMI(t *testing.T, inventory, activity string, exit string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nvidia-smi")
	script := "#!/bin/sh\ncase \"$1\" in\n*uuid*) cat <<'E'\n" + inventory + "E\n;;\n*) cat <<'E'\n" + activity + "E\nesac\nexit " + exit + "\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

const twoH100 = "1, GPU-bbbb, NVIDIA H100 80GB HBM3, 81559, Disabled\n0, GPU-aaaa, NVIDIA H100 80GB HBM3, 81559, Disabled\n"

func lookAt(t *testing.T, smi string) (*machine, error) {
	return look(t.Context(), Options{Dir: "/nowhere", Payload: func(int32) ([]byte, error) { return nil, nil }, Now: time.Now, SMI: smi})
}

func TestGPUsAreFound(t *testing.T) {
	m, err := lookAt(t, fakeSMI(t, twoH100, "", "0"))
	if err != nil {
		t.Fatal(err)
	}
	if m.node.GPUs != 2 || m.node.GPUType != "H100" || m.gpus[0].visible() != "GPU-aaaa" || m.gpus[1].visible() != "GPU-bbbb" {
		t.Errorf("%+v %+v", m.node, m.gpus)
	}
	if m.node.CPU < 1000 || m.node.Memory < 100 || m.node.Name == "" {
		t.Errorf("%+v", m.node)
	}
}

func TestGPUsInMIGMode(t *testing.T) {
	m, err := lookAt(t, fakeSMI(t, twoH100+"2, GPU-cccc, NVIDIA H100 80GB HBM3, 81559, Enabled\n3, GPU-dddd, Tesla V100-SXM2-16GB, [N/A], [N/A]\n", "", "0"))
	if err != nil {
		t.Fatal(err)
	}
	if m.node.GPUs != 3 || m.node.GPUType != "" || !strings.Contains(m.said[0], "divided") || !strings.Contains(m.said[1], "several types") {
		t.Errorf("%+v %q", m.node, m.said)
	}
}

func TestBadInventories(t *testing.T) {
	for _, bad := range []string{"", "No devices were found\n", "0, GPU-a, H100, 81559\n", "x, GPU-a, H100, 81559, Disabled\n", "0, a, H100, 81559, Disabled\n",
		"0, GPU-a, H100, much, Disabled\n", "0, GPU-a, H100, 1, Maybe\n", "0, GPU-a, H100, 1, Disabled\n0, GPU-b, H100, 1, Disabled\n"} {
		if m, err := lookAt(t, fakeSMI(t, bad, "", "0")); err == nil {
			t.Errorf("%q is taken: %+v", bad, m.gpus)
		} else {
			t.Log(err)
		}
	}
	if _, err := lookAt(t, fakeSMI(t, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", "", "9")); err == nil || !strings.Contains(err.Error(), "communicate") {
		t.Errorf("%v", err)
	}
}

func TestShortTypes(t *testing.T) {
	for name, want := range map[string]string{"NVIDIA A100-SXM4-80GB": "A100", "NVIDIA H100 80GB HBM3": "H100", "Tesla V100-SXM2-16GB": "V100", "NVIDIA GeForce RTX 4090": "RTX4090",
		"NVIDIA GH200 480GB": "GH200", "NVIDIA L40S": "L40S", "NVIDIA B200": "B200", "Quadro RTX 6000": "RTX6000"} {
		if got := shortType(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestActivity is the known answer: two values that say nothing, one that cannot be, one of a slice.
func TestActivity(t *testing.T) {
	for _, blank := range []string{"9223372036854775807", "9223372036854775792", "9.223372036854775807e+18", "140737488355328", "140737488355343.0", "1.40737488355328e+14", "2147483632"} {
		text := `# HELP DCGM_FI_PROF_SM_ACTIVE The ratio of cycles an SM has at least 1 warp assigned.
# TYPE DCGM_FI_PROF_SM_ACTIVE gauge
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="n \"1\""}
DCGM_FI_PROF_SM_ACTIVE{gpu="1",UUID="GPU-b",device="nvidia1"} ` + blank + `
DCGM_FI_PROF_SM_ACTIVE{gpu="2",UUID="GPU-c",device="nvidia2"} 1.294 1700000000000
DCGM_FI_PROF_SM_ACTIVE{gpu="3",UUID="GPU-d",GPU_I_PROFILE="4g.40gb",GPU_I_ID="2"} 0.5
DCGM_FI_DEV_GPU_UTIL{gpu="3",UUID="GPU-d",GPU_I_PROFILE="4g.40gb",GPU_I_ID="2"} 100
`
		list, anomalies, err := ParseActivity(strings.NewReader(text))
		if err != nil || len(list) != 4 || anomalies != 1 {
			t.Fatalf("%s: %+v, %d anomalies, %v", blank, list, anomalies, err)
		}
		if list[0].Measured || list[1].Measured {
			t.Errorf("%s: what was not measured has a value: %+v", blank, list[:2])
		}
		if list[2].Busy != 1 || list[2].Part != 1 {
			t.Errorf("%+v", list[2])
		}
		if got := list[3].Busy * list[3].Part; math.Abs(got-2.0/7) > 1e-12 {
			t.Errorf("%v of a GPU, want 2/7", got)
		}
		busy, gpus := Mean(list)
		if math.Abs(busy-9.0/11) > 1e-12 || math.Abs(gpus-11.0/7) > 1e-12 {
			t.Errorf("%v over %v GPUs, want 9/11 over 11/7", busy, gpus)
		}
	}
}

func TestActivityOfUtilization(t *testing.T) {
	list, anomalies, err := ParseActivity(strings.NewReader("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 37\nDCGM_FI_DEV_FB_USED{gpu=\"0\"} 100\nDCGM_FI_DEV_FB_FREE{gpu=\"0\"} 900\nother 1\n"))
	if err != nil || anomalies != 0 || len(list) != 1 || list[0].Busy != 0.37 || list[0].MemoryUsed != 100 || list[0].MemoryTotal != 1000 {
		t.Errorf("%+v %v", list, err)
	}
	for _, bad := range []string{"DCGM_FI_DEV_GPU_UTIL{gpu=\"0 37", "DCGM_FI_DEV_GPU_UTIL{gpu} 37", "DCGM_FI_DEV_GPU_UTIL{gpu=0} 37"} {
		if _, _, err := ParseActivity(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if busy, gpus := Mean(nil); busy != 0 || gpus != 0 {
		t.Error(busy, gpus)
	}
}

func FuzzActivity(f *testing.F) {
	f.Add("DCGM_FI_PROF_SM_ACTIVE{gpu=\"3\",GPU_I_PROFILE=\"1c.4g.40gb\"} 0.5\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, _, _ := ParseActivity(strings.NewReader(text))
		for _, a := range list {
			if a.Busy < 0 || a.Busy > 1 || a.Part <= 0 || a.Part > 1 {
				t.Errorf("%q: %+v", text, a)
			}
		}
	})
}

func TestSlices(t *testing.T) {
	for profile, want := range map[string]float64{"": 1, "1g.10gb": 1.0 / 7, "7g.80gb": 1, "1c.4g.40gb": 4.0 / 7, "9g.1gb": 1, "MIG 1g": 1} {
		if got := slicePart(profile); got != want {
			t.Errorf("%q: %v, want %v", profile, got, want)
		}
	}
}

func TestSMIActivity(t *testing.T) {
	list, anomalies, err := parseSMIActivity("0, 37, 1000, 81559\n1, [N/A], [N/A], 81559\n2, 140, 0, 81559\n")
	if err != nil || anomalies != 1 || list[0].Busy != 0.37 || list[1].Measured || list[2].Busy != 1 {
		t.Errorf("%+v %d %v", list, anomalies, err)
	}
	for _, bad := range []string{"0, 1, 2\n", "x, 1, 2, 3\n", "0, busy, 2, 3\n"} {
		if _, _, err := parseSMIActivity(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestPayloads(t *testing.T) {
	for _, bad := range []string{`{}`, `{"argv":[""]}`, `{"argv":["a"],"x":1}`, `{"argv":["a"]}{}`, `{"argv":["a"],"umask":"9"}`, `{"argv":["a"],"signal":"FOO"}`,
		`{"argv":["a"],"dir":"rel"}`, `{"argv":["a"],"env":{"A=B":""}}`, `{"argv":["a\u0000"]}`, `{"argv":["a"],"resume_exit":0}`, `[]`, ``} {
		if p, err := ParsePayload([]byte(bad)); err == nil {
			t.Errorf("%s is taken: %+v", bad, p)
		}
	}
	for name, want := range map[string]int{"": 15, "TERM": 15, "SIGUSR1": 10, "int": 2, "12": 12} {
		if got, err := ParseSignal(name); err != nil || got != want {
			t.Errorf("%s: %d %v", name, got, err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, bad := range []string{"", "1", "1.", ".1", "01.1", "1.1.1", "-1.1", "99999999999.1"} {
		if r, ok := parseRunName(bad); ok {
			t.Errorf("%q is %v", bad, r)
		}
	}
}

// exporter is an Options.Exporter that answers with a text.
func exporter(text string) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/escala-sched/escala/cluster"
)

// gpu is one device of this machine.
type gpu struct {
	index  int
	uuid   string // "" for a pretended one
	name   string
	memory int64 // MiB
}

// visible is its name for CUDA_VISIBLE_DEVICES.
func (g *gpu) visible() string {
	if g.uuid == "" {
		return strconv.Itoa(g.index)
	}
	return g.uuid
}

// smiTimeout is for a driver that hangs: nvidia-smi can take seconds to wake sleeping devices.
const smiTimeout = 30 * time.Second

const smiInventory = "--query-gpu=index,uuid,name,memory.total,mig.mode.current"

// findGPUs asks nvidia-smi. said is a sentence about what was found.
func findGPUs(ctx context.Context, smi string) (gpus []gpu, said string, err error) {
	if smi == "none" {
		return nil, "no GPUs: they were not looked for", nil
	}
	path, err := exec.LookPath(cmp.Or(smi, "nvidia-smi"))
	if err != nil {
		if smi != "" {
			return nil, "", fmt.Errorf("nvidia-smi: %w", err)
		}
		return nil, "no GPUs: there is no nvidia-smi on this machine", nil
	}
	out, err := runSMI(ctx, path, smiInventory)
	if err != nil {
		return nil, "", err
	}
	gpus, divided, err := parseInventory(out)
	if err != nil {
		return nil, "", fmt.Errorf("nvidia-smi: %w", err)
	}
	said = fmt.Sprintf("%d GPUs found by nvidia-smi", len(gpus))
	if len(gpus) == 1 {
		said = "1 GPU found by nvidia-smi"
	}
	if divided > 0 {
		said += fmt.Sprintf("; %d more are divided (MIG) and not used", divided)
	}
	return gpus, said, nil
}

func runSMI(ctx context.Context, path, query string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, smiTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, query, "--format=csv,noheader,nounits")
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		what := bytes.TrimSpace(append(stdout.Bytes(), stderr.Bytes()...))
		return nil, fmt.Errorf("%s %s: %w: %.200s", path, query, err, what)
	}
	return stdout.Bytes(), nil
}

// parseInventory reads what nvidia-smi says of its devices, in the order of their indices.
// divided counts those in MIG mode, which cannot be given whole.
func parseInventory(out []byte) (gpus []gpu, divided int, err error) {
	seen := map[int]bool{}
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), ", ")
		if len(f) != 5 {
			return nil, 0, fmt.Errorf("%q: want index, uuid, name, memory.total, mig.mode.current", line)
		}
		g := gpu{uuid: f[1], name: f[2]}
		if g.index, err = strconv.Atoi(f[0]); err != nil || g.index < 0 {
			return nil, 0, fmt.Errorf("%q: index %q is no number", line, f[0])
		}
		if seen[g.index] {
			return nil, 0, fmt.Errorf("%q: index %d appears twice", line, g.index)
		}
		seen[g.index] = true
		if !strings.HasPrefix(g.uuid, "GPU-") || strings.ContainsAny(g.uuid, ", \t") {
			return nil, 0, fmt.Errorf("%q: uuid %q does not begin with GPU-", line, f[1])
		}
		if g.memory, err = strconv.ParseInt(f[3], 10, 64); err != nil && !missing(f[3]) || g.memory < 0 {
			return nil, 0, fmt.Errorf("%q: memory %q is no number of MiB", line, f[3])
		}
		switch f[4] {
		case "Enabled":
			divided++
			continue
		case "Disabled":
		default:
			if !missing(f[4]) {
				return nil, 0, fmt.Errorf("%q: MIG mode %q", line, f[4])
			}
		}
		gpus = append(gpus, g)
	}
	slices.SortFunc(gpus, func(a, b gpu) int { return cmp.Compare(a.index, b.index) })
	if len(gpus) > cluster.MaxGPUsPerNode {
		return nil, 0, fmt.Errorf("%d GPUs; at most %d", len(gpus), cluster.MaxGPUsPerNode)
	}
	if len(seen) == 0 {
		return nil, 0, errors.New("it names no GPU")
	}
	return gpus, divided, nil
}

// missing tells whether nvidia-smi says that it cannot tell a value.
func missing(s string) bool {
	switch s {
	case "[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "":
		return true
	}
	return false
}

// gpuType is the short name of a device: "H100" of "NVIDIA H100 80GB HBM3". Empty where the
// devices are not all of one.
func gpuType(gpus []gpu) string {
	t := ""
	for i := range gpus {
		s := shortType(gpus[i].name)
		if i > 0 && s != t {
			return ""
		}
		t = s
	}
	return t
}

func shortType(name string) string {
	words := strings.Fields(strings.ReplaceAll(name, "|", " "))
	words = slices.DeleteFunc(words, func(w string) bool {
		switch w {
		case "NVIDIA", "Tesla", "GeForce", "Quadro", "Graphics", "Device":
			return true
		}
		return false
	})
	if len(words) == 0 {
		return name
	}
	if n := words[0]; (n == "RTX" || n == "GTX" || n == "TITAN") && len(words) > 1 {
		return n + words[1]
	}
	short, _, _ := strings.Cut(words[0], "-")
	return short
}

// pretend makes GPUs that are not there.
func pretend(n int) ([]gpu, string) {
	gpus := make([]gpu, n)
	for i := range gpus {
		gpus[i] = gpu{index: i, name: "pretended"}
	}
	if n == 1 {
		return gpus, "1 GPU is pretended: jobs get a number and no device"
	}
	return gpus, fmt.Sprintf("%d GPUs are pretended: jobs get numbers and no devices", n)
}

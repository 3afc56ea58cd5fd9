package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/cluster"
)

// machine is what there is: the node, its GPUs, and where the state is kept.
type machine struct {
	opts Options
	node cluster.Node
	spec *cluster.Spec
	gpus []gpu
	// said are sentences about what was found.
	said []string
}

// look finds out what this machine has.
func look(ctx context.Context, o Options) (*machine, error) {
	switch {
	case o.Dir == "" || !filepath.IsAbs(o.Dir):
		return nil, fmt.Errorf("state directory %q: want an absolute path", o.Dir)
	case o.Payload == nil || o.Now == nil:
		return nil, errors.New("a local world needs a payload source and a clock")
	case o.Pretend < 0 || o.Pretend > cluster.MaxGPUsPerNode:
		return nil, fmt.Errorf("%d pretended GPUs; want 0..%d", o.Pretend, cluster.MaxGPUsPerNode)
	}
	m := &machine{opts: o.withDefaults()}
	m.opts.Dir = filepath.Clean(o.Dir)
	var said string
	var err error
	if o.Pretend > 0 {
		m.gpus, said = pretend(o.Pretend)
	} else if m.gpus, said, err = findGPUs(ctx, o.SMI); err != nil {
		return nil, err
	}
	m.said = append(m.said, said)
	if m.node.Name = o.Node; m.node.Name == "" {
		if m.node.Name, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("the name of this machine: %w", err)
		}
	}
	m.node.GPUs = int32(len(m.gpus))
	if m.node.GPUType = o.GPUType; m.node.GPUType == "" && o.Pretend == 0 {
		m.node.GPUType = gpuType(m.gpus)
		if m.node.GPUType == "" && len(m.gpus) > 0 {
			m.said = append(m.said, "the GPUs are of several types, which jobs cannot choose between")
		}
	}
	m.node.CPU = int64(runtime.NumCPU()) * 1000
	if m.node.Memory, err = memoryMiB(); err != nil {
		return nil, err
	}
	m.spec = &cluster.Spec{Name: m.node.Name, Nodes: []cluster.Node{m.node}}
	return m, m.spec.Check()
}

// memoryMiB is the memory of this machine.
func memoryMiB() (int64, error) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/meminfo: %w", err)
			}
			return kib >> 10, nil
		}
	}
	return 0, errors.New("/proc/meminfo does not tell the memory")
}

func (m *machine) path(parts ...string) string {
	return filepath.Join(append([]string{m.opts.Dir}, parts...)...)
}

package trace

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseGPUs(t *testing.T) {
	tests := map[string]struct {
		want GPUs
		err  error
	}{
		"gpu:4":                                 {want: GPUs{Count: 4}},
		"gpu":                                   {want: GPUs{Count: 1}},
		"gpu:0":                                 {want: GPUs{}},
		"gpu:v100":                              {want: GPUs{Count: 1, Types: []GPUType{{"v100", 1}}}},
		"gpu:v100:4":                            {want: GPUs{Count: 4, Types: []GPUType{{"v100", 4}}}},
		"gpu:v100:4(S:0-1)":                     {want: GPUs{Count: 4, Types: []GPUType{{"v100", 4}}}},
		"gpu:v100:3(IDX:0,4-5)":                 {want: GPUs{Count: 3, Types: []GPUType{{"v100", 3}}, IDs: []int{0, 4, 5}}},
		"gpu:ampere:0(IDX:N/A)":                 {want: GPUs{}},
		"gpu:tesla:2,gpu:kepler:2":              {want: GPUs{Count: 4, Types: []GPUType{{"tesla", 2}, {"kepler", 2}}}},
		"gpu:a100:1(IDX:2),gpu:a100:1(IDX:5)":   {want: GPUs{Count: 2, Types: []GPUType{{"a100", 2}}, IDs: []int{2, 5}}},
		"tmp:844G":                              {want: GPUs{}},
		"gpu:2,tmp:844G":                        {want: GPUs{Count: 2}},
		"(null)":                                {want: GPUs{}},
		"gres:gpu:4":                            {want: GPUs{Count: 4}},
		"gres/gpu:a100:2":                       {want: GPUs{Count: 2, Types: []GPUType{{"a100", 2}}}},
		"PER_NODE:gpu:8":                        {want: GPUs{Count: 8, PerNode: true}},
		"gres/gpu=8":                            {want: GPUs{Count: 8}},
		"gres/gpu:a100_80=4,gres/gpu=4":         {want: GPUs{Count: 4, Types: []GPUType{{"a100_80", 4}}}},
		"gres/gpu:a100=2,gres/gpu:v100=1":       {want: GPUs{Count: 3, Types: []GPUType{{"a100", 2}, {"v100", 1}}}},
		"billing=256,cpu=256,mem=3000M,node=32": {want: GPUs{}},
		"cpu=1,gres/gpumem=40G,gres/gpuutil=50": {want: GPUs{}},
		"cpu=1,energy=18446744073709551614":     {want: GPUs{}},
		"cpu=10,mem=100G,node=1,billing=10,gres/gpu=1,gres/gpu:a100=1": {want: GPUs{Count: 1, Types: []GPUType{{"a100", 1}}}},

		"":                        {err: ErrNotTold},
		"N/A":                     {err: ErrNotTold},
		"gres/gpu=two":            {err: ErrNotTold},
		"gpu:a:b:c":               {err: ErrNotTold},
		"gpu:v100:-1":             {err: ErrNotTold},
		"gpu:v100:3(IDX:0-99999)": {err: ErrNotTold},
		"gres:gpu:2K":             {want: GPUs{Count: 2048}},
		"gpu:a100:1k,gpu:k80:3":   {want: GPUs{Count: 1027, Types: []GPUType{{"a100", 1024}, {"k80", 3}}}},
		"gres/gpu=1m":             {want: GPUs{Count: 1 << 20}},
		"gpu:k80":                 {want: GPUs{Count: 1, Types: []GPUType{{"k80", 1}}}},
		"gpu:a100:9999999K":       {err: ErrNotTold},
		"gpu:v100:3(IDX:0,4-5":    {err: ErrCut},
		"cpu=10,mem=100G,node":    {err: ErrCut},
		"gpu:v100:":               {err: ErrCut},
		"gpu:":                    {err: ErrCut},
		"cpu=1,gres/gpu=":         {err: ErrCut},
		"gpu)":                    {err: ErrCut},
	}
	for field, tc := range tests {
		t.Run(field, func(t *testing.T) {
			got, err := ParseGPUs(field)
			if !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A column of width 20 cuts what is longer; a value exactly that long may be whole or not.
func TestParseGPUsColumn(t *testing.T) {
	tests := map[string]error{
		"gpu:v100:3(IDX:0,4-5": ErrCut,
		"cpu=10,mem=100G,node": ErrCut,
		"gpu:v100:4(S:0-1):xx": ErrCut,
		"12345678901234567890": ErrCut,
		"gpu:v100:4(S:0-1)":    nil,
		"N/A":                  ErrNotTold,
	}
	for field, want := range tests {
		if _, err := ParseGPUsColumn(field, 20); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", field, err, want)
		}
	}
}

// --gpus=8 over two nodes are 8 GPUs, --gpus-per-node=8 are 16.
func TestGPUsTotal(t *testing.T) {
	if got := (GPUs{Count: 8}).Total(2); got != 8 {
		t.Errorf("8 for the job on 2 nodes: %d", got)
	}
	if got := (GPUs{Count: 8, PerNode: true}).Total(2); got != 16 {
		t.Errorf("8 a node on 2 nodes: %d", got)
	}
}

// A cluster without the AllocGRES column is read by AllocTRES; where neither
// tells, the count is unknown and the job dropped, never taken for a CPU job.
func TestSlurmGPUColumns(t *testing.T) {
	const head = "JobID|Submit|Start|End|Elapsed|State|NNodes|NCPUS|"
	const row = "1|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T00:01:00|00:01:00|COMPLETED|2|16|"
	tests := map[string]struct {
		columns, values string
		gpus, tasks     int32
		types, dropped  string
	}{
		"AllocTRES":          {columns: "AllocTRES", values: "cpu=16,gres/gpu=8,node=2", gpus: 8},
		"allocated decides":  {columns: "AllocTRES|ReqTRES", values: "cpu=16,gres/gpu=8,node=2|cpu=16,node=2", gpus: 4, tasks: 2},
		"asked for":          {columns: "AllocTRES|ReqTRES", values: "|gres/gpu:a100=8,gres/gpu=8,node=1", gpus: 8, types: "a100"},
		"AllocGRES":          {columns: "AllocGRES", values: "gpu:v100:4", gpus: 4},
		"old ReqGRES":        {columns: "AllocTRES|ReqGRES", values: "|PER_NODE:gpu:8", gpus: 16},
		"no GPU":             {columns: "AllocTRES", values: "cpu=16,node=2", gpus: 0},
		"null":               {columns: "AllocGRES", values: "(null)", gpus: 0},
		"not told":           {columns: "AllocTRES|ReqTRES", values: "|", dropped: "GPU count not told"},
		"cut":                {columns: "AllocTRES", values: "cpu=16,gres/gpu=8,no", dropped: "GPU count may be cut"},
		"not a whole gang":   {columns: "AllocTRES|ReqTRES", values: "gres/gpu=3,node=2|gres/gpu=3,node=2", gpus: 3},
		"type of allocation": {columns: "AllocTRES|ReqTRES", values: "gres/gpu=1,gres/gpu:a100=1|gres/gpu=1", gpus: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			// The second job keeps the workload from being empty.
			second := "2" + row[1:] + "gres/gpu=1" + strings.Repeat("|", strings.Count(tc.columns, "|"))
			data := head + tc.columns + "\n" + row + tc.values + "\n" + second + "\n"
			w, err := ReadBytes("sacct.txt", []byte(data), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if tc.dropped != "" {
				if dropped(w, tc.dropped) != 1 {
					t.Fatalf("dropped %v, want one for %q", w.Dropped, tc.dropped)
				}
				return
			}
			n := w.Jobs[0].Need
			if n.GPUs != tc.gpus || n.Tasks != tc.tasks || n.GPUTypes != tc.types {
				t.Errorf("need %+v, want gpus %d tasks %d types %q", n, tc.gpus, tc.tasks, tc.types)
			}
		})
	}
}

func TestSlurmSpan(t *testing.T) {
	tests := map[string]int64{
		"1-00:00:00": 86_400_000, "10-13:27:06": 912_426_000, "00:01:30": 90_000, "22:53.824": 1_373_824, "125-00:00:00": 125 * 86_400_000,
		"": -1, "UNLIMITED": -1, "Partition_Limit": -1, "INVALID": -1, "1-": -1, "-1:00": -1, "1:2:3:4": -1, "1.5:00": -1, "99999999-00:00:00": -1,
	}
	for s, want := range tests {
		got, ok := slurmSpan(s)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d %v, want %d", s, got, ok, want)
		}
	}
}

func TestSlurmMiB(t *testing.T) {
	tests := map[string]int64{"62.50G": 64000, "3000M": 3000, "1T": 1 << 20, "512K": 1, "100": 100, "": 0, "x": 0, "-1G": 0, "1e300P": 0}
	for s, want := range tests {
		if got := slurmMiB(s); got != want {
			t.Errorf("%q: %d MiB, want %d", s, got, want)
		}
	}
}

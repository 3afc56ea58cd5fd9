package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/escala-sched/escala/sim"
)

// FuzzReader gives the reader whatever bytes somebody may point it at. What it
// takes must be JSON and must come through the writer unchanged in meaning.
func FuzzReader(f *testing.F) {
	data, _ := record(f, sim.Options{Workload: someJobs(1, 30, true), Cluster: lab(true), Policy: shipped(f, "priority")})
	header := data[:bytes.IndexByte(data, '\n')+1]
	f.Add(header, data[len(header):])
	f.Add([]byte(head(f)), []byte(`{"t":11,"fact":"timer","x":[{"y":"\u00e9"},1e5,-0]}`+"\n"))
	f.Add([]byte(head(f)), []byte(`{"t":11,"fact":"submitted","job":1,"spec":{"id":"s","submit_ms":11,"tasks":3,"gpus":1,"service":{"demand":{"step_ms":5,"gpus":[1,3],"repeat":true},"min":{"start_ms":-1,"step_ms":1,"gpus":[0]},"swap_gpus":1,"swap_every_ms":7,"penalty":2}}}
{"t":11,"fact":"demand","job":1,"gpus":2}
{"t":12,"do":"resize","job":1,"try":1,"tasks":1,"gpus":1,"place":[[0,"2"]],"why":"follows-demand","have":1,"want":2}
{"t":17,"fact":"demand","job":1,"gpus":0}
{"t":19,"fact":"finished","job":1,"try":1,"kept":8}
`))
	f.Add([]byte(head(f)), []byte(`{"t":11,"fact":"budgets","epoch_ms":5,"name":"lab","yaml":"children: [{name: a, share: 1}]"}
{"t":11,"fact":"session-idle","job":0,"try":1,"since":-4}
{"t":11,"fact":"session-active","job":0}
{"t":11,"do":"start","job":0,"try":2,"until":12,"unalloc":true,"why":"protection-ends","why_job":0}
`))
	f.Add([]byte(head(f)), []byte(`{"t":11,"fact":"plan","until":99,"inputs":"e3b0","solver":"search","objective":-5,"bound":9223372036854775807,"starts":[[0,11,[[0,"3"],[1,"1",500]]],[0,12]]}
{"t":11,"do":"start","job":0,"try":1,"gpus":2,"place":[[0,"3"]],"why":"proposed"}
{"t":12,"fact":"plan","until":12,"starts":[ ]}
{"t":12,"do":"start","job":0,"why":"off-plan","why_until":11}
`))
	f.Add([]byte(head(f)), []byte(`{"t":11,"fact":"observed","job":0,"since":3,"text":"n7"}
{"t":12,"fact":"observed","job":0,"since":3,"until":12,"outcome":"failed","exit":9,"by":"slurm"}
{"t":13,"fact":"observed","job":0,"until":3,"outcome":"cancelled"}
`))
	f.Add([]byte(head(f)), []byte(`{"t":11,"fact":"window-set","id":"w","nodes":[0,1],"from":3,"until":12,"teams":["a","b"],"users":[ "u" ],"by":"root","text":"ours"}
{"t":11,"fact":"window-set","id":"m","nodes":[ 1 ],"from":30,"until":31}
{"t":11,"do":"stop","job":0,"try":1,"gpus":1,"until":12,"why":"window","block":1,"why_until":31}
{"t":12,"fact":"window-lifted","id":"m","by":"root"}
`))
	cut := cutUp(f, sim.Options{Workload: someJobs(1, 12, true), Cluster: lab(false), Policy: shipped(f, "contract")}, 9)
	f.Add(header, cut)
	f.Add([]byte{}, cut[segments(cut)[1]:])
	for _, line := range bytes.SplitAfter(data[len(header):], []byte("\n"))[:25] {
		f.Add(header, line)
	}
	f.Fuzz(func(t *testing.T, header, body []byte) {
		data := append(bytes.Clone(header), body...)
		r, err := NewReader("fuzz", bytes.NewReader(data))
		if err != nil {
			mustHavePlace(t, err)
			return
		}
		for {
			e, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				mustHavePlace(t, err)
				break
			}
			if !json.Valid(e.Raw) {
				t.Fatalf("taken, but no JSON: %q", e.Raw)
			}
			if e.Header != nil {
				continue
			}
			again := AppendTimer(nil, e.At)
			if e.State != nil {
				again = AppendSnapshot(nil, e.At, e.State)
			} else if e.Fact != nil {
				again = AppendFact(nil, e.Fact)
			} else if e.Action != nil {
				again = AppendAction(nil, e.Action)
			}
			var l line
			if msg, _ := l.parse(again); msg != "" {
				t.Fatalf("%q is written as %q: %s", e.Raw, again, msg)
			}
		}
		if r, err = NewReader("fuzz", bytes.NewReader(data)); err == nil {
			if _, _, err := ToWorkload(r); err != nil {
				mustHavePlace(t, err)
			}
		}
	})
}

func mustHavePlace(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Line < 1 {
		t.Fatalf("error without a place: %v", err)
	}
}

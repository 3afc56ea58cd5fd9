package results

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/metrics"
)

func TestServicesCSV(t *testing.T) {
	s := &metrics.ServiceSeries{From: -500, Width: 2000, Services: []metrics.ServiceLine{
		{Name: "chat", Bins: []metrics.ServiceBin{{Span: 2000, Demand: 3000, Held: 2000, Served: 2000}, {}, {Span: 300, Demand: 100, Held: 300, Served: 100}}},
		{Name: `a "b"`, Bins: []metrics.ServiceBin{{}, {Span: 1}}}, {Name: "none"}}}
	const want = `service,time,span,demand_gpus,held_gpus,served_gpus
chat,-0.5,2,1.5,1,1
chat,3.5,0.3,0.333333,1,0.333333
"a ""b""",1.5,0.001,0,0,0
`
	var b bytes.Buffer
	if err := WriteServicesCSV(&b, s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if err := WriteServicesCSV(&b, nil); err != nil || b.String() != servicesHeader {
		t.Errorf("of nothing: %q, %v", b.String(), err)
	}
}

package observe

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// metric is the definition of one: all of them stand in catalogue.go.
type metric struct {
	name, help string
	kind       prometheus.ValueType
	labels     []string
	desc       *prometheus.Desc
	// buckets of a histogram, nil for other kinds.
	buckets []float64
}

// catalogue is all that are defined, in order.
var catalogue []*metric

func define(kind prometheus.ValueType, buckets []float64, name, help string, labels ...string) *metric {
	m := &metric{name: name, help: help, kind: kind, labels: labels, buckets: buckets, desc: prometheus.NewDesc(name, help, labels, nil)}
	catalogue = append(catalogue, m)
	return m
}

func counter(name, help string, labels ...string) *metric {
	return define(prometheus.CounterValue, nil, name, help, labels...)
}

func gauge(name, help string, labels ...string) *metric {
	return define(prometheus.GaugeValue, nil, name, help, labels...)
}

func histogram(buckets []float64, name, help string, labels ...string) *metric {
	return define(prometheus.UntypedValue, buckets, name, help, labels...)
}

// vec makes the histogram that is defined.
func (m *metric) vec() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.name, Help: m.help, Buckets: m.buckets}, m.labels)
}

// of is a value of it at a scrape.
func (m *metric) of(v float64, labels ...string) prometheus.Metric {
	for i := range labels {
		labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
	}
	return prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...)
}

// Lengths of time in seconds.
var (
	waitBuckets = []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800}
	workBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}
)

// Package demo holds the trace that `escala compare` replays when no workload is
// named: two virtual clusters of Helios's Venus in September 2020, with the
// cluster they ran on. README.md says where the data comes from and on what terms.
package demo

import (
	_ "embed"
	"fmt"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// Attribution is how the authors of the data ask to be named, with what was changed.
const Attribution = "Hu et al., Characterization and Prediction of Deep Learning Workloads in Large-Scale GPU Datacenters, SC'21, " +
	"doi:10.1145/3458817.3476223; data github.com/S-Lab-System-Group/HeliosData, CC-BY-4.0, cut to two virtual clusters by github.com/felivalencia3/mini-compute-simulator"

// Sources of the numbers in the cluster file that are no part of the data.
const (
	PriceSource = "list price of one V100 hour, AWS p3.2xlarge, us-east-1, on demand, 2020"
	WattsSource = "active: the board's maximum by its data sheet, an upper bound; idle: 15 % of it, assumed"
	PUESource   = "average of the Uptime Institute's Global Data Center Survey 2020"
)

// Preempted work in the demo is not free: a checkpoint each so much work, and so
// much time to get going again.
const (
	Checkpoint  = 30 * workload.Minute
	RestartCost = 2 * workload.Minute
)

const workloadFile = "helios_venus_2vc_sept.csv"

var (
	//go:embed helios_venus_2vc_sept.csv
	workloadData []byte
	//go:embed venus.yaml
	clusterData []byte
)

// Policies are compared when none is named. Differences are to the first.
func Policies() []string {
	return []string{"fifo", "fifo-skip", "easy", "sjf@perfect", "sjf@helios", "srsf"}
}

// Workload returns the embedded jobs.
func Workload() (*workload.Workload, error) {
	w, err := trace.ReadBytes(workloadFile, workloadData, trace.Options{})
	if err != nil {
		return nil, fmt.Errorf("embedded workload: %w", err)
	}
	w.Name = "Helios Venus, 2 virtual clusters, September 2020"
	return w, nil
}

// Cluster returns the cluster they ran on.
func Cluster() (*cluster.Spec, error) {
	s, err := cluster.ParseYAML("venus.yaml", clusterData)
	if err != nil {
		return nil, fmt.Errorf("embedded cluster: %w", err)
	}
	return s, nil
}

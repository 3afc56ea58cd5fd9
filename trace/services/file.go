package services

import "github.com/escala-sched/escala/internal/yamlx"

// file is the shape of a services file. Pointers tell absent from given.
type file struct {
	Name     string        `yaml:"name"`
	Services []application `yaml:"services"`
}

// application is one real-time application. Its demand is given in one of three forms;
// weekly and requests are short for a demand that holds nothing else.
type application struct {
	Name      string          `yaml:"name"`
	Team      string          `yaml:"team"`
	User      string          `yaml:"user"`
	Partition string          `yaml:"partition"`
	GPU       oneOrMore       `yaml:"gpu"`
	Priority  int64           `yaml:"priority"`
	Start     *yamlx.Moment   `yaml:"start"`
	For       *yamlx.Duration `yaml:"for"`
	Until     *yamlx.Moment   `yaml:"until"`
	Demand    *curve          `yaml:"demand"`
	Weekly    []int32         `yaml:"weekly"`
	Requests  *requests       `yaml:"requests"`
	Actual    *curve          `yaml:"actual"`
	Min       *bound          `yaml:"min"`
	Max       *bound          `yaml:"max"`
	Swaps     *swaps          `yaml:"swaps"`
	Penalty   int64           `yaml:"penalty"`
}

// curve is GPUs over time in one of three forms.
type curve struct {
	Step     *yamlx.Duration `yaml:"step"`
	GPUs     []int32         `yaml:"gpus"`
	Repeat   bool            `yaml:"repeat"`
	Weekly   []int32         `yaml:"weekly"`
	Requests *requests       `yaml:"requests"`
}

// requests is a log of requests per second, and what they take.
type requests struct {
	File      string          `yaml:"file"`
	Time      string          `yaml:"time"`
	Column    string          `yaml:"column"`
	GPUsPer   float64         `yaml:"gpusPer"`
	Step      *yamlx.Duration `yaml:"step"`
	Aggregate aggregateWord   `yaml:"aggregate"`
	Gaps      gapsWord        `yaml:"gaps"`
	Repeat    bool            `yaml:"repeat"`
}

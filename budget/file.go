package budget

import "github.com/escala-sched/escala/internal/yamlx"

// file is the shape of a budgets file. Pointers tell absent from given.
type file struct {
	Name        string        `yaml:"name"`
	Levels      []string      `yaml:"levels"`
	Pools       []string      `yaml:"pools"`
	ReportLevel *levelRef     `yaml:"reportLevel"`
	Managers    []string      `yaml:"managers"`
	Budget      *fileBudget   `yaml:"budget"`
	Children    []fileNode    `yaml:"children"`
	Accounts    []fileAccount `yaml:"accounts"`
	Credits     []fileCredit  `yaml:"credits"`
}

// fileNode is an account in the tree form, fileAccount the same in the flat form.
type fileNode struct {
	Name     string      `yaml:"name"`
	User     string      `yaml:"user"`
	Share    *fileShare  `yaml:"share"`
	Managers []string    `yaml:"managers"`
	Users    []string    `yaml:"users"`
	Budget   *fileBudget `yaml:"budget"`
	Children []fileNode  `yaml:"children"`
}

type fileAccount struct {
	Name     string      `yaml:"name"`
	User     string      `yaml:"user"`
	Parent   string      `yaml:"parent"`
	Share    *fileShare  `yaml:"share"`
	Managers []string    `yaml:"managers"`
	Users    []string    `yaml:"users"`
	Budget   *fileBudget `yaml:"budget"`
}

// fileShare is one share for all pools, or one for each.
type fileShare struct {
	all  decimal
	each map[string]decimal
}

type fileBudget struct {
	GPUHours     *decimal        `yaml:"gpuHours"`
	Per          *periodWord     `yaml:"per"`
	CarryOver    carryOver       `yaml:"carryOver"`
	OnExhaustion *exhaustionWord `yaml:"onExhaustion"`
}

type fileCredit struct {
	At       *yamlx.Moment `yaml:"at"`
	Account  string        `yaml:"account"`
	GPUHours *decimal      `yaml:"gpuHours"`
	By       string        `yaml:"by"`
	Reason   string        `yaml:"reason"`
}

package policy

import "github.com/escala-sched/escala/internal/yamlx"

// file is the shape of a policy file. Pointers tell absent from given.
type file struct {
	Name            *string         `yaml:"name"`
	Description     string          `yaml:"description"`
	Source          string          `yaml:"source"`
	Order           []fileTerm      `yaml:"order"`
	Blocking        blockingWord    `yaml:"blocking"`
	Decide          decideWord      `yaml:"decide"`
	Reservations    *int32          `yaml:"reservations"`
	Placement       filePlacement   `yaml:"placement"`
	Preemption      filePreemption  `yaml:"preemption"`
	Limit           *fileLimit      `yaml:"limit"`
	Sharing         *fileSharing    `yaml:"sharing"`
	Horizon         *fileHorizon    `yaml:"horizon"`
	Interval        *yamlx.Duration `yaml:"interval"`
	Estimates       fileEstimates   `yaml:"estimates"`
	DefaultEstimate *yamlx.Duration `yaml:"defaultEstimate"`
}

// fileTerm is a word, or a map with "by" and what belongs to it.
type fileTerm struct {
	By          *termWord       `yaml:"by"`
	Descending  bool            `yaml:"descending"`
	Thresholds  []yamlx.Milli   `yaml:"thresholds"`
	Promote     yamlx.Milli     `yaml:"promote"`
	Expr        string          `yaml:"expr"`
	Weights     fileWeights     `yaml:"weights"`
	MaxAge      *yamlx.Duration `yaml:"maxAge"`
	MaxPriority int64           `yaml:"maxPriority"`
	FavorSmall  bool            `yaml:"favorSmall"`
	HalfLife    *yamlx.Duration `yaml:"halfLife"`
	UsageBy     usageWord       `yaml:"usageBy"`
}

// termKeys says to which kind of term a key belongs; "by" and "descending" go with all.
var termKeys = map[string]TermKind{
	"thresholds": ByAttained, "promote": ByAttained,
	"expr":    ByExpr,
	"weights": ByMultifactor, "maxAge": ByMultifactor, "maxPriority": ByMultifactor,
	"favorSmall": ByMultifactor, "halfLife": ByMultifactor, "usageBy": ByMultifactor,
}

type fileWeights struct {
	Age       float64 `yaml:"age"`
	JobSize   float64 `yaml:"jobSize"`
	Priority  float64 `yaml:"priority"`
	FairShare float64 `yaml:"fairShare"`
}

type filePlacement struct {
	By    *placerWord `yaml:"by"`
	Level string      `yaml:"level"`
	Seed  *uint64     `yaml:"seed"`
}

type filePreemption struct {
	By        *preemptWord `yaml:"by"`
	CrossTeam *bool        `yaml:"crossTeam"`
	Spare     *fileLabel   `yaml:"spare"`
}

type fileLabel struct {
	Label string `yaml:"label"`
	Value string `yaml:"value"`
}

type fileLimit struct {
	TeamUnpreemptible *yamlx.Percent `yaml:"teamUnpreemptible"`
}

type fileEstimates struct {
	Model *estimateWord `yaml:"model"`
	Seed  *uint64       `yaml:"seed"`
}

func (t *fileTerm) UnmarshalNode(n *yamlx.Node) error {
	type plain fileTerm
	return wordOrMap(n, "by", &t.By, (*plain)(t))
}

func (p *filePlacement) UnmarshalNode(n *yamlx.Node) error {
	type plain filePlacement
	return wordOrMap(n, "by", &p.By, (*plain)(p))
}

func (p *filePreemption) UnmarshalNode(n *yamlx.Node) error {
	type plain filePreemption
	return wordOrMap(n, "by", &p.By, (*plain)(p))
}

func (e *fileEstimates) UnmarshalNode(n *yamlx.Node) error {
	type plain fileEstimates
	return wordOrMap(n, "model", &e.Model, (*plain)(e))
}

// wordOrMap reads a choice that is one word, or a map whose key names the
// choice and whose other keys refine it. whole has no UnmarshalNode, so that it
// is read key by key.
func wordOrMap[W any](n *yamlx.Node, key string, word **W, whole any) error {
	if n.Kind != yamlx.Map {
		*word = new(W)
		return n.Decode(*word)
	}
	if err := n.Decode(whole); err != nil {
		return err
	}
	if *word == nil {
		return n.Errorf("give one", "this map has no %q", key)
	}
	return nil
}

// The words of a file: each reads itself from a list of names.
type (
	blockingWord Blocking
	decideWord   int
	termWord     TermKind
	placerWord   Placer
	preemptWord  PreemptBy
	estimateWord EstimateModel
	usageWord    int
)

var usageNames = [...]string{"team", "user"}

func (w *blockingWord) UnmarshalNode(n *yamlx.Node) error { return word(w, n, blockingNames[:]) }
func (w *decideWord) UnmarshalNode(n *yamlx.Node) error   { return word(w, n, decideNames[:]) }
func (w *termWord) UnmarshalNode(n *yamlx.Node) error     { return word(w, n, termNames[:]) }
func (w *placerWord) UnmarshalNode(n *yamlx.Node) error   { return word(w, n, placerNames[:]) }
func (w *preemptWord) UnmarshalNode(n *yamlx.Node) error  { return word(w, n, preemptNames[:]) }
func (w *estimateWord) UnmarshalNode(n *yamlx.Node) error { return word(w, n, estimateNames[:]) }
func (w *usageWord) UnmarshalNode(n *yamlx.Node) error    { return word(w, n, usageNames[:]) }

func word[W ~uint8 | ~int](w *W, n *yamlx.Node, names []string) error {
	i, err := n.OneOf(names)
	*w = W(i)
	return err
}

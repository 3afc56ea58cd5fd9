package daemon

import (
	"os"
	"time"

	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/server"
	"github.com/escala-sched/escala/internal/yamlx"
)

// File is a configuration file of escala serve, as it is written. What it does not say has its
// default; options of the command line go before it. docs/serve.md has every key.
type File struct {
	State       string     `yaml:"state"`
	Journal     string     `yaml:"journal"`
	Listen      []string   `yaml:"listen"`
	TLS         fileTLS    `yaml:"tls"`
	SocketGroup string     `yaml:"socketGroup"`
	Hosts       []string   `yaml:"hosts"`
	GPUs        *int       `yaml:"gpus"`
	AllowRoot   *bool      `yaml:"allowRoot"`
	Policy      string     `yaml:"policy"`
	Budgets     string     `yaml:"budgets"`
	Shadow      *bool      `yaml:"shadow"`
	Enforce     *bool      `yaml:"enforce"`
	Cluster     string     `yaml:"cluster"`
	World       string     `yaml:"world"`
	Slurm       fileSlurm  `yaml:"slurm"`
	Assume      fileAssume `yaml:"assume"`
	Limits      struct {
		UserJobs *int `yaml:"userJobs"`
		Jobs     *int `yaml:"jobs"`
		UserGPUs *int `yaml:"userGPUs"`
		// What one user may ask for in a second, and follow at once.
		RequestsPerSecond *float64 `yaml:"requestsPerSecond"`
		JobsPerSecond     *float64 `yaml:"jobsPerSecond"`
		Streams           *int     `yaml:"streams"`
	} `yaml:"limits"`
	Retention struct {
		Journal *yamlx.Duration `yaml:"journal"`
		History *yamlx.Duration `yaml:"history"`
		Logs    *yamlx.Duration `yaml:"logs"`
		// Checkpoints of jobs that have ended.
		Checkpoints *yamlx.Duration `yaml:"checkpoints"`
	} `yaml:"retention"`
	Log struct {
		Format string `yaml:"format"`
		Level  string `yaml:"level"`
	} `yaml:"log"`
	Users   fileUsers `yaml:"users"`
	Observe struct {
		MetricsListen string `yaml:"metricsListen"`
		Webhooks      string `yaml:"webhooks"`
		OTLP          string `yaml:"otlp"`
	} `yaml:"observe"`
}

type fileSlurm struct {
	Partitions     []string        `yaml:"partitions"`
	Lease          *yamlx.Duration `yaml:"lease"`
	LeaseArgs      []string        `yaml:"leaseArgs"`
	Conf           string          `yaml:"conf"`
	CallsPerSecond *int            `yaml:"callsPerSecond"`
	Contracts      string          `yaml:"contracts"`
	Read           string          `yaml:"read"`
	TokenFile      string          `yaml:"tokenFile"`
}

type fileTLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

type fileAssume struct {
	Checkpoint  string          `yaml:"checkpoint"`
	RestartCost *yamlx.Duration `yaml:"restartCost"`
	Grace       *yamlx.Duration `yaml:"grace"`
}

type fileUsers struct {
	SubmitTo string       `yaml:"submitTo"`
	Default  string       `yaml:"default"`
	Roles    []fileRole   `yaml:"roles"`
	Issuers  []fileIssuer `yaml:"issuers"`
}

type fileRole struct {
	Role   string   `yaml:"role"`
	Path   string   `yaml:"path"`
	Users  []string `yaml:"users"`
	Groups []string `yaml:"groups"`
}

type fileIssuer struct {
	Issuer       string   `yaml:"issuer"`
	Audiences    []string `yaml:"audiences"`
	UserClaim    string   `yaml:"userClaim"`
	UserPrefix   string   `yaml:"userPrefix"`
	GroupsClaim  string   `yaml:"groupsClaim"`
	GroupsPrefix *string  `yaml:"groupsPrefix"`
	ClientID     string   `yaml:"clientID"`
	// ClientSecretFile holds the secret: it does not stand in the file.
	ClientSecretFile string   `yaml:"clientSecretFile"`
	RedirectURL      string   `yaml:"redirectURL"`
	Scopes           []string `yaml:"scopes"`
}

// Defaults of the configuration.
const (
	// KeepJournal is how long the journal's lines are kept, KeepHistory how long ended jobs can be
	// looked up.
	KeepJournal = 90 * 24 * time.Hour
	KeepHistory = 365 * 24 * time.Hour
)

// ParseFile reads a configuration file.
func ParseFile(name string, data []byte) (*File, error) {
	var f File
	root, err := yamlx.Decode(name, data, &f)
	if err != nil {
		return nil, err
	}
	if _, err := f.roles(root); err != nil {
		return nil, err
	}
	if to := f.Users.SubmitTo; to != "" && to != string(auth.SubmitListed) && to != string(auth.SubmitOpen) {
		return nil, root.At("users", "submitTo").Errorf("open or listed", "%q", to)
	}
	return &f, nil
}

func (f *File) roles(root *yamlx.Node) (auth.Roles, error) {
	var out auth.Roles
	role := func(word string, at ...any) (auth.Role, error) {
		var r auth.Role
		if err := r.UnmarshalText([]byte(word)); err != nil {
			if root == nil {
				return r, err
			}
			return r, root.At(at...).Errorf("nobody, viewer, user, manager, operator or admin", "%q is no role", word)
		}
		return r, nil
	}
	if f.Users.Default != "" {
		r, err := role(f.Users.Default, "users", "default")
		if err != nil {
			return out, err
		}
		out.Default = &r
	}
	for i := range f.Users.Roles {
		x := &f.Users.Roles[i]
		r, err := role(x.Role, "users", "roles", i, "role")
		if err != nil {
			return out, err
		}
		out.Rules = append(out.Rules, auth.RoleRule{Role: r, Path: x.Path, Users: x.Users, Groups: x.Groups})
	}
	return out, nil
}

// Apply fills in what only files say: who is who, and how long things are kept.
func (f *File) Apply(o *Options) error {
	var err error
	if o.Roles, err = f.roles(nil); err != nil {
		return err
	}
	o.Hosts = f.Hosts
	o.SubmitTo = auth.SubmitTo(f.Users.SubmitTo)
	if k := f.Retention.Journal; k != nil {
		o.Keep.Journal = time.Duration(*k) * time.Millisecond
	}
	if k := f.Retention.History; k != nil {
		o.Keep.History = time.Duration(*k) * time.Millisecond
	}
	rates := server.DefaultRates()
	if v := f.Limits.RequestsPerSecond; v != nil {
		rates.Requests = *v
	}
	if v := f.Limits.JobsPerSecond; v != nil {
		rates.Jobs = *v
	}
	if v := f.Limits.Streams; v != nil {
		rates.Streams = *v
	}
	o.Rates = &rates
	runs := DefaultRuns()
	if k := f.Retention.Logs; k != nil {
		if runs.LogAge = time.Duration(*k) * time.Millisecond; *k == 0 {
			runs.Logs = 0
		}
	}
	if k := f.Retention.Checkpoints; k != nil {
		runs.CheckpointAge = time.Duration(*k) * time.Millisecond
	}
	o.KeepRuns = &runs
	for _, x := range f.Users.Issuers {
		i := auth.Issuer{URL: x.Issuer, Audiences: x.Audiences, UserClaim: x.UserClaim, UserPrefix: x.UserPrefix, GroupsClaim: x.GroupsClaim, GroupsPrefix: x.GroupsPrefix,
			ClientID: x.ClientID, RedirectURL: x.RedirectURL, Scopes: x.Scopes}
		if x.ClientSecretFile != "" {
			secret, err := os.ReadFile(x.ClientSecretFile)
			if err != nil {
				return err
			}
			i.ClientSecret = auth.NewSecret(trimLine(secret))
		}
		o.Issuers = append(o.Issuers, i)
	}
	return nil
}

func trimLine(b []byte) string {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return string(b)
}

// DefaultKeep is how long things are kept where nothing is said.
func DefaultKeep() live.Retention { return live.Retention{Journal: KeepJournal, History: KeepHistory} }

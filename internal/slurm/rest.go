package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// REST reads a cluster through slurmrestd on a unix socket. It only reads: what changes something goes through the tools,
// which can do more and tell failures by their exit code.
type REST struct {
	// Socket is its path.
	Socket string
	// User that asks, and a function that returns a token of theirs (see [Client.Token]), which is called again
	// once a token was refused.
	User  string
	Token func(ctx context.Context) (string, error)
	// Version of the API, such as "v0.0.40"; "" = the newest that the daemon has.
	Version string
	// Timeout of one call; 0 = 60 s: all jobs of a large cluster take a while.
	Timeout time.Duration

	mu    sync.Mutex
	token string
}

// Token has slurmctld make a token for the caller that is good for a time.
func (c *Client) Token(ctx context.Context, life time.Duration) (string, error) {
	out, err := c.Run(ctx, "scontrol", "token", fmt.Sprintf("lifespan=%d", int(life.Seconds())))
	if err != nil {
		return "", err
	}
	token, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "SLURM_JWT=")
	if !ok || token == "" {
		return "", errors.New("scontrol answered without a token")
	}
	return token, nil
}

// Jobs reads all jobs, as [DecodeJobs] does.
func (r *REST) Jobs(ctx context.Context) ([]Job, []error, error) {
	data, err := r.get(ctx, "jobs")
	if err != nil {
		return nil, nil, err
	}
	return DecodeJobs(data)
}

// Nodes reads all nodes.
func (r *REST) Nodes(ctx context.Context) ([]Node, error) {
	data, err := r.get(ctx, "nodes")
	if err != nil {
		return nil, err
	}
	return DecodeNodes(data)
}

// Partitions reads all partitions.
func (r *REST) Partitions(ctx context.Context) ([]Partition, error) {
	data, err := r.get(ctx, "partitions")
	if err != nil {
		return nil, err
	}
	return DecodePartitions(data)
}

// Reservations reads all reservations.
func (r *REST) Reservations(ctx context.Context, now time.Time) ([]Reservation, error) {
	data, err := r.get(ctx, "reservations")
	if err != nil {
		return nil, err
	}
	return DecodeReservations(data, now)
}

// Forget has the next call ask for another token.
func (r *REST) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.token = ""
}

func (r *REST) get(ctx context.Context, what string) ([]byte, error) {
	timeout := r.Timeout
	if timeout == 0 {
		timeout = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	for again := false; ; again = true {
		if r.token == "" {
			token, err := r.Token(ctx)
			if err != nil {
				return nil, fmt.Errorf("a token for slurmrestd: %w", err)
			}
			r.token = token
		}
		if err := r.version(ctx); err != nil {
			return nil, err
		}
		data, code, err := r.fetch(ctx, "/slurm/"+r.Version+"/"+what)
		switch {
		case err != nil:
			return nil, err
		case code == http.StatusOK:
			return data, nil
		case !again && (code == http.StatusUnauthorized || code == http.StatusInternalServerError):
			r.token = "" // 22.05 answers a token that is over with 500
		case code == http.StatusUnauthorized || code == http.StatusForbidden:
			return nil, fmt.Errorf("slurmrestd: %w", ErrDenied)
		default:
			if err := objectsError(data); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("slurmrestd answered %d: %.200q", code, data)
		}
	}
}

func objectsError(data []byte) error {
	var top struct {
		Errors json.RawMessage `json:"errors"`
	}
	if err := json.Unmarshal(data, &top); err != nil {
		return nil //nolint:nilerr // it is no answer of that kind
	}
	return complaint(top.Errors)
}

// version finds the newest version that the daemon's own description has.
func (r *REST) version(ctx context.Context) error {
	if r.Version != "" {
		return nil
	}
	data, code, err := r.fetch(ctx, "/openapi/v3")
	if err != nil {
		return err
	}
	var api struct {
		Paths map[string]json.RawMessage `json:"paths"`
	}
	if code != http.StatusOK || json.Unmarshal(data, &api) != nil {
		return fmt.Errorf("slurmrestd does not describe itself (status %d)", code)
	}
	newest := -1
	for path := range api.Paths {
		var n int
		if k, _ := fmt.Sscanf(path, "/slurm/v0.0.%d/jobs", &n); k == 1 && n > newest {
			newest = n
		}
	}
	if newest < 0 {
		return errors.New("slurmrestd describes no jobs")
	}
	r.Version = fmt.Sprint("v0.0.", newest)
	return nil
}

func (r *REST) fetch(ctx context.Context, path string) ([]byte, int, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", r.Socket)
	}
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://slurm"+path, http.NoBody)
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("X-SLURM-USER-NAME", r.User)
	req.Header.Set("X-SLURM-USER-TOKEN", r.token)
	req.Header.Set("Accept", "application/json")
	answer, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil, 0, fmt.Errorf("slurmrestd: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, mostOutput+1))
	if err != nil {
		return nil, 0, fmt.Errorf("slurmrestd: %w", err)
	}
	if len(data) > mostOutput {
		return nil, 0, fmt.Errorf("slurmrestd answers more than %d MiB", mostOutput>>20)
	}
	return data, answer.StatusCode, nil
}

// Package client asks the daemon: it turns calls into requests of /api/v1, and answers that
// are errors into errors a person can read.
package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client asks one daemon.
type Client struct {
	http  *http.Client
	base  string
	token string
	// where is what the daemon is called in messages.
	where string
}

// New returns a client of a daemon at "unix:/path/to/socket", "http://host:port" or
// "https://host:port". On the socket no token is needed.
func New(server, token string) (*Client, error) {
	if path, ok := strings.CutPrefix(server, "unix:"); ok {
		var d net.Dialer
		t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", path) }}
		return &Client{http: &http.Client{Transport: t}, base: "http://localhost", where: path}, nil
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no address of a scheduler; want unix:/path, http://host:port or https://host:port", server)
	}
	return &Client{http: &http.Client{}, base: strings.TrimSuffix(server, "/"), token: token, where: u.Host}, nil
}

// Problem is an answer that is an error (RFC 9457).
type Problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Errors []struct {
		Message  string `json:"message"`
		Location string `json:"location"`
		Value    any    `json:"value,omitempty"`
	} `json:"errors"`
}

func (p *Problem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	for _, e := range p.Errors {
		if strings.Contains(text, e.Message) {
			continue
		}
		if where := strings.TrimPrefix(e.Location, "body."); where != "" && where != "body" {
			text += "; " + where + ": " + e.Message
		} else {
			text += "; " + e.Message
		}
	}
	return text
}

// Bad tells whether the request itself was at fault, rather than the daemon.
func (p *Problem) Bad() bool { return p.Status >= 400 && p.Status < 500 }

// Unreachable says that no daemon answers.
type Unreachable struct {
	Where string
	Err   error
}

func (e *Unreachable) Error() string {
	return fmt.Sprintf("no scheduler answers at %s: %v", e.Where, rootOf(e.Err))
}

func (e *Unreachable) Unwrap() error { return e.Err }

func rootOf(err error) error {
	for {
		in := errors.Unwrap(err)
		if in == nil {
			return err
		}
		err = in
	}
}

// Call makes a request. in (nil = no body) and out (nil = not wanted) are JSON; header may be
// nil, and is replaced by that of the answer.
func (c *Client) Call(ctx context.Context, method, path string, in, out any, header http.Header) (http.Header, error) {
	resp, err := c.do(ctx, method, path, in, header)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.Header, err
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return nil, fmt.Errorf("the answer of %s cannot be read: %w", c.where, err)
	}
	return resp.Header, nil
}

// Get asks for something.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	_, err := c.Call(ctx, http.MethodGet, path, nil, out, nil)
	return err
}

// Stream asks for bytes as they come. The caller closes them.
func (c *Client) Stream(ctx context.Context, method, path string, in any) (io.ReadCloser, http.Header, error) {
	resp, err := c.do(ctx, method, path, in, nil)
	if err != nil {
		return nil, nil, err
	}
	return resp.Body, resp.Header, nil
}

func (c *Client) do(ctx context.Context, method, path string, in any, header http.Header) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/api/v1"+path, body)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &Unreachable{Where: c.where, Err: err}
	}
	if resp.StatusCode >= 300 {
		defer func() { _ = resp.Body.Close() }()
		return nil, problemOf(resp)
	}
	return resp, nil
}

func problemOf(resp *http.Response) error {
	p := &Problem{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode)}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if json.Unmarshal(data, p) != nil && len(data) > 0 {
		p.Detail = strings.TrimSpace(string(data))
	}
	return p
}

// Event is a server-sent event.
type Event struct {
	ID, Type string
	Data     []byte
}

// Events calls fn with each event until it returns false or the stream ends, coming back by
// itself where a connection breaks. ready is called when it listens.
func (c *Client) Events(ctx context.Context, ready func(), fn func(Event) bool) error {
	last := ""
	for wait := 200 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		again, err := c.listen(ctx, &last, ready, fn, func() { wait = 200 * time.Millisecond })
		if !again || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// listen serves one connection; again tells to come back.
func (c *Client) listen(ctx context.Context, last *string, ready func(), fn func(Event) bool, heard func()) (again bool, err error) {
	h := http.Header{"Accept": {"text/event-stream"}}
	if *last != "" {
		h.Set("Last-Event-ID", *last)
	}
	resp, err := c.do(ctx, http.MethodGet, "/events", nil, h)
	if err != nil {
		var gone *Unreachable
		return errors.As(err, &gone) && *last != "", err
	}
	defer func() { _ = resp.Body.Close() }()
	if ready != nil {
		ready()
	}
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 1<<20)
	e := Event{Type: "message"}
	for in.Scan() {
		key, value, _ := strings.Cut(in.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case in.Text() == "":
			if heard(); len(e.Data) > 0 && !fn(e) {
				return false, nil
			}
			e = Event{Type: "message"}
		case key == "id":
			e.ID, *last = value, value
		case key == "event":
			e.Type = value
		case key == "data":
			e.Data = append(e.Data, value...)
		}
	}
	return true, in.Err()
}

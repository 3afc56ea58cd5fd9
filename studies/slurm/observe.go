package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// decisions reads from the daemon's metrics how often it decided, and how long that took in all.
func (d *daemon) decisions(ctx context.Context) (n int64, all time.Duration, err error) {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dial net.Dialer
		return dial.DialContext(ctx, "unix", filepath.Join(d.state, "escala.sock"))
	}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://escala/metrics", nil)
	if err != nil {
		return 0, 0, err
	}
	r, err := c.Do(req)
	if err != nil {
		return 0, 0, err
	}
	text, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil || r.StatusCode != http.StatusOK {
		return 0, 0, fmt.Errorf("/metrics: %s, %w", r.Status, err)
	}
	const sum, count = "escala_decision_seconds_sum ", "escala_decision_seconds_count "
	found := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, sum); ok {
			s, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return 0, 0, err
			}
			all, found = time.Duration(s*float64(time.Second)), found+1
		}
		if v, ok := strings.CutPrefix(line, count); ok {
			s, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return 0, 0, err
			}
			n, found = int64(s), found+1
		}
	}
	if found != 2 {
		return 0, 0, fmt.Errorf("/metrics has no %sand %s", sum, count)
	}
	return n, all, nil
}

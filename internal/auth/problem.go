package auth

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
)

// Problem is the body of an error, as RFC 9457 has it.
type Problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
}

// WriteError answers a request with an error of this package; others are a 500 that says nothing.
func WriteError(w http.ResponseWriter, err error) {
	status, detail := Status(err), "something went wrong here"
	if status != 0 {
		detail = err.Error()
	} else {
		status = http.StatusInternalServerError
	}
	h := w.Header()
	var r *Refusal
	if errors.As(err, &r) {
		if r.Status == http.StatusUnauthorized {
			challenge := `Bearer realm="escala"`
			if r.given {
				challenge += `, error="invalid_token"`
			}
			h.Set("WWW-Authenticate", challenge)
		}
		if r.After > 0 {
			h.Set("Retry-After", strconv.Itoa(int(math.Ceil(r.After.Seconds()))))
		}
	}
	body, _ := json.Marshal(Problem{Title: http.StatusText(status), Status: status, Detail: detail})
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

package auth

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestBearerOfTheDaemon(t *testing.T) {
	tok, err := OpenTokens(t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := tok.Create(NewToken{Name: "ci", User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Config{Now: time.Now, Tokens: tok, Hosts: []string{"escala.lab"}})
	if err != nil {
		t.Fatal(err)
	}
	h := a.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(FromContext(r.Context()).String())) }))
	r := httptest.NewRequest("GET", "http://escala.lab/api/v1/jobs", nil)
	r.Header.Set("Authorization", "Bearer "+s.Reveal())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 200 || w.Body.String() != "ann via token ci" {
		t.Fatal(w.Code, w.Body.String())
	}
}

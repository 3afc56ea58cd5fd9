package daemon

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// Every key of the configuration stands in the document that says it has every key.
func TestDocsHaveEveryKey(t *testing.T) {
	data, err := os.ReadFile("../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keysOf("", reflect.TypeFor[File]()) {
		last := k[strings.LastIndex(k, ".")+1:]
		if !strings.Contains(string(data), "`"+k+"`") && !strings.Contains(string(data), "`"+last+"`") {
			t.Errorf("docs/serve.md does not explain %s", k)
		}
	}
}

func keysOf(path string, t reflect.Type) (out []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return []string{strings.TrimSuffix(path, ".")}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		out = append(out, keysOf(path+f.Tag.Get("yaml")+".", f.Type)...)
	}
	return out
}

func TestConfigurationIsReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"gpus: 4\npolicy: easy\nusers:\n  roles:\n    - {role: manager, path: research, users: [ana]}\nretention: {journal: 30d}\n": "",
		"gpu: 4":                                   "unknown key",
		"users: {roles: [{role: king}]}":           `"king" is no role`,
		"users: {submitTo: anyone}":                `open or listed`,
		"retention: {journal: 30}":                 "no unit",
		"limits: {userJobs: many}":                 "number",
		"users: {issuers: [{clientSecret: oops}]}": "unknown key",
	} {
		_, err := ParseFile("escala.yaml", []byte(text))
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

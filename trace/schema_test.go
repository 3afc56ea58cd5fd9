package trace

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSchemaMatchesTypes: the published schema names exactly the fields that the
// reader knows, and requires what the reader requires.
func TestSchemaMatchesTypes(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "docs", "schema", "workload.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Additional any                        `json:"additionalProperties"`
		Properties map[string]json.RawMessage `json:"properties"`
		Items      json.RawMessage            `json:"items"`
	}
	var schema struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	parse := func(raw json.RawMessage) object {
		t.Helper()
		var o object
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	header, job := parse(schema.Defs["header"]), parse(schema.Defs["job"])
	tests := map[string]struct {
		schema object
		typ    any
	}{
		"header":   {header, escalaHeader{}},
		"dropped":  {parse(parse(header.Properties["dropped"]).Items), escalaDropped{}},
		"job":      {job, escalaJob{}},
		"contract": {parse(job.Properties["contract"]), escalaContract{}},
		"after":    {parse(parse(job.Properties["after"]).Items), escalaAfter{}},
		"speed":    {parse(parse(job.Properties["speed"]).Items), escalaSpeed{}},
		"curve":    {parse(schema.Defs["curve"]), escalaCurve{}},
		"service":  {parse(schema.Defs["service"]), escalaService{}},
		"actual":   {parse(job.Properties["actual"]), escalaActual{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var want []string
			typ := reflect.TypeOf(tc.typ)
			for i := range typ.NumField() {
				field, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
				want = append(want, field)
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(tc.schema.Properties))); diff != "" {
				t.Errorf("fields (-type +schema):\n%s", diff)
			}
			if tc.schema.Additional != false {
				t.Error("the reader refuses unknown fields; the schema must too")
			}
		})
	}
}

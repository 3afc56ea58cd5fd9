// Package yamlxtest checks, in tests, that the JSON Schemas which editors use
// say the same as the code that reads the files. It knows the few keywords
// that those schemas use and refuses any other, so that none is ignored.
package yamlxtest

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"

	"github.com/escala-sched/escala/internal/yamlx"
)

// Schema is a JSON Schema.
type Schema struct {
	defs map[string]rule
	root rule
}

type rule map[string]any

// Load reads a schema from a file.
func Load(path string) (*Schema, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &Schema{defs: map[string]rule{}}
	if err := json.Unmarshal(data, &s.root); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if defs, ok := s.root["$defs"].(map[string]any); ok {
		for name, d := range defs {
			s.defs[name] = d.(map[string]any)
		}
	}
	return s, nil
}

// Keys returns the keys of an object, sorted: of the whole file for "", or of a definition.
func (s *Schema) Keys(def string) []string {
	r := s.root
	if def != "" {
		r = s.defs[def]
	}
	var keys []string
	properties, _ := r["properties"].(map[string]any)
	for k := range properties {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Enum returns the words of a definition.
func (s *Schema) Enum(def string) []string {
	var words []string
	list, _ := s.defs[def]["enum"].([]any)
	for _, w := range list {
		words = append(words, w.(string))
	}
	return words
}

// Check returns the first thing in a file that the schema forbids.
func (s *Schema) Check(n *yamlx.Node) error { return s.check(s.root, n) }

func (s *Schema) check(r rule, n *yamlx.Node) error {
	for keyword, v := range r {
		var err error
		switch keyword {
		case "$schema", "$id", "$defs", "title", "description", "default", "additionalProperties", "examples":
		case "$ref":
			def, ok := s.defs[v.(string)[len("#/$defs/"):]]
			if !ok {
				return fmt.Errorf("the schema has no %s", v)
			}
			err = s.check(def, n)
		case "type":
			err = checkType(v.(string), n)
		case "enum":
			if !slices.Contains(v.([]any), any(n.Text)) {
				err = n.Errorf("", "not one of %v", v)
			}
		case "pattern":
			if !regexp.MustCompile(v.(string)).MatchString(n.Text) {
				err = n.Errorf("", "does not match %s", v)
			}
		case "minimum", "maximum", "exclusiveMinimum":
			err = checkBound(keyword, v.(float64), n)
		case "items":
			for _, item := range n.Items {
				if err = s.check(v.(map[string]any), item); err != nil {
					return err
				}
			}
		case "minItems":
			if float64(len(n.Items)) < v.(float64) {
				err = n.Errorf("", "fewer than %v items", v)
			}
		case "required":
			for _, key := range v.([]any) {
				if n.Get(key.(string)) == nil {
					err = n.Errorf("", "without %s", key)
				}
			}
		case "properties":
			err = s.checkObject(r, n)
		case "oneOf":
			err = s.checkOneOf(v.([]any), n)
		default:
			err = fmt.Errorf("the schema uses %q, which this check does not know", keyword)
		}
		if err != nil {
			return err
		}
	}
	if _, listed := r["properties"]; !listed && r["type"] == "object" {
		return s.checkObject(r, n)
	}
	return nil
}

func (s *Schema) checkOneOf(rules []any, n *yamlx.Node) error {
	matches := 0
	var last error
	for _, r := range rules {
		if err := s.check(r.(map[string]any), n); err != nil {
			last = err
		} else {
			matches++
		}
	}
	if matches != 1 {
		return n.Errorf("", "matches %d of the forms, want 1 (%v)", matches, last)
	}
	return nil
}

func (s *Schema) checkObject(r rule, n *yamlx.Node) error {
	properties, _ := r["properties"].(map[string]any)
	for i, key := range n.Keys {
		p, ok := properties[key.Name].(map[string]any)
		if !ok {
			if p, ok = r["additionalProperties"].(map[string]any); !ok {
				return n.Values[i].Errorf("", "key %q is not in the schema", key.Name)
			}
		}
		if err := s.check(p, n.Values[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkType(want string, n *yamlx.Node) error {
	got := map[yamlx.Kind]string{yamlx.Text: "string", yamlx.Number: "number", yamlx.Bool: "boolean", yamlx.List: "array", yamlx.Map: "object"}[n.Kind]
	if _, err := strconv.ParseInt(n.Text, 10, 64); want == "integer" && got == "number" && err == nil {
		return nil
	}
	if got != want {
		return n.Errorf("", "%s, the schema wants %s", got, want)
	}
	return nil
}

func checkBound(keyword string, bound float64, n *yamlx.Node) error {
	v, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || keyword == "minimum" && v < bound || keyword == "maximum" && v > bound || keyword == "exclusiveMinimum" && v <= bound {
		return n.Errorf("", "%s %g", keyword, bound)
	}
	return nil
}

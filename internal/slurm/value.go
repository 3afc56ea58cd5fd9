package slurm

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// object is an object of Slurm's JSON. Releases spell a value in different ways: a number plain, as a string or
// as {"set": true, "infinite": false, "number": 7}, a state as a string or a list. Each way is read wherever
// it stands; what has another shape is taken as not told.
type object map[string]any

// objects reads the list that stands under a key, and the complaints that Slurm wrote beside it.
func objects(data []byte, key string) ([]object, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, fmt.Errorf("Slurm's JSON: %w", err) //nolint:staticcheck // a name
	}
	if err := complaint(top["errors"]); err != nil {
		return nil, err
	}
	raw, ok := top[key]
	if !ok {
		return nil, fmt.Errorf("Slurm's JSON has no %q", key) //nolint:staticcheck // a name
	}
	in := json.NewDecoder(strings.NewReader(string(raw)))
	in.UseNumber()
	var out []object
	if err := in.Decode(&out); err != nil {
		return nil, fmt.Errorf("Slurm's JSON: %s: %w", key, err) //nolint:staticcheck // a name
	}
	return out, nil
}

// complaint is the first of the errors of an answer. What is no list of errors complains of nothing.
func complaint(raw json.RawMessage) error {
	var list []object
	if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
		return nil //nolint:nilerr // see above
	}
	text := list[0].text("error", "description")
	if d := list[0].text("description"); d != "" && d != text {
		text += ": " + d
	}
	if text == "" {
		text = "an error without a word"
	}
	return &ToolError{Tool: "Slurm", Exit: 1, Text: text, Lines: []string{text}}
}

// in is the object under a key; nil, which has nothing, where there is none.
func (o object) in(key string) object {
	m, _ := o[key].(map[string]any)
	return m
}

// number reads the first of the keys that tells one. What is infinite or not set is not told.
func (o object) number(keys ...string) (float64, bool) {
	for _, k := range keys {
		if f, ok := numberOf(o[k]); ok {
			return f, true
		}
	}
	return 0, false
}

func numberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && f-f == 0
	case map[string]any:
		if set, told := v["set"].(bool); told && !set {
			return 0, false
		}
		if infinite, _ := v["infinite"].(bool); infinite {
			return 0, false
		}
		return numberOf(v["number"])
	}
	return 0, false
}

// whole reads a number that counts something: 0 where none is told, or where it cannot be.
func (o object) whole(keys ...string) int64 {
	f, _ := o.number(keys...)
	if f < -1<<53 || f > 1<<53 {
		return 0
	}
	return int64(f)
}

// count is a whole number that is not negative and fits an int.
func (o object) count(keys ...string) int {
	return int(min(max(o.whole(keys...), 0), Unlimited))
}

// text reads the first of the keys that has one; a list is joined by commas.
func (o object) text(keys ...string) string {
	for _, k := range keys {
		switch v := o[k].(type) {
		case string:
			if v = null(v); v != "" {
				return v
			}
		case []any:
			if l := strings.Join(o.list(k), ","); l != "" {
				return l
			}
		}
	}
	return ""
}

// list reads a list of words, or a string of them.
func (o object) list(key string) []string {
	switch v := o[key].(type) {
	case string:
		return some(v)
	case []any:
		var out []string
		for _, x := range v {
			if s, ok := x.(string); ok && s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// yes reads what is so or not.
func (o object) yes(key string) bool {
	switch v := o[key].(type) {
	case bool:
		return v
	case string:
		return strings.EqualFold(v, "true") || strings.EqualFold(v, "yes")
	}
	return o.whole(key) == 1
}

// time reads seconds since 1970; 0 is no time.
func (o object) time(key string) time.Time {
	if n := o.whole(key); n > 0 {
		return time.Unix(n, 0)
	}
	return time.Time{}
}

// minutes reads a time limit.
func (o object) minutes(keys ...string) time.Duration {
	n := o.whole(keys...)
	if n <= 0 || n > 1<<31 {
		return 0
	}
	return time.Duration(n) * time.Minute
}

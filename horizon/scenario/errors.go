package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// explained is an error of the JSON decoder in plain words.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.err }

// explain says what is wrong with data, in which line, and what would be right.
func explain(data []byte, err error) error {
	at, text := len(data), strings.TrimPrefix(err.Error(), "json: ")
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		text = "the file is empty; want one JSON object"
	case errors.Is(err, io.ErrUnexpectedEOF):
		text = "the file ends before the scenario does"
	case errors.As(err, &syntax):
		at = int(syntax.Offset)
	case errors.As(err, &kind):
		at = int(kind.Offset)
		field := kind.Field
		if field == "" {
			field = "the scenario"
		}
		text = fmt.Sprintf("%s: %s; want %s", field, kind.Value, wanted(kind.Type))
	default:
		if key, where, known := unknownKey(data); known != nil {
			at, text = where, fmt.Sprintf("unknown key %q; want one of %s", key, strings.Join(known, ", "))
		}
	}
	return &explained{fmt.Sprintf("line %d: %s", lineAt(data, at), text), err}
}

// lineAt is the line in which an offset lies.
func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:max(0, min(offset, len(data)))], []byte("\n"))
}

// wanted names what a Go type is in JSON.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	}
	return "a whole number"
}

// unknownKey finds the first key that its object does not have, where it ends, and the keys that
// there are.
func unknownKey(data []byte) (key string, at int, known []string) {
	k := keys{dec: json.NewDecoder(bytes.NewReader(data))}
	k.value(reflect.TypeFor[file]())
	return k.key, k.at, k.known
}

type keys struct {
	dec   *json.Decoder
	key   string
	at    int
	known []string
}

// value walks over one value of a type, and tells whether to go on.
func (k *keys) value(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := k.dec.Token()
	if err != nil {
		return false
	}
	switch token {
	case json.Delim('['):
		for k.dec.More() {
			if t.Kind() != reflect.Slice || !k.value(t.Elem()) {
				return false
			}
		}
	case json.Delim('{'):
		for k.dec.More() {
			if t.Kind() != reflect.Struct || !k.member(t) {
				return false
			}
		}
	default:
		return true
	}
	_, err = k.dec.Token()
	return err == nil
}

// member walks over one key and its value.
func (k *keys) member(t reflect.Type) bool {
	token, err := k.dec.Token()
	if err != nil {
		return false
	}
	key, _ := token.(string)
	var known []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if strings.EqualFold(name, key) {
			return k.value(t.Field(i).Type)
		}
		known = append(known, name)
	}
	k.key, k.at, k.known = key, int(k.dec.InputOffset()), known
	return false
}

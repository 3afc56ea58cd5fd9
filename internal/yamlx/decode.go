package yamlx

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Unmarshaler reads itself from a node; its errors come from [Node.Errorf].
type Unmarshaler interface {
	UnmarshalNode(n *Node) error
}

// Decode reads the file into v, a pointer to a struct, and returns the tree.
// Fields without a `yaml` tag are left alone. A pointer or slice that stays nil
// tells that its key was absent.
func Decode(file string, data []byte, v any) (*Node, error) {
	root, err := Parse(file, data)
	if err != nil {
		return nil, err
	}
	return root, root.Decode(v)
}

// Decode reads the node into v, a non-nil pointer.
func (n *Node) Decode(v any) error {
	return n.into(reflect.ValueOf(v).Elem())
}

// Keys returns the keys that a struct reads, in the order of its fields.
func Keys(v any) []string { return keysOf(reflect.TypeOf(v)) }

func keysOf(t reflect.Type) []string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var keys []string
	for i := range t.NumField() {
		if k := t.Field(i).Tag.Get("yaml"); k != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

func (n *Node) into(v reflect.Value) error {
	if v.CanAddr() {
		if u, ok := v.Addr().Interface().(Unmarshaler); ok {
			return u.UnmarshalNode(n)
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return n.into(v.Elem())
	case reflect.Struct:
		return n.intoStruct(v)
	case reflect.Slice:
		return n.intoSlice(v)
	case reflect.Map:
		return n.intoMap(v)
	case reflect.String:
		s, err := n.AsText()
		v.SetString(s)
		return err
	case reflect.Bool:
		if n.Kind != Bool {
			return n.wrong("true or false")
		}
		v.SetBool(strings.EqualFold(n.Text, "true"))
		return nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		i, err := n.AsInt(math.MinInt64>>(64-v.Type().Bits()), math.MaxInt64>>(64-v.Type().Bits()))
		v.SetInt(i)
		return err
	case reflect.Uint64:
		if n.Kind != Number {
			return n.wrong("a whole number")
		}
		u, err := strconv.ParseUint(n.Text, 10, 64)
		if err != nil {
			return n.Errorf("want a whole number of 0 or more", "%s is not one", n.show())
		}
		v.SetUint(u)
		return nil
	case reflect.Float64:
		f, err := n.AsFloat()
		v.SetFloat(f)
		return err
	}
	panic(fmt.Sprintf("yamlx: a field of type %s cannot be read", v.Type()))
}

func (n *Node) intoStruct(v reflect.Value) error {
	if n.Kind != Map {
		return n.wrong("a map with " + strings.Join(keysOf(v.Type()), ", "))
	}
	t := v.Type()
	for i, key := range n.Keys {
		f := fieldOf(t, key.Name)
		if f < 0 {
			return n.unknown(key, keysOf(t))
		}
		if err := n.Values[i].into(v.Field(f)); err != nil {
			return err
		}
	}
	return nil
}

func fieldOf(t reflect.Type, key string) int {
	for i := range t.NumField() {
		if tag := t.Field(i).Tag.Get("yaml"); tag == key && tag != "" {
			return i
		}
	}
	return -1
}

func (n *Node) unknown(key Key, known []string) error {
	want := "known keys: " + strings.Join(known, ", ")
	if near := Nearest(key.Name, known); near != "" {
		want = "did you mean " + near + "? " + want
	}
	return n.src.errorAt(key.line, key.col, want, fmt.Sprintf("unknown key %q", key.Name))
}

func (n *Node) intoSlice(v reflect.Value) error {
	if n.Kind != List {
		return n.wrong("a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, item := range n.Items {
		if err := item.into(v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) intoMap(v reflect.Value) error {
	if n.Kind != Map {
		return n.wrong("a map")
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(n.Keys)))
	for i, key := range n.Keys {
		elem := reflect.New(v.Type().Elem()).Elem()
		if err := n.Values[i].into(elem); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(key.Name), elem)
	}
	return nil
}

// AsText returns a text. A number or a truth value in its place is refused:
// the writer may have meant either, quotes say which.
func (n *Node) AsText() (string, error) {
	switch n.Kind {
	case Text:
		return n.Text, nil
	case Number, Bool:
		return "", n.Errorf(fmt.Sprintf("want text; put it in quotes: %q", n.Text), "%s here", n.show())
	}
	return "", n.wrong("text")
}

// AsInt returns a whole number between lo and hi.
func (n *Node) AsInt(lo, hi int64) (int64, error) {
	if n.Kind != Number {
		return 0, n.wrong("a whole number")
	}
	i, err := strconv.ParseInt(n.Text, 10, 64)
	switch {
	case err != nil:
		return 0, n.Errorf("want a whole number", "%s is not one", n.show())
	case i < lo || i > hi:
		return 0, n.Errorf(fmt.Sprintf("want %d..%d", lo, hi), "%d is out of range", i)
	}
	return i, nil
}

// AsFloat returns a finite number.
func (n *Node) AsFloat() (float64, error) {
	if n.Kind != Number {
		return 0, n.wrong("a number")
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || strings.ContainsAny(n.Text, "xX_") {
		return 0, n.Errorf("want a decimal number", "%s is not one", n.show())
	}
	return f, nil
}

// OneOf returns the index of the text among the words known.
func (n *Node) OneOf(known []string) (int, error) {
	if n.Kind != Text {
		return 0, n.Errorf("want "+orList(known), "%s here", n.show())
	}
	i := slices.Index(known, n.Text)
	if i < 0 {
		return 0, n.Errorf(Choice(n.Text, known), "%q is not known", n.Text)
	}
	return i, nil
}

func (n *Node) wrong(want string) error {
	return n.Errorf("want "+want, "%s here", n.show())
}

// show is the node as an error says it.
func (n *Node) show() string {
	switch n.Kind {
	case Text:
		if r := []rune(n.Text); len(r) > 40 {
			return fmt.Sprintf("text %q", string(r[:40])+"...")
		}
		return fmt.Sprintf("text %q", n.Text)
	case Number:
		return "number " + n.Text
	case Bool:
		return n.Text
	}
	return n.Kind.String()
}

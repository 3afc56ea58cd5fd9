package yamlx

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type sample struct {
	Name   string             `yaml:"name"`
	N      int32              `yaml:"n"`
	Big    uint64             `yaml:"big"`
	F      float64            `yaml:"f"`
	On     *bool              `yaml:"on"`
	Every  Duration           `yaml:"every"`
	Memory Size               `yaml:"memory"`
	Cores  Milli              `yaml:"cores"`
	Part   Percent            `yaml:"part"`
	List   []string           `yaml:"list"`
	Nested *inner             `yaml:"nested"`
	ByName map[string]float64 `yaml:"byName"`
	Hidden string
}

type inner struct {
	A []Milli `yaml:"a"`
}

func TestDecode(t *testing.T) {
	const file = `# a comment
name: "x: y"
n: -3
big: 18446744073709551615
f: 1.5e3
on: false
every: 1h30m
memory: 384GiB
cores: 0.5
part: 2.5%
list: [a, "1", 'c']
nested:
  a:
    - 1
    - 2.25
byName: {x: 1, "y": 1e+09}
`
	var got sample
	root, err := Decode("f.yaml", []byte(file), &got)
	if err != nil {
		t.Fatal(err)
	}
	off := false
	want := sample{Name: "x: y", N: -3, Big: 1<<64 - 1, F: 1500, On: &off, Every: 5_400_000, Memory: 384 << 10,
		Cores: 500, Part: 25, List: []string{"a", "1", "c"}, Nested: &inner{A: []Milli{1000, 2250}},
		ByName: map[string]float64{"x": 1, "y": 1e9}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded file (-want,+got):\n%s", diff)
	}
	if e := root.At("nested", "a", 1).Errorf("", "here"); e.Line != 15 || e.Col != 7 {
		t.Errorf("place of nested.a[1] = %d:%d, want 15:7", e.Line, e.Col)
	}
	if e := root.At("nested", "b").Errorf("", "here"); e.Line != 13 || e.Col != 3 {
		t.Errorf("place of the absent nested.b = %d:%d, want that of nested, 13:3", e.Line, e.Col)
	}
}

func TestDecodeErrors(t *testing.T) {
	for name, tc := range map[string]struct{ file, want string }{
		"unknown key":     {"nam: x", `f.yaml:1:1: unknown key "nam"; did you mean name? known keys: name, n, big, f, on, every, memory, cores, part, list, nested, byName`},
		"far key":         {"name: x\nzzzzzz: 1", `f.yaml:2:1: unknown key "zzzzzz"; known keys: name, n, big, f, on, every, memory, cores, part, list, nested, byName`},
		"nested key":      {"nested: {b: 1}", `f.yaml:1:10: unknown key "b"; did you mean a? known keys: a`},
		"doubled key":     {"n: 1\nname: x\nn: 2", `f.yaml:3:1: key "n" appears twice, first on line 1; want it once`},
		"no value":        {"name:\nn: 1", `f.yaml:1:1: "name" has no value; give it one or leave it out`},
		"null":            {"name: ~", `f.yaml:1:1: "name" has no value; give it one or leave it out`},
		"empty item":      {"list:\n  - a\n  -\n", `f.yaml:2:3: an item of this list has no value; give it one or leave it out`},
		"number for text": {"name: 12", `f.yaml:1:7: number 12 here; want text; put it in quotes: "12"`},
		"bool for text":   {"list: [true]", `f.yaml:1:8: true here; want text; put it in quotes: "true"`},
		"text for number": {"n: many", `f.yaml:1:4: text "many" here; want a whole number`},
		"float for int":   {"n: 1.5", `f.yaml:1:4: number 1.5 is not one; want a whole number`},
		"hex":             {"n: 0x10", `f.yaml:1:4: number 0x10 is not one; want a whole number`},
		"too large":       {"n: 3000000000", `f.yaml:1:4: 3000000000 is out of range; want -2147483648..2147483647`},
		"not finite":      {"f: .inf", `f.yaml:1:4: number .inf is not one; want a decimal number`},
		"not bool":        {"on: yes", `f.yaml:1:5: text "yes" here; want true or false`},
		"map for list":    {"list: {a: b}", `f.yaml:1:7: a map here; want a list`},
		"text for map":    {"nested: x", `f.yaml:1:9: text "x" here; want a map with a`},
		"bare duration":   {"every: 90", `f.yaml:1:8: number 90 has no unit; say the unit: 90s, 90m, 90h or 90d`},
		"bad duration":    {"every: 5 minutes", `f.yaml:1:8: "5 minutes" is not a length of time; want a length of time such as 90s, 15m, 8h, 7d or 1h30m`},
		"rising duration": {"every: 5m1h", `f.yaml:1:8: "5m1h" is not a length of time; want a length of time such as 90s, 15m, 8h, 7d or 1h30m`},
		"bare size":       {"memory: 384", `f.yaml:1:9: number 384 has no unit; say the unit: 384GiB or 384MiB`},
		"decimal unit":    {"memory: 384GB", `f.yaml:1:9: "384GB" is not a size; want a size such as 512MiB, 384GiB or 2TiB`},
		"negative cores":  {"cores: -1", `f.yaml:1:8: number -1 is out of range; want a number of 0 or more`},
		"fine cores":      {"cores: 0.0001", `f.yaml:1:8: number 0.0001 is too fine; want at most three decimals`},
		"bare percent":    {"part: 25", `f.yaml:1:7: number 25 has no unit; say the unit: 25%`},
		"high percent":    {"part: 100.1%", `f.yaml:1:7: "100.1%" is no percentage; want 0% to 100% with at most one decimal, such as 25% or 2.5%`},
		"fine percent":    {"part: 2.25%", `f.yaml:1:7: "2.25%" is no percentage; want 0% to 100% with at most one decimal, such as 25% or 2.5%`},
		"signed percent":  {"part: -1%", `f.yaml:1:7: "-1%" is no percentage; want 0% to 100% with at most one decimal, such as 25% or 2.5%`},
		"half percent":    {"part: .5%", `f.yaml:1:7: ".5%" is no percentage; want 0% to 100% with at most one decimal, such as 25% or 2.5%`},
		"listed percent":  {"part: [1%]", `f.yaml:1:7: a list here; want 0% to 100% with at most one decimal, such as 25% or 2.5%`},
		"anchor":          {"list: &a [x]", `f.yaml:1:7: anchors and aliases are not read here; write the value out`},
		"tag":             {"name: !!str 1", `f.yaml:1:7: tags are not read here; write the value without it`},
		"two documents":   {"n: 1\n---\nn: 2", `f.yaml:3:1: a second YAML document begins here; want one document in a file`},
		"empty":           {"# nothing\n", `f.yaml:1:1: the file is empty`},
		"scalar":          {"hello", `f.yaml:1:1: text "hello" here; want a map with name, n, big, f, on, every, memory, cores, part, list, nested, byName`},
		"deep":            {"list: " + strings.Repeat("[", 2000), `f.yaml:1:519: lists or maps are nested too deeply; want at most 64 levels`},
	} {
		t.Run(name, func(t *testing.T) {
			var v sample
			_, err := Decode("f.yaml", []byte(tc.file), &v)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error is %v, want an *Error", err)
			}
			if e.Head() != tc.want {
				t.Errorf("error\n got %s\nwant %s", e.Head(), tc.want)
			}
		})
	}
}

func TestSyntaxErrorHasPlaceAndExcerpt(t *testing.T) {
	_, err := Parse("f.yaml", []byte("name: x\nlist: [a, b\nn: 1\n"))
	var e *Error
	if !errors.As(err, &e) || e.Line < 2 || !strings.HasPrefix(e.Msg, "not valid YAML: ") || e.Excerpt == "" {
		t.Errorf("error is %v, want a syntax error from line 2 on, with an excerpt", err)
	}
	_, err = Parse("f.yaml", []byte("nested:\n\ta: 1\n"))
	if !errors.As(err, &e) || e.Want != "indent with spaces, not with tabs" {
		t.Errorf("error is %v, want a hint about tabs", err)
	}
}

func TestExcerptPutsCaretBelowColumn(t *testing.T) {
	want := "    2 | \tname: 7\n      | \t      ^"
	if got := excerpt([]string{"", "\tname: 7"}, 2, 8); got != want {
		t.Errorf("excerpt\n%s\nwant\n%s", got, want)
	}
	long := strings.Repeat("a", 500)
	if got := excerpt([]string{long}, 1, 400); len(got) > 400 || !strings.HasSuffix(got, " ^") {
		t.Errorf("excerpt of a long line is not cut: %q", got)
	}
}

func TestErrorfInFindsThePlaceInsideText(t *testing.T) {
	for name, tc := range map[string]struct {
		file                string
		line, col           int
		wantLine, wantColum int
	}{
		"plain":   {"e: abc + def", 1, 7, 1, 10},
		"quoted":  {`e: "abc + def"`, 1, 7, 1, 11},
		"literal": {"e: |\n  abc +\n    def\n", 2, 3, 3, 5},
		"folded":  {"e: >\n  abc +\n  def\n", 1, 7, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := Parse("f.yaml", []byte(tc.file))
			if err != nil {
				t.Fatal(err)
			}
			if e := root.Get("e").ErrorfIn(tc.line, tc.col, "", "here"); e.Line != tc.wantLine || e.Col != tc.wantColum {
				t.Errorf("place %d:%d, want %d:%d\n%s", e.Line, e.Col, tc.wantLine, tc.wantColum, e.Excerpt)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	known := []string{"fifo", "fifo-skip", "sjf", "conservative"}
	for word, want := range map[string]string{"fifi": "fifo", "SJF": "sjf", "conservativ": "conservative", "fiof": "fifo", "tetris": ""} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestQuantitiesRoundTrip(t *testing.T) {
	for _, d := range []Duration{0, 1, 999, 1000, 90_000, 5_400_000, 604_800_000, 123_456_789} {
		if got, err := ParseDuration(d.String()); err != nil || got != d {
			t.Errorf("ParseDuration(%q) = %d, %v, want %d", d, got, err, d)
		}
	}
	for p := range Percent(1001) {
		if got, err := ParsePercent(p.String()); err != nil || got != p {
			t.Errorf("ParsePercent(%q) = %d, %v, want %d", p, got, err, p)
		}
	}
	for _, s := range []Size{0, 1, 512, 1024, 384 << 10, 1<<20 + 1, 2 << 20} {
		root, err := Parse("f", []byte("s: "+s.String()))
		if err != nil {
			t.Fatal(err)
		}
		var got Size
		if err := root.Get("s").Decode(&got); err != nil || got != s {
			t.Errorf("size %q read as %d, %v, want %d", s, got, err, s)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("name: x\nlist: [a, b]\nnested: {a: [1, 2]}\n"))
	f.Add([]byte("e: |\n  a\n  b\n"))
	f.Add([]byte("- ? [a: b]\n  : &x !t {c}\n"))
	f.Add([]byte("\xff\xfe\x00a: b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v sample
		_, err := Decode("f.yaml", data, &v)
		if err == nil {
			return
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("error of type %T: %v", err, err)
		}
		if e.Line < 1 || e.Line > strings.Count(string(data), "\n")+strings.Count(string(data), "\r")+1 || e.Col < 1 || e.Msg == "" {
			t.Fatalf("error without a place in the file: %q", e.Head())
		}
	})
}

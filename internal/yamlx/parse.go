package yamlx

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxBytes is the size of the largest file that is read, MaxDepth the deepest
// nesting: both far above any real file, and low enough that a hostile one
// cannot exhaust memory or stack.
const (
	MaxBytes = 32 << 20
	MaxDepth = 64
)

// Parse reads one YAML document into a tree. A map or a list must be at its top.
func Parse(file string, data []byte) (root *Node, err error) {
	// All three line ends of YAML count alike, for the parser and for excerpts.
	text := strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n")
	src := &source{file: file, lines: strings.Split(text, "\n")}
	if len(data) > MaxBytes {
		return nil, src.errorAt(1, 1, fmt.Sprintf("want at most %d MiB", MaxBytes>>20), fmt.Sprintf("the file has %d bytes", len(data)))
	}
	if line, col := tooDeep(src.lines); line > 0 {
		return nil, src.errorAt(line, col, fmt.Sprintf("want at most %d levels", MaxDepth), "lists or maps are nested too deeply")
	}
	// The parser is another's and meets files from anybody: its panic must not be ours.
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, src.errorAt(1, 1, "want valid YAML", "the file cannot be read as YAML")
		}
	}()
	f, err := parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, src.syntax(err)
	}
	var body ast.Node
	for _, d := range f.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			line, col := place(d.Body)
			return nil, src.errorAt(line, col, "want one document in a file", "a second YAML document begins here")
		}
		body = d.Body
	}
	if body == nil || body.Type() == ast.NullType || body.Type() == ast.CommentType {
		return nil, src.errorAt(1, 1, "", "the file is empty")
	}
	return src.convert(body, 0)
}

var plainNumber = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// tooDeep finds nesting beyond MaxDepth before the recursive parser sees it:
// brackets, dashes in one line, and indentation.
func tooDeep(lines []string) (line, col int) {
	open := 0
	for i, l := range lines {
		indent := len(l) - len(strings.TrimLeft(l, " "))
		rest := l[indent:]
		for n := 0; strings.HasPrefix(rest, "- ") || strings.HasPrefix(rest, "? "); n++ {
			if n > MaxDepth {
				return i + 1, 1
			}
			rest = rest[2:]
		}
		if indent > 16*MaxDepth && rest != "" {
			return i + 1, indent
		}
		for j := 0; j < len(l); j++ {
			switch l[j] {
			case '[', '{':
				if open++; open > 8*MaxDepth {
					return i + 1, j + 1
				}
			case ']', '}':
				open = max(open-1, 0)
			}
		}
	}
	return 0, 0
}

// syntax turns the parser's error into ours.
func (s *source) syntax(err error) *Error {
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &at) {
		return s.errorAt(1, 1, "want valid YAML", err.Error())
	}
	line, col := 1, 1
	if tk := at.GetToken(); tk != nil && tk.Position != nil {
		line, col = min(max(tk.Position.Line, 1), len(s.lines)), tk.Position.Column
	}
	msg := at.GetMessage()
	if strings.Contains(msg, "tab") || strings.HasPrefix(s.lines[line-1], "\t") {
		return s.errorAt(line, col, "indent with spaces, not with tabs", "not valid YAML: "+msg)
	}
	return s.errorAt(line, col, "", "not valid YAML: "+msg)
}

func (s *source) convert(n ast.Node, depth int) (*Node, error) {
	line, col := place(n)
	out := &Node{src: s, line: line, col: col}
	if depth > MaxDepth {
		return nil, out.Errorf(fmt.Sprintf("want at most %d levels", MaxDepth), "lists or maps are nested too deeply")
	}
	switch v := n.(type) {
	case *ast.MappingNode:
		out.Kind = Map
		return out, s.convertMap(out, v.Values, depth)
	case *ast.MappingValueNode:
		out.Kind = Map
		return out, s.convertMap(out, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		out.Kind = List
		for _, item := range v.Values {
			c, err := s.convertValue(item, out, "an item of this list", depth)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, c)
		}
	case *ast.StringNode:
		out.Text = v.Value
		switch v.Token.Type {
		case token.SingleQuoteType:
			out.style = '\''
		case token.DoubleQuoteType:
			out.style = '"'
		default:
			// The parser takes "1e+09" for text; YAML's core schema has it a number.
			if plainNumber.MatchString(v.Value) {
				out.Kind = Number
			}
		}
	case *ast.LiteralNode:
		out.Text, out.style = v.Value.Value, '>'
		if v.Start != nil && v.Start.Type == token.LiteralType {
			out.style = '|'
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		out.Kind, out.Text = Number, n.GetToken().Value
	case *ast.BoolNode:
		out.Kind, out.Text = Bool, v.Token.Value
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return nil, out.Errorf("write the value out", "anchors and aliases are not read here")
	case *ast.TagNode:
		return nil, out.Errorf("write the value without it", "tags are not read here")
	default:
		return nil, out.Errorf("", "not a value that is read here")
	}
	return out, nil
}

func (s *source) convertMap(out *Node, values []*ast.MappingValueNode, depth int) error {
	seen := make(map[string]int, len(values))
	for _, v := range values {
		line, col := place(v.Key)
		if _, plain := v.Key.(*ast.StringNode); !plain {
			switch v.Key.(type) {
			case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
			default:
				return s.errorAt(line, col, "want a word", "this key is not a plain word")
			}
		}
		name := v.Key.GetToken().Value
		if first, twice := seen[name]; twice {
			return s.errorAt(line, col, "want it once", fmt.Sprintf("key %q appears twice, first on line %d", name, first))
		}
		seen[name] = line
		c, err := s.convertValue(v.Value, &Node{src: s, line: line, col: col}, fmt.Sprintf("%q", name), depth)
		if err != nil {
			return err
		}
		out.Keys = append(out.Keys, Key{Name: name, line: line, col: col})
		out.Values = append(out.Values, c)
	}
	return nil
}

// convertValue refuses values that are not there: a key without a value is a
// slip, not a zero.
func (s *source) convertValue(v ast.Node, at *Node, what string, depth int) (*Node, error) {
	if v == nil || v.Type() == ast.NullType {
		return nil, at.Errorf("give it one or leave it out", "%s has no value", what)
	}
	return s.convert(v, depth+1)
}

// place is where a reader's eye finds the node: the first key of a block map,
// the first dash of a block list, the opening bracket of either in flow style.
func place(n ast.Node) (line, col int) {
	var tk *token.Token
	switch v := n.(type) {
	case *ast.MappingNode:
		if !v.IsFlowStyle && len(v.Values) > 0 {
			return place(v.Values[0].Key)
		}
		tk = v.Start
	case *ast.MappingValueNode:
		return place(v.Key)
	case *ast.LiteralNode:
		tk = v.Start
	}
	if tk == nil {
		tk = n.GetToken()
	}
	if tk == nil || tk.Position == nil {
		return 1, 1
	}
	return tk.Position.Line, tk.Position.Column
}

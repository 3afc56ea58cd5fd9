package policy

import (
	"embed"
	"slices"
	"strings"
)

//go:embed shipped/*.yaml
var shippedFiles embed.FS

// Names returns the names of the shipped policies, sorted.
func Names() []string {
	entries, _ := shippedFiles.ReadDir("shipped")
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// ShippedSource returns the file of a shipped policy as it ships, comments and all.
func ShippedSource(name string) ([]byte, bool) {
	data, err := shippedFiles.ReadFile("shipped/" + name + ".yaml")
	return data, err == nil
}

// Shipped returns the shipped policy of that name. Each call returns a fresh
// value that the caller may change.
func Shipped(name string) (*Policy, bool) {
	data, ok := ShippedSource(name)
	if !ok {
		return nil, false
	}
	p, err := Parse("shipped/"+name+".yaml", data)
	if err != nil {
		panic("policy: a shipped file is broken: " + err.Error())
	}
	return p, true
}

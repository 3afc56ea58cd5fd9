package cluster

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
)

// maxNodes bounds what one file may ask for.
const maxNodes = 1_000_000

// takeNodes lays the groups out, one after another.
func takeNodes(s *Spec, f *yamlFile, at *yamlx.Node) error {
	if len(f.Nodes) == 0 {
		return at.Errorf("want at least one group", "the list of nodes is empty")
	}
	seen := map[string]bool{}
	made := make([]int, len(s.Levels)) // places that "every" has made so far, by level
	for i := range f.Nodes {
		if err := takeGroup(s, &f.Nodes[i], at.At(i), seen, made); err != nil {
			return err
		}
	}
	return checkNesting(s, at)
}

func takeGroup(s *Spec, g *yamlGroup, at *yamlx.Node, seen map[string]bool, made []int) error {
	count, err := checkGroup(s, g, at)
	if err != nil {
		return err
	}
	name, err := numbered(g, at, count)
	if err != nil {
		return err
	}
	if len(s.Nodes)+count > maxNodes {
		return at.At("count").Errorf(fmt.Sprintf("want at most %d nodes in all", maxNodes), "%d nodes are too many", len(s.Nodes)+count)
	}
	for k := range count {
		n := Node{Name: name(k), GPUType: g.GPU, GPUs: g.GPUs, CPU: int64(g.CPUs), Memory: int64(g.Memory), Partitions: g.Partition}
		if seen[n.Name] {
			return at.At("name").Errorf("give the group another name, or first: (the number of its first node)", "two nodes are called %q", n.Name)
		}
		seen[n.Name] = true
		if len(g.Places)+len(g.Every) > 0 {
			n.Places = make([]string, len(s.Levels))
			for l, level := range s.Levels {
				if size := int(g.Every[level]); size > 0 {
					n.Places[l] = level + strconv.Itoa(made[l]+k/size+1)
				} else {
					n.Places[l] = g.Places[level]
				}
			}
		}
		s.Nodes = append(s.Nodes, n)
	}
	for l, level := range s.Levels {
		if size := int(g.Every[level]); size > 0 {
			made[l] += (count + size - 1) / size
		}
	}
	return nil
}

func checkGroup(s *Spec, g *yamlGroup, at *yamlx.Node) (count int, err error) {
	count = 1
	if g.Count != nil {
		count = int(*g.Count)
	}
	switch {
	case count < 1:
		return 0, at.At("count").Errorf("want at least 1", "a group of %d nodes", count)
	case g.GPUs < 0 || g.GPUs > MaxGPUsPerNode:
		return 0, at.At("gpus").Errorf(fmt.Sprintf("want 0..%d", MaxGPUsPerNode), "%d GPUs in one node", g.GPUs)
	case g.GPUs == 0 && g.CPUs == 0:
		return 0, at.Errorf("give gpus or cpus", "these nodes have neither GPUs nor cores")
	case g.GPUs == 0 && g.GPU != "":
		return 0, at.At("gpu").Errorf("give gpus, or drop gpu", "nodes without GPUs have a GPU type")
	case strings.Contains(g.GPU, "|"):
		return 0, at.At("gpu").Errorf("want another character", "'|' must not stand in a GPU type")
	case slices.Contains(g.Partition, ""):
		return 0, at.At("partition").Errorf("give a name, or drop partition", "a partition without a name")
	}
	return count, checkPlaces(s, g, at)
}

// checkPlaces wants every level once, in "places" or in "every", or none at all.
func checkPlaces(s *Spec, g *yamlGroup, at *yamlx.Node) error {
	levelsWant := "name it in levels: at the top of the file"
	if len(s.Levels) > 0 {
		levelsWant = "levels are " + strings.Join(s.Levels, ", ")
	}
	for _, part := range []string{"places", "every"} {
		node := at.Get(part)
		if node == nil {
			continue
		}
		for i, key := range node.Keys {
			_, inPlaces := g.Places[key.Name]
			_, inEvery := g.Every[key.Name]
			switch {
			case !slices.Contains(s.Levels, key.Name):
				return node.Values[i].Errorf(levelsWant, "no level is called %q", key.Name)
			case inPlaces && inEvery:
				return node.Values[i].Errorf("drop one of them", "level %s is both in places and in every", key.Name)
			case inPlaces && g.Places[key.Name] == "":
				return node.Values[i].Errorf("give the place a name", "level %s has an empty place", key.Name)
			case inEvery && g.Every[key.Name] < 1:
				return node.Values[i].Errorf("want at least 1: the number of nodes in one "+key.Name, "every %s has %d nodes", key.Name, g.Every[key.Name])
			}
		}
	}
	if n := len(g.Places) + len(g.Every); n > 0 && n < len(s.Levels) {
		for _, level := range s.Levels {
			if g.Places[level] == "" && g.Every[level] == 0 {
				return at.Errorf("give it in places or in every", "these nodes have no %s", level)
			}
		}
	}
	return nil
}

// numbered returns the name of the k-th node of a group: "{}" stands for its
// number, "{000}" for the number padded to three digits.
func numbered(g *yamlGroup, at *yamlx.Node, count int) (func(k int) string, error) {
	node := at.At("name")
	if g.Name == "" {
		return nil, node.Errorf(`give one, such as name: "n{}"`, "these nodes have no name")
	}
	if strings.Contains(g.Name, "|") {
		return nil, node.Errorf("want another character", "'|' must not stand in a node name")
	}
	before, rest, found := strings.Cut(g.Name, "{")
	if !found {
		switch {
		case count > 1:
			return nil, node.Errorf(fmt.Sprintf(`put {} where the number goes, such as "%s{}"`, g.Name), "%d nodes would share the name %q", count, g.Name)
		case g.First != nil:
			return nil, at.At("first").Errorf("put {} into the name, or drop first", "the name has no number")
		}
		return func(int) string { return g.Name }, nil
	}
	zeros, after, closed := strings.Cut(rest, "}")
	if !closed || strings.Trim(zeros, "0") != "" || strings.ContainsAny(after, "{}") || len(zeros) > 9 {
		return nil, node.Errorf("want one {} or, for padded numbers, one {000}", "the name %q has no number that can be read", g.Name)
	}
	first := 1
	if g.First != nil {
		if first = int(*g.First); first < 0 || first > math.MaxInt32-maxNodes {
			return nil, at.At("first").Errorf("want 0 or more", "%d is no number of a node", first)
		}
	}
	return func(k int) string { return fmt.Sprintf("%s%0*d%s", before, len(zeros), first+k, after) }, nil
}

// checkNesting wants each place inside one place of every level above it: a
// rack that lay in two blocks would make "the same rack" and "the same block"
// contradict each other.
func checkNesting(s *Spec, at *yamlx.Node) error {
	for l := 0; l+1 < len(s.Levels); l++ {
		outer := map[string]string{}
		for i := range s.Nodes {
			p := s.Nodes[i].Places
			if len(p) == 0 {
				continue
			}
			if in, ok := outer[p[l]]; ok && in != p[l+1] {
				return at.Errorf("levels go from the innermost out, and each place lies in one place of the next level",
					"%s %s lies both in %s %s and in %s %s (node %s)", s.Levels[l], p[l], s.Levels[l+1], in, s.Levels[l+1], p[l+1], s.Nodes[i].Name)
			}
			outer[p[l]] = p[l+1]
		}
	}
	return nil
}

package trace

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"hash"
	"maps"
	"slices"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// Anonymize returns a copy of the workload that can be given away: users, teams,
// partitions, job IDs, node names and label values are replaced by short codes
// made with HMAC-SHA256 under key, label keys by their number. The same name
// gets the same code under the same key, so joins still work; without the key a
// code cannot be tied to a name by trying names. Each sort of name has codes of
// its own: a user and a team of one name do not show it.
//
// Shapes, times, priorities, contracts, demand curves and outcomes stay: they are
// what the workload is for, and a rare shape or a curve that was published elsewhere
// can still betray its owner to who knows it.
// With rebase the first submission becomes time 0 and the calendar is forgotten.
// Name, source, hash and notes are dropped.
func Anonymize(w *workload.Workload, key []byte, rebase bool) *workload.Workload {
	c := coder{mac: hmac.New(sha256.New, key), known: map[[2]string]string{}}
	out := &workload.Workload{
		Name: "anonymized", Epoch: w.Epoch, Format: w.Format, Licence: w.Licence, Rows: w.Rows,
		Jobs: slices.Clone(w.Jobs), Actual: slices.Clone(w.Actual),
		Notes: []string{"Names were replaced by keyed codes."},
	}
	for _, d := range w.Dropped {
		d.First = "" // names a file
		out.Dropped = append(out.Dropped, d)
	}
	labels := labelNumbers(w)
	for i := range out.Jobs {
		j := &out.Jobs[i]
		j.ID = c.code("job", j.ID)
		j.User, j.Team, j.Partition = c.code("user", j.User), c.code("team", j.Team), c.code("partition", j.Partition)
		if j.Need.Nodes != "" {
			nodes := strings.Split(j.Need.Nodes, "|")
			for k := range nodes {
				nodes[k] = c.code("node", nodes[k])
			}
			j.Need.Nodes = strings.Join(nodes, "|")
		}
		if j.Labels != nil {
			coded := make(map[string]string, len(j.Labels))
			for k, v := range j.Labels {
				coded[labels[k]] = c.code("label", v)
			}
			j.Labels = coded
		}
		j.After = slices.Clone(j.After)
		for k := range j.After {
			j.After[k].Job = c.code("job", j.After[k].Job)
		}
	}
	if rebase && len(out.Jobs) > 0 {
		out.Epoch = workload.Unknown
		Shift(out, -out.Jobs[0].Submit)
	}
	return out
}

// labelNumbers numbers the label keys in their order.
func labelNumbers(w *workload.Workload) map[string]string {
	keys := map[string]string{}
	for i := range w.Jobs {
		for k := range w.Jobs[i].Labels {
			keys[k] = ""
		}
	}
	for n, k := range slices.Sorted(maps.Keys(keys)) {
		keys[k] = "label" + itoa(n+1)
	}
	return keys
}

type coder struct {
	mac   hash.Hash
	known map[[2]string]string
	sum   []byte
}

var codeAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// codeLength characters of 5 bits: with ten million names the chance that two
// share a code is below one in ten thousand.
const codeLength = 12

// code returns the code of a name among those of its sort; "" stays "".
func (c *coder) code(sort, name string) string {
	if name == "" {
		return ""
	}
	k := [2]string{sort, name}
	if s, ok := c.known[k]; ok {
		return s
	}
	c.mac.Reset()
	c.mac.Write([]byte(sort + "\x00" + name))
	c.sum = c.mac.Sum(c.sum[:0])
	s := sort[:1] + codeAlphabet.EncodeToString(c.sum)[:codeLength]
	c.known[k] = s
	return s
}

package report

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"slices"

	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

const (
	// pictureParts bounds the boxes of the node x time picture over all policies,
	// so that the page stays small; the largest by GPU-time are kept.
	pictureParts = 36_000
	// pictureNames bounds the length of a job's name in the page.
	pictureNames = 60
)

// picture is who ran where, packed for the page's script: columns of little
// endian numbers in base64.
type picture struct {
	// From and To in milliseconds of the input's clock.
	From     workload.Time   `json:"from"`
	To       workload.Time   `json:"to"`
	Nodes    []string        `json:"nodes"`
	GPUs     []int32         `json:"gpus"`
	Groups   []string        `json:"groups"`
	GroupBy  string          `json:"groupBy"`
	Jobs     pictureJobs     `json:"jobs"`
	Policies []picturePolicy `json:"policies"`
}

type pictureJobs struct {
	ID    []string `json:"id"`
	Group []int32  `json:"group"`
	GPUs  []string `json:"gpus"`
}

type picturePolicy struct {
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
	N    int    `json:"n"`
	// Job, Start and Length (s after From) are 32 bits wide, Node 16 or 32, Mask
	// MaskBytes per box.
	Job       string `json:"job"`
	Start     string `json:"start"`
	Length    string `json:"length"`
	Node      string `json:"node"`
	Mask      string `json:"mask"`
	MaskBytes int    `json:"maskBytes"`
}

// pictureOf packs the picture, nil on a cluster without nodes or without runs.
func pictureOf(c *Comparison, s span) *picture {
	var n int
	for i := range c.Policies {
		if r := c.Policies[i].Runs; r != nil {
			n += len(r.Parts)
		}
	}
	if len(c.Cluster.Nodes) == 0 || n == 0 || s.to <= s.from {
		return nil
	}
	p := &picture{From: s.from, To: s.to, GroupBy: c.Policies[0].Metrics.JainBy}
	maskBytes := 1
	for i := range c.Cluster.Nodes {
		node := &c.Cluster.Nodes[i]
		p.Nodes = append(p.Nodes, node.Name)
		p.GPUs = append(p.GPUs, node.GPUs)
		maskBytes = max(maskBytes, int(node.GPUs+7)/8)
	}
	b := &pictureBuilder{c: c, p: p, s: s, maskBytes: maskBytes, jobs: map[int32]uint32{}}
	b.rankGroups()
	for i := range c.Policies {
		b.policy(&c.Policies[i], pictureParts/len(c.Policies))
	}
	return p
}

type pictureBuilder struct {
	c         *Comparison
	p         *picture
	s         span
	maskBytes int
	jobs      map[int32]uint32 // number in the workload -> in the picture
	groups    map[string]int32
}

// group is what colours mean: the same grouping as the fairness figures.
func (b *pictureBuilder) group(j *workload.Job) string {
	switch b.p.GroupBy {
	case metrics.ByPartition.String():
		return j.Partition
	case metrics.ByUser.String():
		return j.User
	}
	return j.Team
}

// rankGroups orders the groups by GPU-hours, so that the large ones get colours.
func (b *pictureBuilder) rankGroups() {
	b.groups = map[string]int32{}
	uses := b.c.Policies[0].Metrics.Groups
	for _, u := range largest(uses, len(uses)) {
		b.groupNumber(u.Name)
	}
}

func (b *pictureBuilder) groupNumber(name string) int32 {
	if n, ok := b.groups[name]; ok {
		return n
	}
	n := int32(len(b.p.Groups))
	b.groups[name] = n
	b.p.Groups = append(b.p.Groups, name)
	return n
}

func (b *pictureBuilder) job(number int32) uint32 {
	if n, ok := b.jobs[number]; ok {
		return n
	}
	n := uint32(len(b.p.Jobs.ID))
	b.jobs[number] = n
	j := &b.c.Workload.Jobs[number]
	b.p.Jobs.ID = append(b.p.Jobs.ID, clip(j.ID))
	b.p.Jobs.Group = append(b.p.Jobs.Group, b.groupNumber(b.group(j)))
	b.p.Jobs.GPUs = append(b.p.Jobs.GPUs, j.Need.String())
	return n
}

func (b *pictureBuilder) policy(p *Policy, limit int) {
	out := picturePolicy{Name: p.Name, MaskBytes: b.maskBytes}
	if p.Runs != nil {
		parts, hidden := b.choose(p.Runs, limit)
		var job, start, length, node, mask []byte
		for i := range parts {
			r := &parts[i]
			from, to := max(r.Start, b.s.from), min(r.End, b.s.to)
			job = binary.LittleEndian.AppendUint32(job, b.job(r.Job))
			start = binary.LittleEndian.AppendUint32(start, uint32((from-b.s.from)/1000))
			length = binary.LittleEndian.AppendUint32(length, uint32(max(1, (to-from)/1000)))
			node = b.appendNode(node, r.Node)
			for k := range b.maskBytes {
				mask = append(mask, byte(r.GPUs>>(8*k)))
			}
		}
		out.N = len(parts)
		out.Job, out.Start, out.Length = pack(job), pack(start), pack(length)
		out.Node, out.Mask = pack(node), pack(mask)
		if hidden > 0 {
			out.Note = count(float64(hidden)) + " smaller boxes are left out; the largest by GPU-time are shown."
		}
	}
	b.p.Policies = append(b.p.Policies, out)
}

// choose returns the parts that lie in the picture, the largest ones where there are too many.
func (b *pictureBuilder) choose(r *metrics.Runs, limit int) (parts []metrics.RunPart, hidden int) {
	hidden = r.Dropped
	for i := range r.Parts {
		p := &r.Parts[i]
		if p.Node >= 0 && p.End > b.s.from && p.Start < b.s.to && int(p.Job) < len(b.c.Workload.Jobs) {
			parts = append(parts, *p)
		}
	}
	if len(parts) > limit {
		size := func(p *metrics.RunPart) float64 { return float64(p.Milli) * float64(p.End-p.Start) }
		slices.SortStableFunc(parts, func(x, y metrics.RunPart) int { return cmp.Compare(size(&y), size(&x)) })
		hidden += len(parts) - limit
		parts = parts[:limit]
		slices.SortStableFunc(parts, func(x, y metrics.RunPart) int { return cmp.Compare(x.Start, y.Start) })
	}
	return parts, hidden
}

func (b *pictureBuilder) appendNode(to []byte, n int32) []byte {
	if len(b.p.Nodes) <= 1<<16 {
		return binary.LittleEndian.AppendUint16(to, uint16(n))
	}
	return binary.LittleEndian.AppendUint32(to, uint32(n))
}

func pack(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func clip(s string) string {
	if r := []rune(s); len(r) > pictureNames {
		return string(r[:pictureNames-1]) + "…"
	}
	return s
}

// largest returns the n groups with the most GPU-hours.
func largest(uses []metrics.GroupUse, n int) []metrics.GroupUse {
	uses = slices.Clone(uses)
	slices.SortStableFunc(uses, func(x, y metrics.GroupUse) int { return cmp.Compare(y.GPUHours, x.GPUHours) })
	return uses[:min(n, len(uses))]
}

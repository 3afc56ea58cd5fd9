package slurm

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
)

// Texts are what the owner of a job wrote freely. They may have any bytes, line breaks included.
type Texts struct {
	Name, Comment, Command, WorkDir string
	// Excluded nodes, a host list; "" = none.
	Excluded string
}

// Texts reads the texts of jobs by their number; of all in the queue where none is named. It is one call,
// however many they are. Jobs that are not known any more are left out.
//
// What separates the texts is drawn anew for each call: nobody can have written it into a job.
func (c *Client) Texts(ctx context.Context, numbers ...int64) (map[int64]Texts, error) {
	sep := separator()
	args := []string{"-h", "-a", "--array-unique", "-o", strings.Join([]string{"%A", "%j", "%k", "%o", "%Z", "%x"}, sep) + sep}
	out, err := c.about(ctx, numbers, args)
	if err != nil {
		return nil, err
	}
	return parseTexts(string(out), sep)
}

// mostNumbers is how many jobs are named in a call; of more, all are read.
const mostNumbers = 2000

// about asks squeue for some jobs, or all. That none of them is there is no error.
func (c *Client) about(ctx context.Context, numbers []int64, args []string) ([]byte, error) {
	if n := len(numbers); n > 0 && n <= mostNumbers {
		list := make([]string, n)
		for i, k := range numbers {
			list[i] = strconv.FormatInt(k, 10)
		}
		args = append(args, "-t", "all", "-j", strings.Join(list, ","))
	}
	out, err := c.Run(ctx, "squeue", args...)
	if err != nil && len(numbers) > 0 && isNoJob(err) {
		return nil, nil
	}
	return out, err
}

// separator is what no text has: it is drawn anew, so that nobody can have written it into a job.
func separator() string { return "\x1f" + rand.Text()[:12] }

func parseTexts(out, sep string) (map[int64]Texts, error) {
	const per = 6
	texts := map[int64]Texts{}
	v := strings.Split(out, sep)
	if (len(v)-1)%per != 0 || strings.TrimSpace(v[len(v)-1]) != "" {
		return nil, fmt.Errorf("squeue tells %d texts, not %d for each job", len(v)-1, per)
	}
	for ; len(v) > per; v = v[per:] {
		n, err := strconv.ParseInt(strings.TrimPrefix(v[0], "\n"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("squeue names a job %.40q", v[0])
		}
		texts[n] = Texts{Name: v[1], Comment: null(v[2]), Command: null(v[3]), WorkDir: v[4], Excluded: null(v[5])}
	}
	return texts, nil
}

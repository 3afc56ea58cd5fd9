package local

import (
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/escala-sched/escala/internal/world"
)

// account is who a job runs as.
type account struct {
	name, home, shell string
}

// environ makes the environment of a run: a small one, then the job's own, then what is not the
// job's to say.
func (m *machine) environ(o *world.Order, p *Payload, t *ticket, dir string, a account) []string {
	env := map[string]string{"PATH": m.opts.Path, "HOME": a.home, "USER": a.name, "LOGNAME": a.name, "SHELL": a.shell, "LANG": "C.UTF-8"}
	maps.Copy(env, p.Env)
	maps.DeleteFunc(env, func(k, _ string) bool { return strings.HasPrefix(k, "ESCALA_") })
	set := func(k, v string) { env["ESCALA_"+k] = v }
	set("RUN", t.Mark)
	set("JOB_ID", o.ID)
	set("JOB_NUMBER", strconv.Itoa(int(o.Job)))
	set("ATTEMPT", strconv.Itoa(int(o.Attempt)))
	set("NODE", m.node.Name)
	set("UNALLOCATED", strconv.FormatBool(o.Unallocated))
	set("CHECKPOINT_DIR", t.Checkpoint)
	set("REASON_FILE", dir+"/"+reasonFile)
	set("PROTECTED_UNTIL", "")
	set("PROTECTED_UNTIL_UNIX", "")
	if !o.Protected.IsZero() {
		set("PROTECTED_UNTIL", o.Protected.UTC().Format(time.RFC3339))
		set("PROTECTED_UNTIL_UNIX", strconv.FormatInt(o.Protected.Unix(), 10))
	}
	if i := strings.LastIndexByte(o.ID, '_'); i > 0 {
		if _, err := strconv.ParseUint(o.ID[i+1:], 10, 31); err == nil {
			set("ARRAY_INDEX", o.ID[i+1:])
		}
	}
	if o.Tasks > 0 {
		set("TASKS", strconv.Itoa(int(o.Tasks)))
	}
	grace := m.opts.Grace
	if o.Spec != nil {
		set("USER", o.Spec.User)
		set("TEAM", o.Spec.Team)
		for k, v := range o.Spec.Labels {
			if name := labelName(k); name != "" && !strings.ContainsRune(v, 0) {
				set("LABEL_"+name, v)
			}
		}
		if g := o.Spec.Contract.Grace; g > 0 {
			grace = time.Duration(g) * time.Millisecond
		}
	}
	set("GRACE_SECONDS", strconv.FormatInt(int64(grace/time.Second), 10))
	m.environGPUs(env, o)
	list := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		list = append(list, k+"="+env[k])
	}
	return list
}

// environGPUs names the GPUs of a run: by their UUIDs where they are real, since indices may
// mean other devices to CUDA than to the driver.
func (m *machine) environGPUs(env map[string]string, o *world.Order) {
	var names []string
	milli := int32(1000)
	for i := range o.Place {
		for set := o.Place[i].GPUs; set != 0; set &= set - 1 {
			names = append(names, m.gpus[bits.TrailingZeros64(set)].visible())
		}
		if o.Place[i].GPUs != 0 {
			milli = o.Place[i].Milli
		}
	}
	env["ESCALA_GPUS"] = strconv.Itoa(len(names))
	if milli != 1000 && milli != 0 {
		env["ESCALA_GPU_MILLI"] = strconv.Itoa(int(milli))
	}
	env["CUDA_VISIBLE_DEVICES"] = strings.Join(names, ",")
	env["NVIDIA_VISIBLE_DEVICES"] = strings.Join(names, ",")
	if len(names) == 0 {
		env["NVIDIA_VISIBLE_DEVICES"] = "void" // empty would mean all to some container runtimes
	}
}

// labelName is a label's key as part of a variable's name: letters and digits in capitals, the
// rest as underscores.
func labelName(key string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, key)
}

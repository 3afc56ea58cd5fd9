package slurmworld

import (
	"context"
	"fmt"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
)

// rate bounds the calls that slurmctld gets, whatever they are for. What has to be read is read, and what is to be
// changed waits for what that leaves.
type rate struct {
	// most calls a second. They may come together, as many as in two seconds, and in any case those of two looks.
	most   float64
	tokens float64
	at     time.Time
	// slower: both looks and changes are halved so many times, since slurmctld is busy.
	slower int
	// asked is when slurmctld was last asked how busy it is, stay until when nothing is made faster.
	asked time.Time
	// took is how long the slowest read took since then.
	took time.Duration
}

func newRate(most int, now time.Time) rate {
	return rate{most: float64(most), tokens: float64(most), at: now, asked: now}
}

func (r *rate) refill(now time.Time) {
	most := r.most / float64(int(1)<<r.slower)
	r.tokens = min(r.tokens+now.Sub(r.at).Seconds()*most, max(2*most, 2*callsOfALook))
	r.at = now
}

// token takes one, if there is one.
func (r *rate) token(now time.Time) bool {
	if r.refill(now); r.tokens < 1 {
		return false
	}
	r.tokens--
	return true
}

// spend is for calls that do not wait; others wait for them.
func (r *rate) spend(now time.Time, calls int) {
	r.refill(now)
	r.tokens -= float64(calls)
}

// What the tools ask of slurmctld, as it counts them (sdiag, 22.05): with each list of jobs or nodes goes that of partitions.
const (
	callsOfALook   = 4
	callsOfTexts   = 2
	callsOfAnEnd   = 3
	callsOfASignal = 4
)

// looks is how long to wait for the next look: wish is as configured, or as soon as something is expected. Looks never take
// more than half of the calls.
func (r *rate) looks(wish time.Duration) time.Duration {
	most := r.most / float64(int(1)<<r.slower)
	wait := max(wish<<r.slower, time.Duration(2*callsOfALook/most*float64(time.Second)))
	if r.tokens < callsOfALook { // spent on what could not wait
		wait = max(wait, time.Duration((callsOfALook-r.tokens)/most*float64(time.Second)))
	}
	return wait
}

const (
	// askEvery is how often slurmctld is asked how busy it is.
	askEvery = 15 * time.Second
	// mostSlower is at a sixteenth.
	mostSlower = 4
	// manyThreads and manyMessages are what slurmctld has at work, and has to send, when it falls behind: it serves no more
	// than 256 calls at once.
	manyThreads  = 64
	manyMessages = 500
	// slowRead is a look that took too long, whatever slurmctld says.
	slowRead = 5 * time.Second
)

// busy says how slurmctld is behind, "" = it is not.
func busy(d *slurm.Diag, took time.Duration) string {
	switch {
	case d != nil && d.ServerThreads >= manyThreads:
		return fmt.Sprintf("it serves %d calls at once", d.ServerThreads)
	case d != nil && d.AgentQueue >= manyMessages:
		return fmt.Sprintf("%d messages to nodes wait", d.AgentQueue)
	case took >= slowRead:
		return fmt.Sprintf("a look took %s", took.Round(100*time.Millisecond))
	}
	return ""
}

// adapt goes slower by one step while slurmctld is busy, and faster by one once it is not. It tells whether it changed.
func (r *rate) adapt(why string) bool {
	switch {
	case why != "" && r.slower < mostSlower:
		r.slower++
	case why == "" && r.slower > 0:
		r.slower--
	default:
		return false
	}
	r.tokens = min(r.tokens, r.most/float64(int(1)<<r.slower))
	return true
}

// easeOff asks from time to time how busy slurmctld is, and goes by it.
func (w *World) easeOff(ctx context.Context) {
	now := w.opts.Now()
	if now.Sub(w.rate.asked) < askEvery {
		return
	}
	w.spend(1)
	d, err := w.opts.Slurm.Diag(ctx)
	if err != nil {
		w.log.Warn("how busy slurmctld is cannot be read", "err", err)
	}
	why := busy(d, w.rate.took)
	if w.rate.adapt(why) {
		w.log.Info("slurmctld is asked less, or more again", "why", why, "a look each", w.rate.looks(w.opts.Poll).Round(time.Millisecond), "calls a second", w.rate.most/float64(int(1)<<w.rate.slower))
	}
	w.rate.asked, w.rate.took = now, 0
}

// token tells whether one more job may be changed now.
func (w *World) token() bool {
	ok := w.rate.token(w.opts.Now())
	w.soon = w.soon || !ok
	return ok
}

func (w *World) spend(calls int) { w.rate.spend(w.opts.Now(), calls) }

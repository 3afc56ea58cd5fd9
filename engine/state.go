package engine

import (
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/workload"
)

// state of a job (SEMANTICS 6).
type state uint8

const (
	absent   state = iota // number not submitted yet
	blocked               // waits for a dependency
	waiting               // in the queue
	claiming              // holds a place while its victims leave
	starting              // told to start
	running               // confirmed
	stopping              // told to stop
	refused               // can never run here
	stuck                 // its dependency can never be satisfied
	parked                // an idle session without GPUs, until its owner is back
	onHold                // kept out of the queue by its holds
	ended
)

// job is what the engine knows of a job beside its declaration.
type job struct {
	spec  *workload.Job
	state state
	// outcome of an ended job.
	outcome workload.Outcome
	// leaving: chosen as a victim in the present decision.
	leaving bool
	// tentative: started in the present decision, not yet committed.
	tentative bool
	// up: the present start was confirmed.
	up bool
	// cancel: withdrawn while it ran; to be stopped.
	cancel bool
	// holds has bit h set for each [fact.HoldBy] h that keeps it out of the queue.
	holds   uint8
	class   int32
	attempt int32
	// runs counts the starts that came true.
	runs int32
	pool int32
	// tasks of the present start, 0 = as the need says.
	tasks int32
	// deps is the number of dependencies not yet satisfied.
	deps int32
	// at is its place in the pool's list of running jobs.
	at int32
	// milli is the capacity it occupies.
	milli  int64
	grants []cluster.Grant
	// since is the time of the start (action, then confirmation), or of entering the queue.
	since workload.Time
	// work is the time since which the present run makes progress (after restarting).
	work workload.Time
	// end is the predicted end of the present run.
	end workload.Time
	// est is the predicted run time in all.
	est workload.Span
	// kept is the work that is safe, attained the milli-GPU x ms had in ended runs.
	kept     workload.Span
	attained int64
	// promised is the date of its reservation, where dated says that it has one.
	promised workload.Time
	dated    bool
}

// class is the waiting jobs of equal need (and, under time-dependent orders, of
// equal inputs to the order): what refuses one refuses all.
type class struct {
	shape *place.Shape
	root  int32
	// head is the first waiting job; cur the next one to look at within a decision.
	head, cur int32
	n         int32
	// at is its place in the list of classes with waiting jobs.
	at int32
	// never: the empty cluster could not hold it.
	never bool
	// spare: its jobs are never stopped once they run; capped is the place of its team
	// in the team limit, none if the limit does not concern it.
	spare  bool
	capped int32
	// short: within this decision only jobs that run for slack at most may start: to
	// the latest reservation of the pools in which it fits.
	short  bool
	slack  workload.Span
	reason fact.Reason
	// leaf, span and fill: see classKey. inLeaf is its place in the leaf's list.
	leaf, inLeaf int32
	// lane is the part of the cluster that it waits for; seats are those of a class that
	// may run in several, whole its shape in all of them: within a decision shape is that
	// in the lane looked at.
	lane  int32
	seats []seat
	whole *place.Shape
	// inStraddlers is its place in the list of such classes with waiting jobs.
	inStraddlers int32
	// view says which windows keep its jobs off, none if no window does.
	view int32
	// group is the place of its group in the leaf's list.
	group int32
	// self is the class's own number; fresh: it had no waiting jobs at the last decision.
	self  int32
	span  workload.Span
	fill  bool
	fresh bool
	// session: an interactive one, whose protection may be renewed.
	session bool
	// known is what is remembered of its shape, under shares.
	known *knownShape
	// key of cur under a time-dependent order, computed at keyAt.
	key   [maxTerms]int64
	keyAt workload.Time
	keyOf int32
}

// poolState is what runs in a pool.
type poolState struct {
	running []int32
	// ends lists the running jobs by predicted end; kept only for policies that predict.
	ends []ending
	// sizes are the same by size; kept only for remaining-time preemption.
	sizes []sizeGroup
	// odd are the running jobs that sizes leaves out: their time is not their work.
	odd []int32
}

// sizeGroup is the running jobs of one size, by predicted end.
type sizeGroup struct {
	milli int64
	ends  []ending
}

type ending struct {
	at  workload.Time
	job int32
}

// claim is a place kept for a job whose victims are still leaving.
type claim struct {
	job, pool int32
	grants    []cluster.Grant
	// missing[i] are the GPUs of grants[i] that are not free yet; lack is the same in
	// milli-GPU on a cluster without nodes.
	missing []uint64
	lack    int64
	// parts are what is free of GPUs whose other parts are still in use, kept from others.
	parts []cluster.Grant
	ready bool
	milli int64
	// got is what it has gathered so far: kept free from everybody else.
	got   int64
	tasks int32
	// lost: it can no longer come true.
	lost bool
	// adopted: the job runs there already, so that nothing can come between ([fact.JobAdopted]).
	adopted bool
}

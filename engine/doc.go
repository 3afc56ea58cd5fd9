// Package engine decides: which job starts where, who gives way, who is promised
// what. It is a pure state machine. [Engine.Apply] takes facts, [Engine.Commit]
// takes the actions the caller has written down, [Engine.Decide] reads the state
// and returns actions with typed reasons and the time at which it wants to be
// asked again. No clock, no I/O, no goroutine, no randomness, no map iteration:
// the same facts give the same actions, bit for bit, in every world.
//
// # How a decision costs what changed, not what exists
//
// Waiting jobs with equal needs form a class, kept in order in a treap; what
// refuses one refuses all. A decision merges the heads of the classes through a
// small heap, refuses by counting (package place), and remembers a refusal until
// capacity grows. So a decision costs O(classes + starts x log waiting), whatever
// the length of the queue.
//
// # Decide is read-only
//
// A decision of several starts tries them one after another on the real indexes
// and takes all of it back before it returns. The caller journals the actions,
// commits them, then sends them.
//
// # Where things are
//
// engine.go takes facts in, commit.go actions; state.go is what is known of a job,
// class.go and queue.go what waits, in the order of order.go. decide.go is a decision:
// starts, with easy.go (one date), plan.go (many), las.go and preempt.go (who gives way)
// and limit.go. explain.go and account.go answer why.
//
// Files that begin with share_ are budgets, fair share and contracts. A decision is in
// share.go: it stops what has to go (share_stop.go), serves dates that have come
// (share_date_due.go), walks the tree (share_walk.go) over work to be charged
// (share_work.go), then over unallocated work (share_fill.go). Work is counted first
// (share_look.go), paid for (share_pay.go), kept off the places of dates (share_bars.go),
// placed (share_place.go); else room is made for it (share_room.go) from those whom the
// guard lets go (share_guard.go, share_ranks.go) at the least price (share_price.go,
// share_clear_*.go); else it gets a date (share_date.go) that is certain
// (share_date_certain.go). All of that goes lane by lane where budgets have pools
// (share_lane.go). share_state.go is the state, share_charge.go charges it,
// share_ends.go knows when protections end, share_budgets.go changes the tree,
// share_session.go knows who sits idle.
//
// Files that begin with window are maintenance and reservations: window.go sets them and files
// waiting jobs by who may run where, window_veil.go hides nodes from those whom they keep off,
// window_stop.go has runs leave in time, window_date.go and window_plan.go keep dates and plans
// off them.
//
// Files that begin with horizon are plans of the next hours: horizon.go decides, on the row of
// horizon_row.go, by the problem of horizon_problem.go with the blocks of horizon_block.go,
// real-time applications of horizon_service.go and known outages of horizon_maintenance.go;
// horizon_stop.go interrupts, horizon_proposed.go follows plans made elsewhere, outlook.go
// shows it all to others.
package engine

// Package budget says who is owed how much of a cluster: a tree of shares that an
// organisation writes down once (organisation, programs, projects, researchers),
// read strictly from YAML, and the exact accounts kept for it.
//
//   - [Tree] is the file: shares, managers, users, hard budgets, credits.
//   - [Ledger] knows what each account was charged inside a sliding window, and
//     what it will be charged for work that is protected.
//   - [Accounts] keeps the hard budgets: GPU-hours by the month, credits, carry-over.
//   - [Owed] sums up, hour by hour, what each account was owed and what it got.
//
// Time is int64 milliseconds of the workload's clock, GPU-time is int64 milli-GPU x
// ms: one GPU-hour is [GPUHour]. Shares are compared by cross-multiplication in 128
// bits; no float decides anything. Nothing here asks a clock, draws at random or
// depends on the order of a map: the same calls give the same numbers.
//
// Source of the idea, and of "owed": Ai2, "Impactful scheduling for GPU clusters",
// 2026. docs/budgets.md defines every key and every number.
package budget

import "github.com/escala-sched/escala/workload"

// GPUHour is one GPU for one hour, in milli-GPU x ms.
const GPUHour = 1000 * workload.Hour

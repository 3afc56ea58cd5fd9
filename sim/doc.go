// Package sim is the simulated world: a virtual clock that turns the engine's
// actions into effects and effects into facts. Jobs progress, checkpoint, fail
// and restart; nodes fail, drain and come back. The engine that decides here is
// the one that decides in production.
package sim

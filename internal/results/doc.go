// Package results writes what came of a simulation to files that other programs
// read: one row per job, and the run over time, as CSV or Parquet.
// docs/results.md is the reference of their columns.
package results

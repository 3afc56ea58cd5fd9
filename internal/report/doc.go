// Package report renders a comparison of policies: a table for the terminal,
// JSON and CSV for scripts, one self-contained HTML page for people, and typed
// reasons as sentences. All renderings read one model, [Comparison], and one
// list of figures, so that they cannot disagree.
package report

// Package versus says how a scheduler in shadow and the one that really runs the jobs differ. It
// reads the shadow's journal, in which both are: what was decided as facts and actions, what
// really happened as observations. docs/metrics.md defines each number.
package versus

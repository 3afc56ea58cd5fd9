// Package webhook tells other programs what becomes of jobs: CloudEvents 1.0 in JSON, POSTed to
// URLs that the operator configures. docs/observability.md describes them for receivers.
//
// # At least once
//
// The queue is the journal. A hook remembers, in a document of the store, up to which batch it
// has told everything, and goes on from there after a restart. An event is told again if the process ended
// between its delivery and that; its ID, batch:line, is the same then. What a receiver does not
// take is tried again for a day, and then given up, counted and logged.
//
// Nothing here is done by the loop: it only rings a bell.
package webhook

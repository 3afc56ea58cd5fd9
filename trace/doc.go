// Package trace brings other people's job logs in and workloads out: one file
// per format, a registry that recognises them by content, and the tools that go
// with a log (describe, anonymize, resample, generate).
//
// A reader never repairs silently. In the project's own formats (csv, escala) a
// row that is wrong is an [*Error] naming file and line. In a foreign log it is
// dropped and counted by cause in [workload.Workload.Dropped]; what the reader
// had to assume stands in [workload.Workload.Notes]. For every reader but escala,
// rows read = jobs + rows dropped.
//
// Units of the formats differ (seconds, milliseconds, microseconds, calendar
// times); docs/trace-formats.md says how each is mapped.
package trace

// Package services reads real-time applications from a YAML file and puts them among
// the jobs of a workload (docs/services.md). An application is a number of GPUs over
// time: given in steps, as a profile of a day or a week, or as a log of requests that
// each take a part of a GPU.
//
// It becomes a job: a gang of as many single GPUs as its highest demand, which runs
// for the application's whole life. That is what a policy holds that does not follow
// demand; what it really needs when stands in [workload.Service].
//
// Package cli calls it with the workload that a command line names.
package services

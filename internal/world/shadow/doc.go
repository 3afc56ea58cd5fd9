// Package shadow is a world in which nothing is done: what is decided comes true at once, on
// paper. Reality is another scheduler that runs the same jobs, and is told of as it goes
// ([world.Watcher]). A shadow run lasts as long as the job really ran, whenever that was; as
// long as that is not known, as long as the job says, which is a guess:
//
//   - The real run has ended: the shadow run has the same length, and the same outcome. One that
//     has lasted longer by then ends at once.
//   - The real run goes on, and began no later than the shadow run, give or take [Near]: its end is
//     waited for, since it will have come by the time that it is needed.
//   - Otherwise the shadow run is ahead of reality. It ends by the job's estimate, else its limit,
//     else after [Unsaid].
//
// What earlier runs of the job have done counts. A run that is told to stop leaves when its grace
// is over. The world remembers nothing: it is made again from what the journal believes.
package shadow

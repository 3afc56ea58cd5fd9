// Package highs solves linear and mixed-integer models with HiGHS, in this process
// and without cgo: HiGHS compiled to WebAssembly, run by wazero's compiler.
//
// The solver is part of a build with the tag "highs" alone, on 64-bit x86 and ARM;
// "make highs" fetches the file it embeds. Everywhere else [Available] and [New]
// say why not, and nothing of wazero is linked in.
//
// Every Solve runs in an instance of its own, made in a few milliseconds and thrown
// away: what was solved before changes nothing, a solve that crashes takes nothing
// along, its memory (at most 2 GiB) is given back, and solves may run side by side.
// HiGHS uses one thread, and its search depends on the model and options alone. Of
// the limits, only those of time make results differ between runs.
//
// HiGHS reads its clock every 20 microseconds to half a millisecond, on large models
// now and then after seconds; that is how soon limits and contexts are seen. Between
// two reads Go's scheduler cannot stop the solve either: a garbage collection in
// the same process waits that long, and everybody with it.
//
// The file comes from the npm package highs. It is under the MIT licence, whose text,
// LICENSE.highs, has to go along with binaries that embed it.
package highs

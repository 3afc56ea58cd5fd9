// Package celexpr compiles order terms written in CEL, the Common Expression
// Language: typed, without loops, and bounded in cost.
//
// It stands apart from package policy so that only programs that offer
// expressions link CEL; those set policy.CompileExpr = celexpr.Compile. Nothing
// is set up before the first call of [Compile].
//
// Every number is a double: variables are, and whole numbers in the text are
// read as doubles, so that "2 * job.gpus" needs no conversion. Loops over labels
// (all, exists, map, filter) are left out of the language; what is left costs
// time in proportion to its length.
package celexpr

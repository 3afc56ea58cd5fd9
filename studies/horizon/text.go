package main

const intro = `# Study: one plan for batch work and real-time demand

The [horizon planner](../horizon.md) against first come, first served with every real-time
application holding its peak, against the best plans known, and against its own bound.

    $ go run -tags highs ./studies/horizon --scenarios DIR --curves DIR --batch philly.csv.gz

The scenarios were made for this study and are not part of the repository; the curves are those of
[ServeGen](https://github.com/alibaba/ServeGen) (Apache-2.0; requests per second of all clients, in windows of ten minutes), the jobs those of
[Philly](https://github.com/msr-fiddle/philly-traces) (CC-BY-4.0). The figures are in [horizon.json](horizon.json); ` + "`--from docs/studies/horizon.json`" + ` writes this page from them.
Fast mode and the week give the same figures on every machine. Full mode has a budget of time.

`

const method = `## What ran

Scenarios are horizons of 24 hours with 8 to 64 GPUs, 5 to 60 jobs and none to three real-time
applications: seven rebuilt from the published description, 25 drawn at random. They were
made without looking at any planner but FIFO. *Utilisation* is batch GPU-steps and real-time
GPU-steps up to the demand, over all; *value* the sum of priority x decay; the *objective* is value less the
penalty for demand that is not met. Every plan was checked by the independent checker.

`

const sevenText = `Utilisation in % / value (without the penalty for demand that is not met; the bound is one of the objective, which has it). FIFO is the baseline of the publication: strict (nobody starts before the one
ahead), skip (what fits starts), grid (each job in turn gets the first free place in time).

`

const publishedText = `Beside the publication, whose workloads are not public: these files meet its FIFO figures to half a point of utilisation (or
52 to 85 % where it gives none) with other jobs. It reports +24.6 % to +105.1 % value on its five contended scenarios, +52 % on average.

`

const differText = `Where ours differ, and why. *Value over strict FIFO* is larger in most files: strict FIFO leaves out whatever finds no place behind the one ahead,
and in these files that is worth much; over the kinder baselines (skip, grid) the gains are nearer to the published range. *Utilisation on
training-heavy* ends at 80 % and not at 87 %: the plan is proven to be the best for its objective, so that more of the GPU-steps in use would have to be
less valuable ones. *The scale test* is not contended, there as here: every order runs all that can run, and what strict FIFO loses it loses by waiting behind
one job. *Mixed control* comes out far higher (96 % against 72 %): real-time work is moved into one half of the eight GPUs, and the other half
is a block of four all day.

`

const allText = `The best known before are from exact solvers and long searches that were made for these files. "Full below it" is
negative where full mode found a better plan. A gap is what the bound leaves open, "proven" that it leaves nothing.

`

const readingsText = `Change of the objective against the default reading, 4,000 decodes. Scenarios whose running jobs break the other
reading are left out.

`

const weekText = `Philly's jobs of 30 October to 12 November 2017, all its virtual clusters on one cluster of 64 nodes of 8 GPUs, beside
two services that follow ServeGen's request rates over 14 days ([services.yaml](../../studies/horizon/services.yaml)). The first week fills the
cluster, figures are over the second. All but ` + "`horizon`" + ` hold the peak of each service all the time. ` + "`horizon`" + ` plans anew whenever
something happens and each half hour, with running work pinned; its forecast of demand is
the true one, or one with errors of 10 or 30 % (standard deviation; neighbouring values err alike). Run times are known, or wrong as Helios's predictor is.

`

const weekAfter = `Reading it: *served occupancy* counts batch work and the real-time GPUs that met a demand, so that GPUs reserved for a
peak that is not there count as what they are. *Demand not met* is by GPU-time; *hours short* have any lack at all.
Jobs have no priorities in this trace, so value is GPU-hours of batch work. What ` + "`horizon`" + ` plans for is the value of GPU time, and that is where it is
best; it does not plan for short waits. With wrong run times ` + "`conservative`" + ` lets most jobs wait the least, since it fills the holes that early ends
leave with short jobs, and pays for it with 12 points of served occupancy.

`

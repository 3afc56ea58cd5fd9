// Package slurmhist makes a workload and a cluster of a site's Slurm history: of its accounting
// (sacct), of what scontrol, sinfo and sacctmgr say of nodes, partitions, QOS, events and
// associations. What the engine cannot model is left out or simplified, and each cause is
// counted. Then it replays the history under the policy that Slurm ran, as far as that can be
// modelled, and says how far the replay is from what happened. docs/slurm-history.md is for users.
//
// Nothing here changes anything at Slurm's: all that is asked of it is to show.
package slurmhist

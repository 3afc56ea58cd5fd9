package slurm

import (
	"slices"
	"strings"
)

// environment is what the tools get to see of ours: none of the variables by which people set options of theirs.
// SQUEUE_PARTITION would hide jobs, SQUEUE_ARRAY show them in another way, SCANCEL_STATE spare some, SLURM_CLUSTERS
// ask another cluster. What says where slurmctld is and who we are stays (SLURM_CONF, SLURM_JWT).
func environment(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(kv string) bool {
		for _, tool := range []string{"SQUEUE_", "SINFO_", "SCONTROL_", "SCANCEL_", "SDIAG_", "SACCT_", "SACCTMGR_", "SBATCH_", "SLURM_CLUSTERS="} {
			if strings.HasPrefix(kv, tool) {
				return true
			}
		}
		return false
	})
}

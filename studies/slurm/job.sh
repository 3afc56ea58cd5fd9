#!/bin/bash
# job.sh DIR SECONDS: sleeps that long in all, over however many runs. It says when each run began, and keeps what is left
# when it is told to stop. It starts no process but sleep: hundreds of these share a small machine.
kept=$1/$SLURM_JOB_ID
left=$(($2 * 1000000))
[ -e "$kept" ] && read -r left <"$kept"
began=${EPOCHREALTIME/[.,]/}
echo "$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} $began" >>"$1/starts"
save() {
	left=$((left - ${EPOCHREALTIME/[.,]/} + began))
	echo $((left > 0 ? left : 0)) >"$kept"
	exit 143
}
trap save TERM
printf -v seconds '%d.%06d' $((left / 1000000)) $((left % 1000000))
sleep "$seconds" &
wait $!

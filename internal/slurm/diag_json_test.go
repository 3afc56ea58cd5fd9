package slurm

import (
	"testing"
	"time"
)

func TestDiagOfReleases(t *testing.T) {
	for release, text := range map[string]string{
		"21.08, 22.05": `{"errors":[],"statistics":{"req_time":1796039231,"req_time_start":1796038597,"server_thread_count":3,"jobs_pending":17,"schedule_cycle_last":69531,"schedule_cycle_mean":57697,"schedule_cycle_mean_depth":3342,
			"schedule_cycle_total":286,"bf_cycle_mean":3567062,"bf_cycle_counter":48,"bf_depth_mean":149,"bf_queue_len":10063,"rpcs_by_message_type":[{"message_type":"REQUEST_PING","type_id":1008,"count":2,"average_time":770,"total_time":1540}],
			"rpcs_by_user":[{"user":"ana","user_id":7,"count":3,"average_time":1,"total_time":3}]}}`,
		"23.11 .. 25.05": `{"errors":[],"warnings":[],"statistics":{"req_time":{"set":true,"infinite":false,"number":1796039231},"req_time_start":{"set":true,"infinite":false,"number":1796038597},"server_thread_count":3,"jobs_pending":17,
			"schedule_cycle_last":69531,"schedule_cycle_mean":57697,"schedule_cycle_mean_depth":3342,"schedule_cycle_total":286,"schedule_exit":{"end_job_queue":1},"bf_cycle_mean":3567062,"bf_cycle_counter":48,"bf_depth_mean":149,"bf_queue_len":10063,
			"rpcs_by_message_type":[{"message_type":"REQUEST_PING","type_id":1008,"count":2,"queued":0,"average_time":{"set":true,"infinite":false,"number":770},"total_time":1540}],
			"rpcs_by_user":[{"user":"ana","user_id":7,"count":3,"average_time":{"set":true,"infinite":false,"number":1},"total_time":3}],"pending_rpcs":[]}}`,
	} {
		d, err := DecodeDiag([]byte(text))
		if err != nil || d.At.Unix() != 1796039231 || d.Since.Unix() != 1796038597 || d.ServerThreads != 3 || d.Pending != 17 || d.Main.Last != 69531*time.Microsecond || d.Main.Count != 286 || d.Main.Depth != 3342 ||
			d.Backfill.Mean != 3567062*time.Microsecond || d.Backfill.Queue != 10063 || d.Calls["REQUEST_PING"] != (Calls{2, 770 * time.Microsecond, 1540 * time.Microsecond}) || d.Users["ana"].Count != 3 {
			t.Errorf("%s: %+v, %v", release, d, err)
		}
	}
	for _, bad := range []string{"", "{}", `{"statistics":{}}`, `{"statistics":[]}`, `{"statistics":null}`} {
		if d, err := DecodeDiag([]byte(bad)); err == nil {
			t.Errorf("%q is taken for %+v", bad, d)
		}
	}
}

func FuzzDiag(f *testing.F) {
	f.Add([]byte(`{"statistics":{"req_time":{"set":true,"number":17},"bf_cycle_mean":"5","rpcs_by_user":[{"user":"x","count":-1},3]}}`))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = DecodeDiag(b) })
}

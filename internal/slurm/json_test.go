package slurm

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var jsonNow = time.Unix(1_800_000_000, 0)

// versions spell the same job as different releases do.
var versions = []struct{ release, job string }{
	{"21.08, 22.05", `{"meta":{"plugin":{"type":"openapi/v0.0.38"}},"errors":[],"jobs":[{"job_id":31,"array_job_id":26,"array_task_id":5,"array_task_string":"","het_job_id":0,"het_job_offset":0,
		"name":"a name","user_name":"ana","user_id":1000,"account":"nlp","qos":"normal","partition":"train,scav","job_state":"COMPLETING","state_reason":"None","state_description":"","submit_time":1796094000,"eligible_time":1796094000,
		"start_time":1796094438,"end_time":1796098038,"time_limit":60,"nodes":"n[1-2]","required_nodes":"","excluded_nodes":"n9","features":"a100|h100","licenses":"","resv_name":"","node_count":2,"max_nodes":0,"tasks":2,"cpus":8,
		"cpus_per_task":4,"tres_per_job":"","tres_per_node":"gres:gpu:a100:4","tres_per_socket":"","tres_per_task":"","shared":"none","dependency":"","priority":4294967295,"nice":null,"restart_cnt":1,"requeue":true,"batch_flag":true,
		"comment":"escala:min-runtime=2h","admin_comment":"","memory_per_node":512,"memory_per_cpu":null,"exit_code":768,"tres_alloc_str":"cpu=8,gres/gpu=8","gres_detail":["gpu:a100:4(IDX:0-3)","gpu:a100:4(IDX:4-7)"],
		"job_resources":{"nodes":"n[1-2]"},"command":"/x.sh","current_working_directory":"/home/ana"}]}`},
	{"23.02", `{"meta":{"plugin":{"type":"openapi/v0.0.39"}},"errors":[],"jobs":[{"job_id":31,"array_job_id":{"set":true,"infinite":false,"number":26},"array_task_id":{"set":true,"infinite":false,"number":5},"array_task_string":"",
		"het_job_id":{"set":true,"infinite":false,"number":0},"het_job_offset":{"set":true,"infinite":false,"number":0},"name":"a name","user_name":"ana","user_id":1000,"account":"nlp","qos":"normal","partition":"train,scav",
		"job_state":"COMPLETING","state_reason":"None","state_description":"","submit_time":1796094000,"eligible_time":1796094000,"start_time":1796094438,"end_time":1796098038,"time_limit":{"set":true,"infinite":false,"number":60},
		"nodes":"n[1-2]","required_nodes":"","excluded_nodes":"n9","features":"a100|h100","licenses":"","resv_name":"","node_count":{"set":true,"infinite":false,"number":2},"max_nodes":{"set":true,"infinite":false,"number":0},
		"tasks":{"set":true,"infinite":false,"number":2},"cpus":{"set":true,"infinite":false,"number":8},"cpus_per_task":{"set":true,"infinite":false,"number":4},"tres_per_job":"","tres_per_node":"gres:gpu:a100:4","tres_per_socket":"",
		"tres_per_task":"","shared":["none"],"dependency":"","priority":{"set":true,"infinite":false,"number":4294967295},"nice":0,"restart_cnt":1,"requeue":true,"batch_flag":true,"comment":"escala:min-runtime=2h","admin_comment":"",
		"memory_per_node":{"set":true,"infinite":false,"number":512},"memory_per_cpu":{"set":false,"infinite":false,"number":0},"exit_code":{"set":true,"infinite":false,"number":768},"tres_alloc_str":"cpu=8,gres/gpu=8",
		"gres_detail":["gpu:a100:4(IDX:0-3)","gpu:a100:4(IDX:4-7)"],"command":"/x.sh","current_working_directory":"/home/ana"}]}`},
	{"23.11 .. 25.05", `{"meta":{"plugin":{"data_parser":"data_parser/v0.0.42"}},"errors":[],"warnings":[],"jobs":[{"job_id":31,"array_job_id":{"set":true,"infinite":false,"number":26},"array_task_id":{"set":true,"infinite":false,"number":5},
		"array_task_string":"","het_job_id":{"set":true,"infinite":false,"number":0},"het_job_offset":{"set":true,"infinite":false,"number":0},"name":"a name","user_name":"ana","user_id":1000,"account":"nlp","qos":"normal",
		"partition":"train,scav","job_state":["RUNNING","COMPLETING"],"state_reason":"None","state_description":"","submit_time":{"set":true,"infinite":false,"number":1796094000},"eligible_time":{"set":true,"infinite":false,"number":1796094000},
		"start_time":{"set":true,"infinite":false,"number":1796094438},"end_time":{"set":true,"infinite":false,"number":1796098038},"time_limit":{"set":true,"infinite":false,"number":60},"nodes":"n[1-2]","required_nodes":"",
		"excluded_nodes":"n9","features":"a100|h100","licenses":"","resv_name":"","node_count":{"set":true,"infinite":false,"number":2},"max_nodes":{"set":true,"infinite":false,"number":0},"tasks":{"set":true,"infinite":false,"number":2},
		"cpus":{"set":true,"infinite":false,"number":8},"cpus_per_task":{"set":true,"infinite":false,"number":4},"tres_per_job":"","tres_per_node":"gres/gpu:a100:4","tres_per_socket":"","tres_per_task":"","shared":["none"],"hold":false,
		"dependency":"","priority":{"set":true,"infinite":false,"number":"4294967295"},"nice":0,"restart_cnt":1,"requeue":true,"batch_flag":true,"comment":"escala:min-runtime=2h","admin_comment":"",
		"memory_per_node":{"set":true,"infinite":false,"number":512},"memory_per_cpu":{"set":false,"infinite":false,"number":0},"exit_code":{"status":["ERROR"],"return_code":{"set":true,"infinite":false,"number":3},
		"signal":{"id":{"set":false,"infinite":false,"number":0},"name":""}},"tres_alloc_str":"cpu=8,gres/gpu=8","gres_detail":["gpu:a100:4(IDX:0-3)","gpu:a100:4(IDX:4-7)"],
		"job_resources":{"nodes":{"count":2,"list":"n[1-2]","whole":true}},"command":"/x.sh","current_working_directory":"/home/ana"}]}`},
}

func TestReleasesTellTheSame(t *testing.T) {
	for _, v := range versions {
		jobs, odd, err := DecodeJobs([]byte(v.job))
		if err != nil || len(odd) > 0 || len(jobs) != 1 {
			t.Fatalf("%s: %v, %v", v.release, err, odd)
		}
		j := jobs[0]
		if j.ID != "26_5" || j.Number != 31 || j.Array != 26 || j.Tasks != nil || j.Het != 0 || j.State != Completing || j.User != "ana" || j.UID != 1000 || j.Limit != time.Hour || !slices.Equal(j.Nodes, []string{"n1", "n2"}) ||
			!slices.Equal(j.Partitions, []string{"train", "scav"}) || j.Start.Unix() != 1796094438 || j.NumNodes != 2 || j.NumTasks != 2 || j.NumCPUs != 8 || j.CPUsPerTask != 4 || !j.Exclusive || j.Priority != 1 || j.Nice != 0 ||
			j.Restarts != 1 || !j.Requeue || !j.Batch || j.MaxNodes != 2 || j.MemoryPerNode != 512 || j.MemoryPerCPU != 0 || j.Exit != 3 || j.GPUsOn["n2"].Count != 4 || j.Excluded != "n9" || j.Features != "a100|h100" || j.Name != "a name" ||
			j.Comment != "escala:min-runtime=2h" || j.WorkDir != "/home/ana" {
			t.Errorf("%s: %+v", v.release, j)
		}
		if a, err := j.GPUs(); err != nil || a != (Ask{8, 4, "a100"}) {
			t.Errorf("%s: %+v, %v", v.release, a, err)
		}
	}
}

func TestJSONOfAJobThatWaits(t *testing.T) {
	const text = `{"jobs":[{"job_id":26,"array_job_id":{"set":true,"number":26},"array_task_id":{"set":false,"number":0},"array_task_string":"1-3,7%2","job_state":["PENDING"],"state_reason":"Priority",
		"time_limit":{"set":false,"infinite":true,"number":0},"start_time":{"set":true,"number":0},"priority":{"set":true,"number":0},"shared":[],"exit_code":{"status":["SIGNALED"],"return_code":{"set":false,"number":0},"signal":{"id":{"set":true,"number":9}}}},
		{"job_id":27,"job_state":[]},{"job_id":-1,"job_state":"RUNNING"},{"job_id":28,"job_state":"RUNNING","nodes":"n[1-"}]}`
	jobs, odd, err := DecodeJobs([]byte(text))
	if err != nil || len(jobs) != 1 || len(odd) != 3 {
		t.Fatalf("%+v, %v, %v", jobs, odd, err)
	}
	if j := jobs[0]; j.ID != "26" || !slices.Equal(j.Tasks, []int32{1, 2, 3, 7}) || j.Limit != 0 || !j.Start.IsZero() || !j.Held() || j.Exclusive || j.Exit != 137 {
		t.Errorf("%+v", j)
	}
	for _, bad := range []string{"", "[]", "{}", `{"jobs":7}`, `{"jobs":[7]}`} {
		if _, _, err := DecodeJobs([]byte(bad)); err == nil {
			t.Errorf("taken: %s", bad)
		}
	}
	if _, _, err := DecodeJobs([]byte(`{"errors":[{"error_number":1,"error":"Access/permission denied"}],"jobs":[]}`)); !errors.Is(err, ErrDenied) {
		t.Error(err)
	}
}

func TestJSONOfNodesAndPartitions(t *testing.T) {
	for _, text := range []string{
		`{"nodes":[{"name":"n1","state":"idle","state_flags":["DRAIN","NOT_RESPONDING"],"partitions":["train"],"cpus":64,"real_memory":512000,"gres":"gpu:a100:8","reason":"a fan","active_features":"ib,a","alloc_cpus":2,"alloc_memory":7}]}`,
		`{"nodes":[{"name":"n1","state":["IDLE","DRAIN","NOT_RESPONDING"],"partitions":["train"],"cpus":128,"effective_cpus":64,"real_memory":512000,"gres":"gpu:a100:8","reason":"a fan","active_features":["ib","a"],"alloc_cpus":2,"alloc_memory":7}]}`,
	} {
		nodes, err := DecodeNodes([]byte(text))
		if err != nil || len(nodes) != 1 {
			t.Fatal(err)
		}
		if n := nodes[0]; n.State != "IDLE" || !n.Closed() || !n.Silent() || n.CPUs != 64 || n.Memory != 512000 || n.GPUs.Count != 8 || !slices.Equal(n.Features, []string{"ib", "a"}) || n.CPUsUsed != 2 || n.MemoryUsed != 7 || n.Reason != "a fan" {
			t.Errorf("%+v", n)
		}
	}
	for _, text := range []string{
		`{"partitions":[{"name":"train","flags":["default"],"state":"UP","nodes":"n[1-2]","default_time_limit":60,"max_time_limit":-1,"maximum_nodes_per_job":-1,"min nodes per job":1,"priority_tier":10,"allowed_accounts":"nlp,vision","denied_accounts":"","denied_qos":"low"}]}`,
		`{"partitions":[{"name":"train","partition":{"state":["UP"]},"nodes":{"allowed_allocation":"","configured":"n[1-2]","total":2},"defaults":{"time":{"set":true,"infinite":false,"number":60}},"maximums":{"time":{"set":false,"infinite":true,"number":0},
			"nodes":{"set":false,"infinite":true,"number":0}},"minimums":{"nodes":1},"priority":{"job_factor":1,"tier":10},"accounts":{"allowed":"nlp,vision","deny":""},"qos":{"allowed":"","deny":"low","assigned":""}}]}`,
		`{"partitions":[{"name":"train","nodes":{"configured":"n[1-2]"},"defaults":{"time":{"set":true,"infinite":false,"number":60}},"maximums":{"time":{"set":false,"infinite":true,"number":0},"nodes":{"set":false,"infinite":true,"number":0}},
			"minimums":{"nodes":1},"priority":{"tier":10},"accounts":{"allowed":"nlp,vision","deny":""},"qos":{"allowed":"","deny":"low","assigned":""}}]}`,
	} {
		parts, err := DecodePartitions([]byte(text))
		if err != nil || len(parts) != 1 {
			t.Fatal(err)
		}
		first, last := strings.Contains(text, "flags"), !strings.Contains(text, "state") // see DecodePartitions
		if p := parts[0]; p.Default != first || p.State != "UP" != last || len(p.Nodes) != 2 || p.DefaultTime != time.Hour || p.MaxTime != 0 || p.MaxNodes != Unlimited || p.MinNodes != 1 || p.Tier != 10 || !slices.Equal(p.AllowAccounts, []string{"nlp", "vision"}) || p.DenyAccounts != nil || !slices.Equal(p.DenyQOS, []string{"low"}) {
			t.Errorf("%+v", p)
		}
	}
}

// TestPublishedAnswers reads what a real cluster with accounting answered.
func TestPublishedAnswers(t *testing.T) {
	const dir = "../../../shared/slurm/samples"
	paths, _ := filepath.Glob(dir + "/*.json")
	if len(paths) == 0 {
		t.Skip("no ../shared/slurm/samples: published answers are not read")
	}
	read := map[string]int{}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(p)
		switch {
		case strings.Contains(name, "squeue"), name == "rest37_jobs.json", name == "rest38_jobs.json":
			jobs, odd, err := DecodeJobs(data)
			if err != nil || len(odd) > 0 || len(jobs) == 0 {
				t.Errorf("%s: %d jobs, %v, %v", name, len(jobs), err, odd)
			}
			for _, j := range jobs {
				if _, err := j.GPUs(); err != nil || j.User == "" || j.Name == "" || j.State == Running && len(j.Nodes) == 0 {
					t.Errorf("%s: %+v, %v", name, j, err)
				}
			}
			read["jobs"] += len(jobs)
		case strings.Contains(name, "sinfo"), strings.Contains(name, "nodes"):
			nodes, err := DecodeNodes(data)
			if err != nil || len(nodes) == 0 || nodes[0].GPUs.Count == 0 {
				t.Errorf("%s: %+v, %v", name, nodes, err)
			}
			read["nodes"] += len(nodes)
		case strings.Contains(name, "diag"):
			d, err := DecodeDiag(data)
			if err != nil || d.Pending == 0 || len(d.Calls) == 0 {
				t.Errorf("%s: %+v, %v", name, d, err)
			}
			read["diag"]++
		case strings.Contains(name, "partitions"):
			parts, err := DecodePartitions(data)
			if err != nil || len(parts) != 3 || len(parts[0].Nodes) != 8 {
				t.Errorf("%s: %+v, %v", name, parts, err)
			}
			read["partitions"] += len(parts)
		}
	}
	if read["jobs"] < 20 || read["nodes"] < 8 || read["partitions"] != 3 || read["diag"] != 1 {
		t.Error(read)
	}
	for name, parse := range map[string]func(string) error{
		"a_scontrol_config.txt": func(s string) error { _, err := parseConfig(s); return err },
		"sdiag_10000.txt":       func(s string) error { _, err := parseDiag(s); return err },
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = parse(string(data))
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package trace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBadFiles: every broken file says where it is broken, what is wrong, and
// what would be right.
func TestBadFiles(t *testing.T) {
	tests := map[string]string{
		"csv_short_row.csv":      "csv_short_row.csv:2: row has 6 fields; want 7 as in the header",
		"csv_long_row.csv":       "csv_long_row.csv:2: row has 9 fields; want 7 as in the header",
		"csv_duplicate.csv":      `csv_duplicate.csv:4: job_id "1" appears twice; want a job_id of its own for each row`,
		"csv_word.csv":           `csv_word.csv:2: duration: "ten" is not a number; want for example 90 or 90.5`,
		"csv_negative.csv":       "csv_negative.csv:2: duration: -60 is negative; want 0 or more",
		"csv_negative_gpus.csv":  "csv_negative_gpus.csv:2: gpus: -4 is negative; want 0 or more",
		"csv_part_gpus.csv":      `csv_part_gpus.csv:2: gpus: "2.5" is not a whole number; want for example 8`,
		"csv_nothing.csv":        `csv_nothing.csv:2: job "1": asks for nothing; want gpus, cpu or memory above 0`,
		"csv_no_id.csv":          "csv_no_id.csv:2: job_id is empty; want a name or number",
		"csv_no_submit.csv":      `csv_no_submit.csv:2: submit: "" is not a number; want for example 90 or 90.5`,
		"csv_exponent.csv":       `csv_exponent.csv:2: submit: "1e3" is not a number; want for example 90 or 90.5`,
		"csv_unknown_column.csv": `csv_unknown_column.csv:1: unknown column "runtime"; want columns among ` + strings.Join(csvColumnNames[:], ","),
		"csv_missing_column.csv": "csv_missing_column.csv:1: column duration is missing; want a header such as " + csvExample,
		"csv_column_twice.csv":   "csv_column_twice.csv:1: column gpus appears twice; want each column once",
		"csv_header_only.csv":    "csv_header_only.csv:1: no jobs below the header; want at least one row",
		"csv_empty.csv":          `csv_empty.csv: the file is empty; want one of ` + FormatNames(),
		"csv_part_of_two.csv":    `csv_part_of_two.csv:2: job "1": a part of a GPU (milli 500) needs gpus 1, not 2`,
		"csv_kind.csv":           `csv_kind.csv:2: kind: unknown kind "cooking"; want training, batch-inference, quantization, realtime or interactive`,
		"csv_circle.csv":         `csv_circle.csv: job "2" and "1" wait for each other; dependencies must not form a circle`,
		"csv_after_unknown.csv":  `csv_after_unknown.csv: job "1" waits for "7", which is not in the workload`,
		"csv_quote.csv":          `csv_quote.csv:2: broken quoting: extraneous or missing " in quoted-field; want fields quoted as in RFC 4180: "a ""b"" c"`,
		"csv_utf8.csv":           "csv_utf8.csv:2: bytes that are no UTF-8; want UTF-8 text",
		"csv_huge.csv":           "csv_huge.csv:2: tasks x gpus is too large; want at most 2147483647 GPUs",

		"escala_version.jsonl":       "escala_version.jsonl:1: version 2 of the format; want version 1 (a newer escala reads newer ones)",
		"escala_other.jsonl":         `escala_other.jsonl:1: a file of escala that holds "journal"; want "escala":"workload"`,
		"escala_no_jobs.jsonl":       "escala_no_jobs.jsonl:1: no jobs in the file; want at least one line below the header",
		"escala_unknown_field.jsonl": `escala_unknown_field.jsonl:2: unknown field "gpu"; want one JSON object a line, as in docs/schema/workload.schema.json`,
		"escala_no_submit.jsonl":     `escala_no_submit.jsonl:2: job "a" has no submit_ms; want "submit_ms":0`,
		"escala_no_actual.jsonl":     `escala_no_actual.jsonl:2: job "a" has no actual duration; want "actual":{"duration_ms":60000}`,
		"escala_no_id.jsonl":         `escala_no_id.jsonl:2: job without an id; want "id":"..."`,
		"escala_type.jsonl":          `escala_type.jsonl:2: cannot unmarshal string into Go struct field escalaJob.gpus of type int32; want one JSON object a line, as in docs/schema/workload.schema.json`,
		"escala_duplicate.jsonl":     `escala_duplicate.jsonl:3: id "a" appears twice; want an id of its own for each job`,
		"escala_negative.jsonl":      `escala_negative.jsonl:2: "actual" has a length of time of -1 ms; want 0 to 9e15 ms`,
		"escala_trailing.jsonl":      "escala_trailing.jsonl:2: more text behind the object; want one JSON object a line, as in docs/schema/workload.schema.json",
		"escala_cut.jsonl":           "escala_cut.jsonl:2: unexpected EOF; want one JSON object a line, as in docs/schema/workload.schema.json",
		"escala_need.jsonl":          `escala_need.jsonl:2: job "a": a part of a GPU (milli 500) needs gpus 1, not 2`,
		"escala_after.jsonl":         `escala_after.jsonl: job "a" waits for "b", which is not in the workload`,

		"escala_service_no_demand.jsonl": `escala_service_no_demand.jsonl:2: service of "a" has no demand; want "demand":{"step_ms":3600000,"gpus":[4,8]}`,
		"escala_service_need.jsonl":      `escala_service_need.jsonl:2: service of "a": its job asks for 2 GPUs; want tasks (its highest demand) with "gpus":1, so that each GPU may come and go alone`,
		"escala_service_step.jsonl":      `escala_service_step.jsonl:2: demand of "a": a curve with steps of 0 ms; want step_ms above 0 and gpus of 0 or more`,
		"escala_service_negative.jsonl":  `escala_service_negative.jsonl:2: min of "a": value 1 of a curve is -1 GPUs; want step_ms above 0 and gpus of 0 or more`,
		"escala_service_zero.jsonl":      `escala_service_zero.jsonl:2: service of "a": demand: 0 GPUs all the time; want a demand above 0 at some time, swap_gpus and swap_every_ms both above 0 or both 0, and a penalty of 0 or more`,
		"escala_service_swaps.jsonl":     `escala_service_swaps.jsonl:2: service of "a": swaps: 3 GPUs every 0 ms; want a demand above 0 at some time, swap_gpus and swap_every_ms both above 0 or both 0, and a penalty of 0 or more`,
		"escala_service_long.jsonl":      `escala_service_long.jsonl:2: demand of "a" goes on for more than 9e15 ms; want shorter steps, or fewer`,
		"escala_service_huge.jsonl":      `escala_service_huge.jsonl:2: demand of "a" rises to 2147483647 GPUs; want fewer`,
		"escala_demand_of_none.jsonl":    `escala_demand_of_none.jsonl:2: job "a" has an actual demand and declares none; want "service":{...}, or no demand`,
		"escala_demand_empty.jsonl":      "escala_demand_empty.jsonl:2: actual demand: a curve without values; want step_ms above 0 and gpus of 0 or more",

		"helios_all_dropped.csv": "helios_all_dropped.csv:2: no usable row in the file: 1 submit time not readable; want at least one job that can be replayed",
		"swf_all_dropped.swf":    "swf_all_dropped.swf:2: no usable row in the file: 2 negative duration; want at least one job that can be replayed",
		"openb_no_rows.csv":      "openb_no_rows.csv: no jobs in the file; want at least one row of data",
		"slurm_no_submit.txt":    "slurm_no_submit.txt:1: column Submit is missing; want the columns of " + sacctCommand,
		"slurm_no_gpus.txt":      "slurm_no_gpus.txt:1: column AllocTRES (nothing else tells GPUs) is missing; want the columns of " + sacctCommand,
		"philly_cut.json":        "philly_cut.json:1: broken JSON: unexpected EOF; want a complete array of jobs",
		"unknown.txt":            `unknown.txt:1: no known format begins with "the quick brown fox"; want one of ` + FormatNames() + " (or name the format)",
		"slurm_json.txt":         "slurm_json.txt:7: no usable row in the file: 1 submit time not readable; want at least one job that can be replayed",
		"slurm_json_cut.txt":     "slurm_json_cut.txt:3: the JSON ends in the middle; want the whole of what sacct --json writes",
		"slurm_json_queue.txt":   "slurm_json_queue.txt:1: this is the queue as squeue --json writes it, not what has run; want the whole of what sacct --json writes",
		"slurm_json_broken.txt":  "slurm_json_broken.txt:1: a \":\" is missing before \"1\"; want the whole of what sacct --json writes",
		"slurm_json_no_jobs.txt": "slurm_json_no_jobs.txt: the JSON has no list \"jobs\"; want what sacct --json writes",
		"broken.gz":              "broken.gz: truncated gzip: the file ends after 11 bytes, in the middle of the data; want a complete .gz file or plain text",
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", "bad", name))
			if err != nil {
				t.Fatal(err)
			}
			_, err = ReadBytes(name, data, Options{})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if diff := cmp.Diff(want, e.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	files, err := os.ReadDir(filepath.Join("testdata", "bad"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := tests[f.Name()]; !ok {
			t.Errorf("testdata/bad/%s is not in the table", f.Name())
		}
	}
}

func TestFormatOverride(t *testing.T) {
	data := []byte("job_id,submit,gpus,duration\n1,0,1,60\n")
	if _, err := ReadBytes("x.csv", data, Options{Format: "csv"}); err != nil {
		t.Error(err)
	}
	_, err := ReadBytes("x.csv", data, Options{Format: "excel"})
	want := `x.csv: unknown format "excel"; want one of ` + FormatNames()
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = ReadBytes("x.csv", data, Options{Format: "helios"})
	if err == nil || !strings.Contains(err.Error(), "x.csv:1: column user is missing; want a header with job_id,user,vc") {
		t.Errorf("a csv file read as helios: %v", err)
	}
}

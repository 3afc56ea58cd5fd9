package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/workload"
)

func write(t *testing.T, format string, w *workload.Workload) []byte {
	t.Helper()
	f, ok := Lookup(format)
	if !ok || f.Write == nil {
		t.Fatalf("no writer for %s", format)
	}
	var out bytes.Buffer
	if err := f.Write(&out, w); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func sample(t *testing.T, name string, o Options) *workload.Workload {
	t.Helper()
	w, err := Read(filepath.Join("testdata", "samples", name), o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestEscalaRoundTrip: the format loses nothing, and writing again gives the
// same bytes but for where the file came from.
func TestEscalaRoundTrip(t *testing.T) {
	for _, name := range []string{"workload.jsonl", "services.jsonl", "all_columns.csv", "sacct.txt", "small.swf", "openb_pods.csv", "quoted.csv"} {
		w := sample(t, name, Options{})
		data := write(t, "escala", w)
		back, err := ReadBytes("again.jsonl", data, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := *w
		want.Hash, want.Format = back.Hash, "escala"
		if diff := cmp.Diff(&want, back); diff != "" {
			t.Errorf("%s (-written +read):\n%s", name, diff)
		}
	}
}

// TestCSVRoundTrip: all that has a column comes back.
func TestCSVRoundTrip(t *testing.T) {
	for _, name := range []string{"all_columns.csv", "plain.csv", "quoted.csv", "windows.csv", "small.swf", "helios.csv"} {
		w := sample(t, name, Options{})
		data := write(t, "csv", w)
		back, err := ReadBytes("again.csv", data, Options{})
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, data)
		}
		if diff := cmp.Diff(w.Jobs, back.Jobs); diff != "" {
			t.Errorf("%s jobs (-written +read):\n%s", name, diff)
		}
		if diff := cmp.Diff(w.Actual, back.Actual); diff != "" {
			t.Errorf("%s actual (-written +read):\n%s", name, diff)
		}
	}
}

func TestCSVRefusesSemicolonInDependency(t *testing.T) {
	w := sample(t, "plain.csv", Options{})
	w.Jobs[0].After = []workload.Dependency{{Job: "a;b"}}
	if err := writeCSV(&bytes.Buffer{}, w); err == nil || !strings.Contains(err.Error(), "write the escala format") {
		t.Errorf("got %v", err)
	}
}

func TestSWFRoundTrip(t *testing.T) {
	w := sample(t, "small.swf", Options{})
	for i := range w.Actual { // whole seconds are what SWF holds
		if w.Actual[i].Duration%1000 != 0 {
			w.Actual[i].Duration = 51000
		}
	}
	back, err := ReadBytes("again.swf", write(t, "swf", w), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.Jobs, back.Jobs); diff != "" {
		t.Errorf("jobs (-written +read):\n%s", diff)
	}
	if diff := cmp.Diff(w.Actual, back.Actual); diff != "" {
		t.Errorf("actual (-written +read):\n%s", diff)
	}
	if back.Epoch != w.Epoch {
		t.Errorf("epoch %d, want %d", back.Epoch, w.Epoch)
	}
}

// TestSWFNumbersNames: names that are no numbers are counted off.
func TestSWFNumbersNames(t *testing.T) {
	w := sample(t, "plain.csv", Options{})
	w.Jobs[0].ID = "first"
	var rows []string
	for line := range strings.Lines(string(write(t, "swf", w))) {
		if line[0] != ';' {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	want := []string{
		"1 0 -1 600 4 -1 -1 4 900 -1 1 1 1 -1 -1 -1 -1 -1",
		"2 31 -1 12 1 -1 -1 1 -1 -1 1 2 2 -1 -1 -1 -1 -1",
		"3 31 -1 0 8 -1 -1 8 -1 -1 1 -1 -1 -1 -1 -1 -1 -1",
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSWFKeepsLimits: the limit of a job without an estimate is what it requests.
func TestSWFKeepsLimits(t *testing.T) {
	w := sample(t, "plain.csv", Options{})
	w.Jobs[1].Limit, w.Jobs[0].Limit = 90*workload.Second, 5000*workload.Second
	text := string(write(t, "swf", w))
	if !strings.Contains(text, "\n; Note: the requested time is the time limit where a job has no estimate (1)\n") {
		t.Errorf("the header does not say where limits went:\n%s", text)
	}
	back, err := ReadBytes("again.swf", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []workload.Span{900 * workload.Second, 90 * workload.Second, 0} {
		if got := back.Jobs[i].Estimate; got != want {
			t.Errorf("job %s requests %d ms, want %d", back.Jobs[i].ID, got, want)
		}
	}
}

// TestDocsNameTheColumns: the reference has the columns that errors ask for.
func TestDocsNameTheColumns(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "trace-formats.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, columns, _ := strings.Cut(sacctCommand, " -o ")
	if !strings.Contains(string(text), " -o "+columns+" > sacct.txt\n") {
		t.Errorf("docs/trace-formats.md does not have -o %s", columns)
	}
}

func TestSWFRefusesWhatItCannotSay(t *testing.T) {
	for _, need := range []workload.Need{{CPU: 1000}, {GPUs: 1, Milli: 500}} {
		w := sample(t, "plain.csv", Options{})
		w.Jobs[0].Need = need
		if err := writeSWF(&bytes.Buffer{}, w); err == nil || !strings.Contains(err.Error(), "SWF cannot say") {
			t.Errorf("%s: %v", need.String(), err)
		}
	}
}

// TestGzip: every format may be compressed, and the hash is that of the file as it is.
func TestGzip(t *testing.T) {
	plain, err := os.ReadFile(filepath.Join("testdata", "samples", "helios.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var z bytes.Buffer
	gz := gzip.NewWriter(&z)
	if _, err := gz.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := ReadBytes("helios.csv", plain, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := ReadBytes("/some/where/helios.csv.gz", z.Bytes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a.Jobs, b.Jobs); diff != "" {
		t.Errorf("(-plain +gzip):\n%s", diff)
	}
	if a.Hash == b.Hash || b.Hash != hashOf(z.Bytes()) || b.Source != "helios.csv.gz" || b.Name != "helios" {
		t.Errorf("hashes %s %s, source %q, name %q", a.Hash, b.Hash, b.Source, b.Name)
	}
}

// TestBrokenGzip: the error says which file, and how it is broken.
func TestBrokenGzip(t *testing.T) {
	var z bytes.Buffer
	gz := gzip.NewWriter(&z)
	text := "job_id,submit,gpus,duration\n1,0,1,60\n"
	_, err := gz.Write([]byte(text))
	if err = errors.Join(err, gz.Close()); err != nil {
		t.Fatal(err)
	}
	whole := z.Bytes()
	wrong := bytes.Clone(whole)
	wrong[len(wrong)-8]++ // the checksum
	for want, data := range map[string][]byte{
		"jobs.csv.gz: truncated gzip: the file ends after 5 bytes, in the middle of the data":                  whole[:5],
		fmt.Sprintf("jobs.csv.gz: truncated gzip: the file ends after %d bytes", len(whole)-3):                 whole[:len(whole)-3],
		fmt.Sprintf("jobs.csv.gz: broken gzip after %d bytes of text: invalid checksum; want", len(text)):      wrong,
		"jobs.csv.gz: broken gzip after 0 bytes of text: invalid header; want a complete .gz file or plain te": {0x1f, 0x8b, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		if _, err := ReadBytes("jobs.csv.gz", data, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestNothingLeft: all causes are told, most frequent first.
func TestNothingLeft(t *testing.T) {
	log := "; log\n1 0 -1 -1 2 -1 -1 2 -1 -1 1\n" + strings.Repeat("1 0 -1 -1 2 -1 -1 2 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n", 2)
	_, err := ReadBytes("x.swf", []byte(log), Options{Format: "swf"})
	if want := "x.swf:3: no usable row in the file: 2 negative duration, 1 not 18 numbers; want"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestByteOrderMark(t *testing.T) {
	if _, err := ReadBytes("x.csv", []byte("\ufeffjob_id,submit,gpus,duration\n1,0,1,60\n"), Options{}); err != nil {
		t.Error(err)
	}
}

// TestQuotedEqualsPlain: the fast scanner and the one for quoted files read the same.
func TestQuotedEqualsPlain(t *testing.T) {
	for _, name := range []string{"plain.csv", "all_columns.csv", "windows.csv"} {
		data, err := os.ReadFile(filepath.Join("testdata", "samples", name))
		if err != nil {
			t.Fatal(err)
		}
		var quoted strings.Builder
		for line := range strings.Lines(string(data)) {
			if text := strings.TrimRight(line, "\r\n"); text != "" && text[0] != '#' {
				line = `"` + strings.ReplaceAll(text, ",", `","`) + "\"\n"
			}
			quoted.WriteString(line)
		}
		plain, err := ReadBytes(name, data, Options{})
		if err != nil {
			t.Fatal(err)
		}
		slow, err := ReadBytes(name, []byte(quoted.String()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		slow.Hash = plain.Hash
		if diff := cmp.Diff(plain, slow); diff != "" {
			t.Errorf("%s (-plain +quoted):\n%s", name, diff)
		}
	}
}

// Horizon measures the horizon planner: on scenario files against FIFO with peak
// reservation, against what is the best known, and against its own bound; and over a week
// of a real batch trace with real real-time demand. It writes docs/studies/horizon.md and
// the figures as JSON.
//
//	go run -tags highs ./studies/horizon --scenarios DIR --curves DIR --batch FILE [--budget 30s] [--out docs/studies]
//	go run ./studies/horizon --from docs/studies/horizon.json
//
// Fast mode and the week give the same figures everywhere; full mode has a budget of time,
// so that its last digits depend on the machine.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

type options struct {
	scenarios, curves, batch, out, from, part string
	budget                                    time.Duration
}

// study is all figures.
type study struct {
	Machine   string
	Budget    string
	Scenarios []scenarioResult
	Readings  []readingResult
	Week      weekResult
}

func main() {
	log.SetFlags(0)
	var o options
	flag.StringVar(&o.scenarios, "scenarios", "", "`directory` of scenario files")
	flag.StringVar(&o.curves, "curves", "", "`directory` of ServeGen's rates: m-large_total_rate_10min.csv, m-mid_total_rate_10min.csv")
	flag.StringVar(&o.batch, "batch", "", "Philly's jobs, a `file`")
	flag.DurationVar(&o.budget, "budget", 30*time.Second, "budget of full mode, a scenario")
	flag.StringVar(&o.out, "out", "docs/studies", "`directory` to write horizon.md and horizon.json to")
	flag.StringVar(&o.from, "from", "", "write the page from the `file` horizon.json of an earlier run")
	flag.StringVar(&o.part, "part", "", "with --from: measure one `part` anew, scenarios or week")
	flag.Parse()
	scenarios, week := o.parts()
	if flag.NArg() > 0 || scenarios && o.scenarios == "" || week && (o.curves == "" || o.batch == "") || o.part != "" && scenarios == week {
		log.Fatal("usage: go run -tags highs ./studies/horizon --scenarios DIR --curves DIR --batch FILE, or --from horizon.json [--part scenarios|week with its files]")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); errors.Is(err, context.Canceled) {
		log.Fatal("interrupted; nothing was written")
	} else if err != nil {
		log.Fatal(err)
	}
}

func (o *options) run(ctx context.Context) error {
	s := &study{}
	if o.from != "" {
		data, err := os.ReadFile(o.from)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, s); err != nil {
			return fmt.Errorf("%s: %w", o.from, err)
		}
	}
	if err := o.measure(ctx, s); err != nil {
		return err
	}
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.out, "horizon.json"), append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "horizon.md"), []byte(s.page()), 0o644)
}

// parts says what is to be measured.
func (o *options) parts() (scenarios, week bool) {
	if o.part == "" {
		return o.from == "", o.from == ""
	}
	return o.part == "scenarios", o.part == "week"
}

func (o *options) measure(ctx context.Context, s *study) (err error) {
	scenarios, week := o.parts()
	if scenarios {
		if err := o.measureScenarios(ctx, s); err != nil {
			return err
		}
	}
	if week {
		s.Week, err = o.week(ctx)
	}
	return err
}

func (o *options) measureScenarios(ctx context.Context, s *study) error {
	s.Machine, s.Budget, s.Scenarios = machine(), o.budget.String(), nil
	files, err := scenarioFiles(o.scenarios)
	if err != nil {
		return err
	}
	for _, f := range files {
		r, err := o.scenario(ctx, f)
		if err != nil {
			return err
		}
		log.Printf("%-20s full %10.3f bound %10.3f", r.Name, r.Full.Objective, r.Full.Bound)
		s.Scenarios = append(s.Scenarios, *r)
	}
	s.Readings, err = readings(files)
	return err
}

package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// percentage is an option that takes a part of a whole, such as 10%.
type percentage struct{ to *float64 }

func (p percentage) Set(s string) error {
	number, ok := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if (!ok && s != "0") || err != nil || math.IsNaN(v) || v < 0 || v > 100 {
		return errors.New("want a percentage from 0% to 100%, such as 10%")
	}
	*p.to = v / 100
	return nil
}

// String writes no part as "0", which help leaves out.
func (p percentage) String() string {
	if *p.to == 0 {
		return "0"
	}
	return trimNumber(100**p.to, 6) + "%"
}

func (p percentage) Type() string { return "percentage" }

// settleForecast gives errors of forecasts the seed of all that is drawn, unless they
// have one of their own.
func (f *worldFlags) settleForecast() error {
	if f.given("forecast-seed") {
		if !f.given("forecast-error") {
			return badUsage("--forecast-error 10%", "--forecast-seed is given and --forecast-error is not")
		}
		return nil
	}
	f.forecast.Seed = f.seed
	return nil
}

// foresees refuses errors of forecasts where nothing is foreseen.
func (f *worldFlags) foresees(w *workload.Workload) error {
	if f.given("forecast-error") && applications(w) == 0 {
		return badUsage("--services apps.yaml, which adds them, or no --forecast-error",
			"--forecast-error is how wrong the demand of real-time applications is foreseen, and the workload has none")
	}
	return nil
}

// forecastAssumption is the line of the report's head; none without applications.
func (f *worldFlags) forecastAssumption(w *workload.Workload) []report.Assumption {
	if applications(w) == 0 {
		return nil
	}
	a := report.Assumption{Name: "Forecasts", Value: "as the workload declares the demand, no error added", Source: "default"}
	if f.given("forecast-error") {
		a.Source = "--forecast-error"
	}
	if f.forecast.Error > 0 {
		a.Value = forecastText(f.forecast)
	}
	return []report.Assumption{a}
}

func forecastText(f sim.Forecast) string {
	return fmt.Sprintf("wrong by %s of each value (standard deviation; errors of neighbouring values are alike), seed %d; what is needed is as the workload says",
		percentage{&f.Error}, f.Seed)
}

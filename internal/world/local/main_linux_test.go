package local

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Command:
			os.Exit(Supervise(os.Args[2:], time.Now))
		case daemonArg:
			os.Exit(daemonMain(os.Args[2:]))
		}
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // or each supervisor takes a second under -race
	goleak.VerifyTestMain(m)
}

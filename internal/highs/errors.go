package highs

import "errors"

// ErrNotBuilt is why there is no solver in a program.
var ErrNotBuilt = errors.New("this escala was built without the HiGHS solver; " +
	"want one built on 64-bit x86 or ARM with: make highs && go build -tags highs ./cmd/escala")

// ErrClosed is a solve begun after Close.
var ErrClosed = errors.New("highs: the solver is closed")

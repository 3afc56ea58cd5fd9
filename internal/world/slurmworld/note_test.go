package slurmworld

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestNotesAreBounded: the last note of a job counts, and of too many the first are let go.
func TestNotesAreBounded(t *testing.T) {
	w := &World{opts: Options{Administers: true, Now: time.Now}}
	for i := range 3 * mostNotes {
		w.note(fmt.Sprint(i), "x")
	}
	w.note(fmt.Sprint(3*mostNotes-1), "a\nb "+strings.Repeat("é", mostText))
	if len(w.notes) != mostNotes || w.notes[0].id != fmt.Sprint(2*mostNotes) {
		t.Errorf("%d notes, the first of job %s", len(w.notes), w.notes[0].id)
	}
	last := w.notes[mostNotes-1].text
	if !strings.HasPrefix(last, "escala: a b é") || len(last) > mostText || !strings.HasSuffix(last, "é...") {
		t.Errorf("%q", last)
	}
	w.opts.Administers, w.notes = false, nil
	if w.note("1", "x"); w.notes != nil {
		t.Error("a note without the right to write it")
	}
}

func TestNoteStandsBesideWhatOthersWrote(t *testing.T) {
	for old, want := range map[string]string{"": "escala: new", "escala: old": "escala: new", "theirs": "theirs escala: new", "theirs escala: old": "theirs escala: new"} {
		if got := besides(old, "escala: new"); got != want {
			t.Errorf("%q besides %q", got, old)
		}
	}
}

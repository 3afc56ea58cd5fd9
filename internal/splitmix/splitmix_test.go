package splitmix

import "testing"

// The first numbers of the reference implementation (Vigna, splitmix64.c) for seed 1234567.
func TestReference(t *testing.T) {
	s := Source(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := s.Next(); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
}

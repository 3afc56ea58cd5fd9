package cli

import "github.com/escala-sched/escala/internal/slurm"

// loadContracts reads the contracts of a site that runs Slurm, and returns the bytes of the file as well.
func (s *State) loadContracts(path string) (*slurm.Contracts, []byte, error) {
	data, err := s.readInput(path)
	if err != nil {
		return nil, nil, err
	}
	c, err := slurm.ParseContracts(path, data)
	return c, data, badInput(err, "docs/slurm.md has every word")
}

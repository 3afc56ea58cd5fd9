package horizon

// profile chooses how many GPUs the application holds in each step: within its minimum and
// maximum, changing by as many as it may from the number held now, with the least
// shortfall, then the fewest GPU-steps. It returns nil if no number is legal.
// O(steps x range x swaps).
func (a *App) profile() []int {
	lo, want, hi, swapCap, now := a.Min, a.Demand, a.Max, a.SwapCap, len(a.Current)
	top := now
	for _, h := range hi {
		top = max(top, h)
	}
	const none = 1 << 60
	steps := len(want)
	cost := make([]int, (steps+1)*(top+1))
	for t := steps - 1; t >= 0; t-- {
		for n := range top + 1 {
			c := none
			if n >= lo[t] && n <= hi[t] {
				rest := 0
				if t+1 < steps {
					rest = none
					for m := max(0, n-swapCap); m <= min(top, n+swapCap); m++ {
						rest = min(rest, cost[(t+1)*(top+1)+m])
					}
				}
				if rest < none {
					c = rest + max(0, want[t]-n)<<20 + n
				}
			}
			cost[t*(top+1)+n] = c
		}
	}
	path := make([]int, steps)
	for t := range path {
		swaps := swapCap
		if t == 0 {
			swaps -= min(a.Used, swapCap)
		}
		best, at := none, -1
		for n := max(0, now-swaps); n <= min(top, now+swaps); n++ {
			if c := cost[t*(top+1)+n]; c < best {
				best, at = c, n
			}
		}
		if at < 0 {
			return nil
		}
		path[t], now = at, at
	}
	return path
}

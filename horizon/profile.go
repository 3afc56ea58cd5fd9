package horizon

// profile chooses how many GPUs a real-time application holds in each step: within
// [lo, hi], changing by at most swapCap a step from the number held now, with the least
// shortfall against want, then the fewest GPU-steps. It returns nil if no number is
// legal. O(steps x range x swapCap).
func profile(lo, want, hi []int, swapCap, now int) []int {
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
		best, at := none, -1
		for n := max(0, now-swapCap); n <= min(top, now+swapCap); n++ {
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

package horizon

// profile chooses how many of a row's GPUs the application holds in each step: within its
// minimum and what it may have at most, changing by as many as it may from the number held
// now, with the least shortfall, then the fewest GPU-steps. It returns nil if no number is
// legal. O(steps x range).
func (a *App) profile(gpus int, most []int) []int {
	steps := len(a.Demand)
	top := len(a.Current)
	for _, h := range most {
		top = max(top, h)
	}
	width := top + 1
	cost := make([]int, steps*width) // of steps t and after, if n are held in t
	near := slidingMin{queue: make([]int, 0, width)}
	for t := steps - 1; t >= 0; t-- {
		next := []int(nil)
		if t+1 < steps {
			next = cost[(t+1)*width : (t+2)*width]
		}
		near.begin(next, a.Swaps(t+1, gpus))
		for n := range width {
			c := never
			if rest := near.around(n); n >= a.Min[t] && n <= most[t] && rest < never {
				c = rest + max(0, a.Demand[t]-n)*shortCost + n
			}
			cost[t*width+n] = c
		}
	}
	path, now := make([]int, steps), len(a.Current)
	for t := range path {
		swaps := a.Swaps(t, gpus)
		best, at := never, -1
		for n := max(0, now-swaps); n <= min(top, now+swaps); n++ {
			if c := cost[t*width+n]; c < best {
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

// A GPU-step of shortfall costs more than all GPU-steps of a horizon, and less than never in sum.
const (
	never     = 1 << 60
	shortCost = maxCells + 1
)

// slidingMin finds the least of list[n-reach : n+reach+1] for n = 0, 1, 2 ...
type slidingMin struct {
	list  []int
	reach int
	next  int   // index that enters next
	queue []int // indices whose values rise, from head on
	head  int
}

func (m *slidingMin) begin(list []int, reach int) {
	m.list, m.reach, m.next, m.queue, m.head = list, reach, 0, m.queue[:0], 0
}

// around returns the least near n, 0 for no list.
func (m *slidingMin) around(n int) int {
	if m.list == nil {
		return 0
	}
	for ; m.next < len(m.list) && m.next <= n+m.reach; m.next++ {
		for len(m.queue) > m.head && m.list[m.queue[len(m.queue)-1]] >= m.list[m.next] {
			m.queue = m.queue[:len(m.queue)-1]
		}
		m.queue = append(m.queue, m.next)
	}
	for m.queue[m.head] < n-m.reach {
		m.head++
	}
	return m.list[m.queue[m.head]]
}

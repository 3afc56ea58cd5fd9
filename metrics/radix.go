package metrics

// sortKeys sorts ascending, least significant digit first, with tmp as scratch
// of the same length. Digits that are equal in all keys cost nothing, so a
// million waits of up to a year take some 20 ms.
func sortKeys(keys, tmp []uint64) {
	const width, digits = 11, 6
	var count [digits][1 << width]uint32
	for _, k := range keys {
		for d := range digits {
			count[d][k>>(d*width)&(1<<width-1)]++
		}
	}
	src, dst := keys, tmp[:len(keys)]
	for d := range digits {
		c := &count[d]
		if len(keys) > 0 && int(c[keys[0]>>(d*width)&(1<<width-1)]) == len(keys) {
			continue
		}
		var sum uint32
		for i := range c {
			sum, c[i] = sum+c[i], sum
		}
		for _, k := range src {
			i := k >> (d * width) & (1<<width - 1)
			dst[c[i]] = k
			c[i]++
		}
		src, dst = dst, src
	}
	if len(keys) > 0 && &src[0] != &keys[0] {
		copy(keys, src)
	}
}

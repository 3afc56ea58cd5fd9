package cluster

// partIndex counts the shared GPUs of schedulable nodes by what is left of them,
// so that "is there a GPU with at least m left" takes a few word operations.
type partIndex struct {
	count  [1000]int32
	values bitset
}

func (x *partIndex) add(left int16, n int32) {
	if left <= 0 || left >= 1000 {
		return // wholly used, or wholly free and counted elsewhere
	}
	if x.values.words == nil {
		x.values = newBitset(len(x.count))
	}
	x.count[left] += n
	if x.count[left] == 0 {
		x.values.clear(int32(left))
	} else {
		x.values.set(int32(left))
	}
}

func (x *partIndex) copyFrom(o *partIndex) {
	x.count = o.count
	if o.values.words == nil {
		x.values = bitset{}
		return
	}
	if x.values.words == nil {
		x.values = newBitset(len(x.count))
	}
	x.values.copyFrom(&o.values)
}

// PartFor is the least that is left of a shared GPU and is still enough for m
// milli-GPU, 0 if there is none.
func (f *Free) PartFor(m int32) int32 {
	if f.left == nil || f.parts.values.words == nil || m >= 1000 {
		return 0
	}
	return max(f.parts.values.next(max(m, 1)), 0)
}

// setLeft changes what is left of a shared GPU.
func (f *Free) setLeft(i int32, gpu int, left int16) {
	at := &f.left[int(i)*int(f.pool.MaxGPUs)+gpu]
	if !f.shut[i] {
		f.parts.add(*at, -1)
		f.parts.add(left, 1)
	}
	*at = left
}

// fileParts takes the shared GPUs of a node out of the index, or puts them back.
func (f *Free) fileParts(i int32, n int32) {
	for _, left := range f.left[int(i)*int(f.pool.MaxGPUs) : (int(i)+1)*int(f.pool.MaxGPUs)] {
		f.parts.add(left, n)
	}
}

package liveroot

// arena keeps byte strings in chunks. They have no pointers of their own, which the garbage
// collector would follow each time it runs.
type arena struct {
	chunks [][]byte
	// held is how many strings are in each chunk.
	held []int
	// filling is the chunk that put appends to. empty are the chunks without strings; not all have
	// memory.
	filling int
	empty   []int
}

// span is where a string is; the zero span is an empty one.
type span struct{ chunk, from, length uint32 }

const (
	chunkSize = 1 << 16
	// maxEmpty is how many empty chunks keep their memory for later strings.
	maxEmpty = 256
)

// put stores a copy of bytes.
func (a *arena) put(bytes []byte) span {
	if len(bytes) == 0 {
		return span{}
	}
	if len(a.chunks) == 0 || len(a.chunks[a.filling])+len(bytes) > cap(a.chunks[a.filling]) {
		a.begin(len(bytes))
	}
	chunk := &a.chunks[a.filling]
	s := span{uint32(a.filling), uint32(len(*chunk)), uint32(len(bytes))}
	*chunk = append(*chunk, bytes...)
	a.held[a.filling]++
	return s
}

// begin chooses the chunk that put appends to: an empty one with room for length bytes.
func (a *arena) begin(length int) {
	if len(a.chunks) > 0 && a.held[a.filling] == 0 {
		a.release(a.filling)
	}
	if last := len(a.empty) - 1; last >= 0 {
		a.filling, a.empty = a.empty[last], a.empty[:last]
	} else {
		a.filling = len(a.chunks)
		a.chunks, a.held = append(a.chunks, nil), append(a.held, 0)
	}
	if chunk := &a.chunks[a.filling]; cap(*chunk) < length {
		*chunk = make([]byte, 0, max(chunkSize, length))
	}
}

// release adds a chunk without strings to empty. It keeps the chunk's memory unless the chunk is
// larger than chunkSize or maxEmpty chunks are listed.
func (a *arena) release(chunk int) {
	if a.chunks[chunk] = a.chunks[chunk][:0]; len(a.empty) >= maxEmpty || cap(a.chunks[chunk]) > chunkSize {
		a.chunks[chunk] = nil
	}
	a.empty = append(a.empty, chunk)
}

// get returns a string, which is valid until it is dropped.
func (a *arena) get(s span) []byte {
	if s.length == 0 {
		return nil
	}
	return a.chunks[s.chunk][s.from:][:s.length:s.length]
}

// drop forgets a string.
func (a *arena) drop(s span) {
	if s.length == 0 {
		return
	}
	chunk := int(s.chunk)
	if a.held[chunk]--; a.held[chunk] == 0 && chunk != a.filling {
		a.release(chunk)
	}
}

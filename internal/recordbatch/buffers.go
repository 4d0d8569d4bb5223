package recordbatch

import (
	"bytes"
	"sync"
)

// buffers are for whole batches, to read and to write.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// keptBytes is the largest buffer that is put back into the pool.
const keptBytes = 4 << 20

// TakeBuffer returns an empty buffer with room for a usual batch.
func TakeBuffer() *bytes.Buffer {
	buffer := buffers.Get().(*bytes.Buffer) // the pool has nothing else
	buffer.Reset()
	return buffer
}

// GiveBuffer takes a buffer back. Nobody may use it, or what lies in it, any more.
func GiveBuffer(buffer *bytes.Buffer) {
	if buffer.Cap() <= keptBytes {
		buffers.Put(buffer)
	}
}

package recordbatch

import (
	"bytes"
	"sync"
)

// buffers is a pool of buffers that hold whole batches, for readers and writers.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// keptBytes is the largest buffer that is put back into the pool.
const keptBytes = 4 << 20

// TakeBuffer returns an empty buffer. It mostly has the memory of an earlier batch.
func TakeBuffer() *bytes.Buffer {
	buffer := buffers.Get().(*bytes.Buffer) // the pool has nothing else
	buffer.Reset()
	return buffer
}

// GiveBuffer takes a buffer back. The caller may use neither the buffer nor its bytes any more.
func GiveBuffer(buffer *bytes.Buffer) {
	if buffer.Cap() <= keptBytes {
		buffers.Put(buffer)
	}
}

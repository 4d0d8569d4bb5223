package blobs

import (
	"container/list"
	"sync"
)

// memory is an LRU cache of blobs, bounded by bytes. (golang-lru bounds by entries only.)
type memory struct {
	limit int64 // bytes
	mu    sync.Mutex
	used  int64      // bytes
	order *list.List // of *kept, the last used first
	byKey map[Key]*list.Element
}

type kept struct {
	key  Key
	blob *Blob
	uses uint32 // calls of get
}

// overhead is about how many bytes an entry takes besides its body: map entry, list element and
// Blob.
const overhead = 300

func newMemory(limit int64) *memory {
	return &memory{limit: limit, order: list.New(), byKey: map[Key]*list.Element{}}
}

// get returns the blob; nil if it is not in memory. uses is how often get has returned the blob
// since put stored it.
func (m *memory) get(key Key) (blob *Blob, uses uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.byKey[key]
	if !ok {
		return nil, 0
	}
	m.order.MoveToFront(element)
	found := element.Value.(*kept)
	found.uses++
	return found.blob, found.uses
}

func (m *memory) has(key Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byKey[key] != nil
}

// put stores a blob. It does nothing if the blob takes more than an eighth of the limit: such a
// blob would push out too many others.
func (m *memory) put(key Key, blob *Blob) {
	size := int64(len(blob.Body)) + overhead
	if size > m.limit/8 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(key)
	m.byKey[key] = m.order.PushFront(&kept{key: key, blob: blob})
	m.used += size
	for m.used > m.limit {
		m.remove(m.order.Back().Value.(*kept).key)
	}
}

func (m *memory) delete(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(key)
}

func (m *memory) remove(key Key) {
	if element, ok := m.byKey[key]; ok {
		m.used -= int64(len(element.Value.(*kept).blob.Body)) + overhead
		m.order.Remove(element)
		delete(m.byKey, key)
	}
}

func (m *memory) bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

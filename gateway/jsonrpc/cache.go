package jsonrpc

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// cacheShare bounds one answer to 1/cacheShare of the cache.
const cacheShare = 8

// cache holds results that cannot change, by task.key of the call that they answer. It is an LRU
// bounded in bytes.
type cache struct {
	most int // bytes
	mu   sync.Mutex
	lru  *simplelru.LRU[string, json.RawMessage]
	held int // bytes of the entries, keys included
	// reading counts the bytes that are reserved for answers still being read. They count against
	// most, too.
	reading int
}

func newCache(most int) *cache {
	c := &cache{most: most}
	// Each entry is longer than a byte, so the LRU's own bound of most entries is never reached.
	lru, err := simplelru.NewLRU(most, func(key string, result json.RawMessage) { c.held -= len(key) + len(result) })
	if err != nil {
		panic(err) // the size is positive
	}
	c.lru = lru
	return c
}

func (c *cache) get(key string) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	result, _ := c.lru.Get(key)
	return result
}

func (c *cache) bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held + c.reading
}

// put stores a result, unless it is too large or may still change. A result that is null may still
// come to exist, and a block or a transaction without its time may still get it.
func (c *cache) put(key string, result json.RawMessage) {
	size := len(key) + len(result)
	if result == nil || string(result) == "null" || bytes.Contains(result, []byte(`"blockTime":null`)) || size > c.most/cacheShare {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key)
	c.held += size
	c.lru.Add(key, bytes.Clone(result))
	c.shrink()
}

func (c *cache) shrink() {
	for c.held+c.reading > c.most {
		if _, _, ok := c.lru.RemoveOldest(); !ok {
			return
		}
	}
}

// reserve reserves n more bytes for an answer that is being read. It returns false if such answers
// would take more than half of the cache.
func (c *cache) reserve(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading+n > c.most/2 {
		return false
	}
	c.reading += n
	c.shrink()
	return true
}

func (c *cache) release(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading -= n
}

// keep stores the result of an answer. If the answer has a rest, keep stores the result when the
// rest has been read to its end.
func (c *cache) keep(key string, got *answer) {
	if got.rest == nil {
		c.put(key, got.result)
		return
	}
	copied := &copying{ReadCloser: got.rest, cache: c, key: key}
	copied.add(got.head)
	got.rest = copied
}

// copying is the rest of an answer. It copies what is read, as long as the cache has room, and
// stores the result at the end.
type copying struct {
	io.ReadCloser
	cache    *cache
	key      string
	copied   []byte
	reserved int
	stopped  bool // no copy is made any more
}

func (r *copying) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.add(p[:n])
	if err == io.EOF && !r.stopped {
		r.end()
	}
	return n, err
}

// add extends the copy, or stops copying if the cache has no room.
func (r *copying) add(p []byte) {
	if r.stopped || len(p) == 0 {
		return
	}
	if need := len(r.copied) + len(p); need > r.reserved {
		grown := max(need, 2*r.reserved)
		if need > r.cache.most/cacheShare || !r.cache.reserve(grown-r.reserved) {
			r.stop()
			return
		}
		r.reserved = grown
	}
	r.copied = append(r.copied, p...)
}

// end stores the result of a whole answer.
func (r *copying) end() {
	var parsed struct {
		Result json.RawMessage `json:"result"`
	}
	if json.Unmarshal(r.copied, &parsed) == nil {
		r.cache.put(r.key, parsed.Result)
	}
	r.stop()
}

// stop ends the copying, drops the copy and returns its room to the cache.
func (r *copying) stop() {
	r.cache.release(r.reserved)
	r.stopped, r.copied, r.reserved = true, nil, 0
}

func (r *copying) Close() error {
	if !r.stopped {
		r.stop()
	}
	return r.ReadCloser.Close()
}

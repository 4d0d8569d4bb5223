package api

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api/encode"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// textOf is a row as it is written; empty for no member.
func textOf(c *rowCache, id uint32, make func(id uint32) *registry.Token) string {
	var buf []byte
	found, _ := c.row(id, lent(make), &buf)
	return string(found.json)
}

// lent lends tokens, nil for no member, and clears their strings afterwards.
func lent(make func(id uint32) *registry.Token) rowReader {
	return func(id uint32, use func(*replica.Row)) bool {
		t := make(id)
		if t == nil {
			return false
		}
		own, bufs := *t, [][]byte{}
		borrow := func(text string) string {
			buf := []byte(text)
			bufs = append(bufs, buf)
			return unsafe.String(unsafe.SliceData(buf), len(buf))
		}
		own.Name, own.LogoStatus = borrow(t.Name), borrow(t.LogoStatus)
		if t.LogoURL != nil {
			url := borrow(*t.LogoURL)
			own.LogoURL = &url
		}
		use(&replica.Row{ID: id, Token: &own})
		for _, buf := range bufs {
			clear(buf)
		}
		return true
	}
}

func TestRowsAreKeptUntilTheyChange(t *testing.T) {
	c := newRowCache()
	made, name := 0, "a"
	make := func(id uint32) *registry.Token {
		made++
		if name == "" {
			return nil
		}
		return &registry.Token{Mint: pubkey.Key{byte(id)}, Name: name}
	}
	want := func(id uint32) string {
		return string(encode.Token(nil, &registry.Token{Mint: pubkey.Key{byte(id)}, Name: name}))
	}
	for range 4 {
		require.Equal(t, want(7), textOf(c, 7, make))
	}
	require.Equal(t, 2, made, "the second row is kept")
	name = "b"
	c.Apply([]replica.Change{{Row: replica.Row{ID: 7}}})
	require.Equal(t, want(7), textOf(c, 7, make))
	require.Equal(t, want(7+cachedRows), textOf(c, 7+cachedRows, make), "another number of the same cell")
	require.Equal(t, want(7), textOf(c, 7, make))
	name = ""
	c.Apply([]replica.Change{{Row: replica.Row{ID: 7}}})
	require.Empty(t, textOf(c, 7, make), "no member any more")
	name = string(make8k())
	before := made
	for range 4 {
		textOf(c, 9, make)
	}
	require.Equal(t, before+4, made, "what is large is not kept")
}

// TestLogosComeFromKeptRows: asking for the logo and asking for the row keep one row for both, and
// a change ends it.
func TestLogosComeFromKeptRows(t *testing.T) {
	c := newRowCache()
	made, url := 0, "https://example.org/a.png"
	make := func(uint32) *registry.Token {
		made++
		if url == "gone" {
			return nil
		}
		return &registry.Token{LogoURL: &url, LogoStatus: registry.LogoOK}
	}
	want := func(wanted, status string, known bool) {
		t.Helper()
		got, gotStatus, _, ok := c.logo(7, lent(make))
		require.Equal(t, []any{wanted, status, known}, []any{got, gotStatus, ok})
	}
	want("https://example.org/a.png", registry.LogoOK, true)
	want("https://example.org/a.png", registry.LogoOK, true)
	require.NotEmpty(t, textOf(c, 7, make))
	require.Equal(t, 1, made)
	url = "data:image/svg+xml," + string(make8k())
	c.Apply([]replica.Change{{Row: replica.Row{ID: 7}}})
	want(url, registry.LogoOK, true)
	want(url, registry.LogoOK, true)
	require.Equal(t, 3, made, "what is large is not kept")
	url = "gone"
	c.Apply([]replica.Change{{Row: replica.Row{ID: 7}}})
	want("", "", false)
}

func make8k() []byte { return append([]byte{}, make([]byte, 8<<10)...) }

// TestNoRowIsOlderThanWhatWasTold: whoever asks after a change was told sees it, while others ask
// at the same time.
func TestNoRowIsOlderThanWhatWasTold(t *testing.T) {
	c := newRowCache()
	var version atomic.Int64
	read := func(uint32) *registry.Token { return &registry.Token{Name: fmt.Sprint(version.Load())} }
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					textOf(c, 1, read)
				}
			}
		})
	}
	for i := range int64(20_000) {
		version.Store(i)
		c.Apply([]replica.Change{{Row: replica.Row{ID: 1}}})
		require.Equal(t, string(encode.Token(nil, &registry.Token{Name: fmt.Sprint(i)})), textOf(c, 1, read))
	}
	close(stop)
	group.Wait()
}

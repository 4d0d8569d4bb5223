package blobs

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func open(t *testing.T, cfg Config) *Store {
	t.Helper()
	s, err := New(cfg, Deps{Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	require.NoError(t, s.Open())
	t.Cleanup(func() { _ = s.names.close() })
	return s
}

func body(i, size int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8), 7}, size/3+1)[:size] }

func TestWhatWasPutSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	key := KeyOf(body(1, 5000))
	put := s.Put(key, "image/png", body(1, 5000))
	s.Point("https://a.test/1.png", key, time.Unix(1000, 0))
	s.Point("https://a.test/gone.png", key, time.Unix(1000, 0))
	s.Point("https://a.test/gone.png", Key{}, time.Unix(1001, 0))
	require.NoError(t, s.names.flush())

	again := open(t, Config{Dir: dir})
	got, ok := again.Get(key)
	require.True(t, ok)
	require.Equal(t, put, got)
	at, ok := again.Lookup("https://a.test/1.png")
	require.True(t, ok)
	require.Equal(t, Name{key, time.Unix(1000, 0)}, at)
	_, ok = again.Lookup("https://a.test/gone.png")
	require.False(t, ok)
	again.Delete(key)
	_, ok = again.Get(key)
	require.False(t, ok)
	_, ok = open(t, Config{Dir: dir}).Get(key)
	require.False(t, ok)
}

// Whatever a crash or a disk did to a file, its bytes are right or they are not there.
func TestDamagedFilesAreDropped(t *testing.T) {
	for name, damage := range map[string]func(raw []byte) []byte{
		"empty":  func([]byte) []byte { return nil },
		"cut":    func(raw []byte) []byte { return raw[:len(raw)-1] },
		"longer": func(raw []byte) []byte { return append(raw, 'x') },
		"a bit":  func(raw []byte) []byte { raw[len(raw)/2] ^= 1; return raw },
		"zeros":  func(raw []byte) []byte { return make([]byte, len(raw)) },
		"length": func(raw []byte) []byte { raw[len(magic)] = 0xff; return raw },
		"folder": nil,
	} {
		dir := t.TempDir()
		s := open(t, Config{Dir: dir})
		key := KeyOf(body(1, 5000))
		s.Put(key, "image/png", body(1, 5000))
		path := s.disk.path(key)
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		if damage == nil {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.MkdirAll(filepath.Join(path, "inner"), 0o700))
		} else {
			require.NoError(t, os.WriteFile(path, damage(raw), 0o600))
		}
		left := filepath.Join(filepath.Dir(path), "new-left-by-a-kill")
		require.NoError(t, os.WriteFile(left, nil, 0o600))

		var log bytes.Buffer
		again, err := New(Config{Dir: dir}, Deps{Logger: slog.New(slog.NewTextHandler(&log, nil)), Registerer: prometheus.NewRegistry()})
		require.NoError(t, err)
		require.NoError(t, again.Open())
		t.Cleanup(func() { _ = again.names.close() })
		require.NoFileExists(t, left)
		_, ok := again.Get(key)
		require.False(t, ok, name)
		if damage != nil { // a folder is not among the files that a start finds
			require.NoFileExists(t, path)
			require.Contains(t, log.String(), path, "%s: the log names the file", name)
			require.InDelta(t, 1, testutil.ToFloat64(again.metrics.dropped), 0, name)
		}
		again.Put(key, "image/png", body(1, 5000))
		got, ok := open(t, Config{Dir: dir}).Get(key)
		require.True(t, ok, name)
		require.Equal(t, body(1, 5000), got.Body)
	}
}

// TestADamagedHeadHasNoOtherBody: whatever the first bytes of a file are, it has the right body or
// none.
func TestADamagedHeadHasNoOtherBody(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	key := KeyOf(body(1, 5000))
	s.Put(key, "image/png", body(1, 5000))
	whole, err := os.ReadFile(s.disk.path(key))
	require.NoError(t, err)
	for i := range 16 {
		for value := range 256 {
			raw := bytes.Clone(whole)
			raw[i] = byte(value)
			blob, err := parse(raw)
			if err != nil {
				require.ErrorIs(t, err, errCorrupt)
				continue
			}
			require.Equal(t, body(1, 5000), blob.Body)
			require.True(t, raw[i] == whole[i] || i > len(magic), "byte %d is %d", i, value)
		}
	}
}

// TestNamesThatCannotBeReadAreMadeAnew: they stopped the node.
func TestNamesThatCannotBeReadAreMadeAnew(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"folder": func(path string) error { return os.MkdirAll(filepath.Join(path, "inner"), 0o700) },
		"loop":   func(path string) error { return os.Symlink("names.log", path) },
		"text":   func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("x"), 5000), 0o600) },
	} {
		dir := t.TempDir()
		require.NoError(t, damage(filepath.Join(dir, "names.log")))
		var log bytes.Buffer
		s, err := New(Config{Dir: dir}, Deps{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		require.NoError(t, s.Open(), name)
		require.Contains(t, log.String(), "made anew", name)
		s.Point("a", KeyOf(body(1, 10)), time.Unix(5, 0))
		require.NoError(t, s.names.close())
		_, ok := open(t, Config{Dir: dir}).Lookup("a")
		require.True(t, ok, name)
	}
}

func TestATornLogOfNames(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	for i := range 10 {
		s.Point(fmt.Sprint(i), KeyOf(body(i, 10)), time.Unix(5, 0))
	}
	require.NoError(t, s.names.close())
	path := filepath.Join(dir, "names.log")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	raw[nameRecord*3+20] ^= 1
	require.NoError(t, os.WriteFile(path, raw[:len(raw)-7], 0o600))
	again := open(t, Config{Dir: dir})
	known := 0
	for i := range 10 {
		if at, ok := again.Lookup(fmt.Sprint(i)); ok {
			require.Equal(t, KeyOf(body(i, 10)), at.Key)
			known++
		}
	}
	require.Equal(t, 8, known)
}

func TestBounds(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{Dir: dir, DiskBytes: 1 << 20, MemoryBytes: 400_000}
	s := open(t, cfg)
	keys := make([]Key, 40)
	for i := range keys {
		keys[i] = KeyOf(body(i, 40_000))
		s.Put(keys[i], "image/png", body(i, 40_000))
		_, ok := s.Get(keys[0]) // the one that is always in use
		require.True(t, ok)
	}
	_, used := s.disk.stats()
	require.LessOrEqual(t, used, cfg.DiskBytes)
	require.LessOrEqual(t, s.memory.bytes(), cfg.MemoryBytes)
	require.True(t, s.disk.has(keys[0]))
	require.False(t, s.disk.has(keys[1]), "the least recently used went")
	require.True(t, s.disk.has(keys[39]))
	s.Put(KeyOf(body(99, 300_000)), "image/png", body(99, 300_000))
	require.False(t, s.memory.has(KeyOf(body(99, 300_000))), "one large blob does not push out the others")

	cfg.DiskBytes = 1 << 20 / 2 // an operator made it smaller
	small := open(t, Config{Dir: dir, DiskBytes: 1 << 20})
	small.disk.limit = cfg.DiskBytes
	small.disk.mu.Lock()
	small.disk.shrink()
	small.disk.mu.Unlock()
	_, used = small.disk.stats()
	require.LessOrEqual(t, used, cfg.DiskBytes)
}

func TestManyAtOnce(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir(), DiskBytes: 1 << 20, MemoryBytes: 100_000})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 200 {
				n := (i*7 + worker) % 60
				key := KeyOf(body(n, 30_000))
				if got, ok := s.Get(key); ok {
					if !bytes.Equal(got.Body, body(n, 30_000)) {
						t.Error("other bytes than were put")
					}
				} else {
					s.Put(key, "image/png", body(n, 30_000))
				}
				s.Point(fmt.Sprint(n), key, time.Unix(int64(i), 0))
			}
		})
	}
	group.Wait()
	cancel()
	require.NoError(t, <-done)
}

func TestConfigProblems(t *testing.T) {
	for _, cfg := range []Config{{}, {Dir: "x", DiskBytes: 5}, {Dir: "x", MemoryBytes: -1}, {Dir: "x", names: -1}} {
		_, err := New(cfg, Deps{})
		require.Error(t, err)
	}
}

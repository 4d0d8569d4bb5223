package libchdb_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/embedded/clickhouse/libchdb"
)

// probeEnv makes the test binary a process of its own that loads the engine: there is one data
// directory a process, and a hang or a crash must not take the other tests along.
const probeEnv = "MINTLAKE_TEST_LIBCHDB_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(probeEnv); dir != "" {
		probe(dir)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// check ends the probe with what went wrong.
func check(ok bool, what ...any) {
	if !ok {
		panic(what)
	}
}

func probe(dir string) {
	path, err := chengine.FindLibrary()
	check(err == nil, err)
	library, err := libchdb.Load(path)
	check(err == nil, err)
	pool, err := library.Open(libchdb.PoolConfig{Dir: dir, Connections: 2, AcquireTimeout: 50 * time.Millisecond, Settings: map[string]string{"max_threads": "1"}})
	check(err == nil, err)
	for range 3 {
		recoverNilDereference()
	}
	println("signals are Go's")

	one, err := pool.Acquire(context.Background())
	check(err == nil, err)
	two, err := pool.Acquire(context.Background())
	check(err == nil, err)
	check(pool.Busy() == 2 && pool.Size() == 2)
	_, err = pool.Acquire(context.Background())
	check(strings.Contains(err.Error(), "Code: 202."), err)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = pool.Acquire(cancelled)
	check(errors.Is(err, context.Canceled), err)
	two.Release()
	println("the pool is bounded")

	check(one.Prepare("", map[string]string{"max_threads": "3", "max_block_size": "99"}) == nil)
	check(value(one, "SELECT getSetting('max_threads'), getSetting('max_block_size')") == "3\t99")
	check(one.Prepare("system", map[string]string{"max_block_size": "x"}) != nil)
	check(one.Prepare("", nil) == nil)
	check(value(one, "SELECT getSetting('max_threads'), getSetting('max_block_size') = 99, currentDatabase()") == "1\t0\tdefault")
	println("settings go back")

	ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	begin := time.Now()
	_, err = one.Query(ctx, []byte("SELECT sum(cityHash64(number)) FROM numbers(1000000000000)"), "TSV", nil)
	stop()
	check(strings.Contains(err.Error(), "Code: 394."), err)
	check(time.Since(begin) < time.Minute)
	check(value(one, "SELECT 1") == "1")
	println("queries are killed")

	n := 0
	err = one.Stream(context.Background(), []byte("SELECT number FROM numbers(1000000)"), "TSV", nil, func(b []byte) error {
		n += len(b)
		return nil
	})
	check(err == nil && n == 6888890, err, n)
	err = one.Stream(context.Background(), []byte("SELECT number FROM numbers(100000000000)"), "TSV", nil, func([]byte) error { return os.ErrClosed })
	check(errors.Is(err, os.ErrClosed), err)
	check(value(one, "SELECT 2") == "2")
	println("streams end")
	one.Release()
	pool.Close()
}

func value(c *libchdb.Conn, query string) string {
	r, err := c.Query(context.Background(), []byte(query), "TSVRaw", map[string]string{"unused": ""})
	check(err == nil, err)
	defer r.Free()
	return strings.TrimSpace(string(r.Bytes()))
}

// recoverNilDereference is what hangs for ever with the engine's signal handlers in place.
func recoverNilDereference() {
	defer func() { check(recover() != nil, "no panic") }()
	var p *[1 << 10]int
	p[5]++
}

func TestEngineInAProcessOfItsOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("needs libchdb: make test runs it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Env = append(os.Environ(), probeEnv+"="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, line := range []string{"signals are Go's", "the pool is bounded", "settings go back", "queries are killed", "streams end"} {
		require.Contains(t, string(out), line)
	}
}

func TestLoadErrors(t *testing.T) {
	_, err := libchdb.Load("/nowhere/libchdb.so")
	require.ErrorIs(t, err, libchdb.ErrLoad)
	_, err = libchdb.Load("libc.so.6")
	require.ErrorIs(t, err, libchdb.ErrLoad)
	require.ErrorContains(t, err, "chdb_connect")
}

func TestErrorf(t *testing.T) {
	err := libchdb.Errorf(60, "UNKNOWN_TABLE", "Unknown table %s", "x")
	require.Equal(t, 60, err.Code)
	require.EqualError(t, err, "Code: 60. DB::Exception: Unknown table x. (UNKNOWN_TABLE)")
}

package validator_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/validator"
	"github.com/mintlake/mintlake/testworld/snapshotfile"
)

// breaking serves a file by ranges, and breaks every connection after some bytes.
type breaking struct {
	name     string
	content  []byte
	after    int
	requests atomic.Int64
}

func (b *breaking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/snapshot.tar.bz2" { // as validators do
		http.Redirect(w, r, "/"+b.name, http.StatusSeeOther)
		return
	}
	b.requests.Add(1)
	http.ServeContent(&limited{ResponseWriter: w, left: b.after}, r, "", time.Unix(1_700_000_000, 0), bytes.NewReader(b.content))
}

type limited struct {
	http.ResponseWriter
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n, err := l.ResponseWriter.Write(p[:min(len(p), l.left)])
	if l.left -= n; l.left == 0 {
		l.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// TestDownloadsAreTakenUp: over a connection that breaks all the time the snapshot is fetched once,
// by ranges, while it is read; its name comes from where the server sends on.
func TestDownloadsAreTakenUp(t *testing.T) {
	w := newWorld(400, 1600)
	want, _ := w.want(t)
	path := write(t, w.full(snapshotfile.Agave4), "zst")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	served := &breaking{name: filepath.Base(path), content: content, after: len(content)/3 + 1}
	server := httptest.NewServer(served)
	defer server.Close()

	out := newLog()
	cfg := validator.Config{Full: server.URL + "/snapshot.tar.bz2", Folder: t.TempDir()}
	summary, err := run(t, cfg, out)
	require.NoError(t, err)
	require.Equal(t, want, out.states)
	require.Equal(t, validator.CheckConsistent, summary.Check)
	require.EqualValues(t, 3, served.requests.Load())
	_, err = os.Stat(filepath.Join(cfg.Folder, "full"))
	require.ErrorIs(t, err, os.ErrNotExist, "what was saved is removed when all is done")
	_, err = run(t, cfg, newLog())
	require.ErrorIs(t, err, validator.ErrComplete)
	require.EqualValues(t, 3, served.requests.Load())
}

// TestAnswersWithoutABody: a server that promises the file and sends nothing of it is given up.
func TestAnswersWithoutABody(t *testing.T) {
	t.Parallel()
	served := &breaking{name: "snapshot-700-11111111111111111111111111111111.tar.zst", content: make([]byte, 1000)}
	server := httptest.NewServer(served)
	defer server.Close()
	_, err := run(t, validator.Config{Full: server.URL + "/" + served.name}, newLog())
	require.ErrorContains(t, err, "ends its answers before the first byte")
	require.EqualValues(t, 8, served.requests.Load())
}

// TestProgressOfOtherArchives: the progress of a run that is done is refused if it does not name as
// many archives as are asked for.
func TestProgressOfOtherArchives(t *testing.T) {
	w := newWorld(40, 160)
	full, incremental := w.pair(snapshotfile.Agave4)
	cfg := validator.Config{Full: write(t, full, "zst"), Folder: t.TempDir()}
	_, err := run(t, cfg, newLog())
	require.NoError(t, err)
	cfg.Incremental = write(t, incremental, "zst")
	_, err = run(t, cfg, newLog())
	require.ErrorContains(t, err, "is of a run with other flags: go on with those, or begin anew with --restart")
}

// TestDamagedProgress: it may name any number of archives.
func TestDamagedProgress(t *testing.T) {
	cfg := validator.Config{Full: write(t, newWorld(40, 160).full(snapshotfile.Agave4), "zst"), Folder: t.TempDir()}
	_, err := run(t, cfg, newLog())
	require.NoError(t, err)
	path := filepath.Join(cfg.Folder, "progress.json")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	var progress map[string]any
	require.NoError(t, json.Unmarshal(raw, &progress))
	archives := progress["archives"].([]any)
	progress["archives"] = []any{archives[0], archives[0], archives[0]}
	raw, err = json.Marshal(progress)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	_, err = run(t, cfg, newLog())
	require.ErrorContains(t, err, "is of a run with other flags: go on with those, or begin anew with --restart")
}

// TestAnotherFileUnderTheSameURL: a validator that made a new snapshot meanwhile sends that one.
func TestAnotherFileUnderTheSameURL(t *testing.T) {
	path := write(t, newWorld(400, 1600).full(snapshotfile.Agave4), "zst")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	served := &breaking{name: filepath.Base(path), content: content, after: len(content)/2 + 1}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if served.requests.Load() > 0 {
			served.content = append(served.content, 0)
		}
		served.ServeHTTP(w, r)
	}))
	defer server.Close()
	out := newLog()
	_, err = run(t, validator.Config{Full: server.URL + "/" + served.name}, out)
	require.ErrorContains(t, err, "the server has another file now")
	require.Zero(t, out.records)
}

// TestPipes: what comes through a pipe is saved, since it is read twice.
func TestPipes(t *testing.T) {
	w := newWorld(100, 400)
	want, _ := w.want(t)
	path := write(t, w.full(snapshotfile.Agave4), "zst")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	pipe := fifo(t)
	go func() { _ = os.WriteFile(pipe, content, 0o600) }()
	out := newLog()
	summary, err := run(t, validator.Config{Full: pipe}, out)
	require.NoError(t, err)
	require.Equal(t, validator.CheckConsistent, summary.Check)
	require.Equal(t, want, out.states)
}

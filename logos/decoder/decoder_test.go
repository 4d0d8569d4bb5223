package decoder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/hostileimages"
	"github.com/mintlake/mintlake/logos/picture"
)

// orphanEnv makes the test binary a parent that is going to be killed.
const orphanEnv = "MINTLAKE_TEST_DECODER_PARENT"

func TestMain(m *testing.M) {
	MaybeRunChild()
	if os.Getenv(orphanEnv) != "" {
		pool, err := New(Config{}, Deps{})
		if err == nil {
			_, err = pool.Inspect(context.Background(), pngOf(16))
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(pool.idle[0].cmd.Process.Pid)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	os.Exit(m.Run())
}

const drawing = `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="9"><script>evil()</script><rect width="8" height="9"/></svg>`

func pngOf(size int) []byte {
	out := image.NewPaletted(image.Rect(0, 0, size, size), color.Palette{color.White, color.Black})
	for i := range out.Pix {
		out.Pix[i] = byte(i/3) & 1
	}
	var body bytes.Buffer
	_ = png.Encode(&body, out)
	return body.Bytes()
}

func newPool(t testing.TB, cfg Config) *Pool {
	t.Helper()
	pool, err := New(cfg, Deps{Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func valueOf(metric prometheus.Metric) int {
	var out dto.Metric
	_ = metric.Write(&out)
	return int(out.GetCounter().GetValue() + out.GetGauge().GetValue())
}

func (p *Pool) endsFor(reason string) int { return valueOf(p.metrics.ends.WithLabelValues(reason)) }

func TestPicturesAreDecodedElsewhere(t *testing.T) {
	// A busy machine, or the race detector, may multiply what a picture takes.
	pool, ctx := newPool(t, Config{CPU: time.Minute}), t.Context()
	for range 3 {
		info, err := pool.Inspect(ctx, pngOf(64))
		require.NoError(t, err)
		require.Equal(t, []any{picture.PNG, 64, 64}, []any{info.Type, info.Width, info.Height})
		require.NotNil(t, info.PerceptualHash)
	}
	require.Len(t, pool.idle, 1, "a warm decoder is used again")
	for _, kind := range []string{picture.WebP, picture.PNG} {
		made, got, err := pool.Make(ctx, pngOf(64), picture.PNG, picture.Variant{Size: 32, Type: kind})
		require.NoError(t, err)
		require.Equal(t, []string{kind, kind}, []string{got, picture.Sniff(made)})
	}
	clean, kind, err := pool.Make(ctx, []byte(drawing), picture.SVG, picture.Variant{})
	require.NoError(t, err)
	require.Equal(t, picture.SVG, kind)
	require.Equal(t, `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="9"><rect width="8" height="9"/></svg>`, string(clean))

	for _, hostile := range hostileimages.All() {
		_, err := pool.Inspect(ctx, hostile.Body)
		require.Equal(t, hostile.Class == "", err == nil, "%s: %v", hostile.Name, err)
		require.NotErrorIs(t, err, ErrUnavailable, hostile.Name)
	}
	require.Zero(t, pool.endsFor(endDied)+pool.endsFor(endCPU))
}

// slow is a picture within all bounds whose decoding takes a while.
func slow() []byte { return hostileimages.JPEGScans(4096, 18) }

func TestAPictureThatTakesTooLongIsEnded(t *testing.T) {
	pool, ctx := newPool(t, Config{CPU: 20 * time.Millisecond, CPUPerMegapixel: 1}), t.Context()
	_, err := pool.Inspect(ctx, slow())
	require.ErrorIs(t, err, picture.ErrBudget)
	require.Equal(t, 1, pool.endsFor(endCPU))
	_, err = pool.Inspect(ctx, slow())
	require.ErrorIs(t, err, picture.ErrBudget)
	require.Equal(t, 1, pool.endsFor(endCPU), "what was too much is not tried again")
	require.Empty(t, pool.idle)
	_, err = pool.Inspect(ctx, []byte(drawing))
	require.NoError(t, err, "the next picture has a new decoder")
}

func TestAPictureThatTakesTooMuchMemoryIsEnded(t *testing.T) {
	pool, ctx := newPool(t, Config{memoryBytes: 48 << 20}), t.Context()
	_, err := pool.Inspect(ctx, slow()) // 64 MiB of coefficients, which grow
	require.ErrorIs(t, err, picture.ErrBudget)
	require.Equal(t, 2, pool.endsFor(endDied), "once more, in case that it was the machine")
	_, err = pool.Inspect(ctx, pngOf(64))
	require.NoError(t, err)
}

func TestABusyMachineSaysNothingOfAPicture(t *testing.T) {
	pool := newPool(t, Config{Wall: time.Millisecond})
	_, err := pool.Inspect(t.Context(), slow())
	require.ErrorIs(t, err, ErrUnavailable)
	require.NotErrorIs(t, err, picture.ErrBudget)
}

func TestADecoderThatIsKilledIsReplaced(t *testing.T) {
	pool, ctx := newPool(t, Config{}), t.Context()
	_, err := pool.Inspect(ctx, pngOf(16))
	require.NoError(t, err)
	require.NoError(t, pool.idle[0].cmd.Process.Kill())
	_, err = pool.Inspect(ctx, pngOf(16))
	require.NoError(t, err)
	require.Equal(t, 1, pool.endsFor(endDied))
}

func TestWaitingForADecoderEnds(t *testing.T) {
	pool := newPool(t, Config{Processes: 1})
	require.NoError(t, pool.running.Acquire(t.Context(), 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := pool.Inspect(ctx, pngOf(16))
	require.ErrorIs(t, err, context.Canceled)
}

func TestIdleDecodersEnd(t *testing.T) {
	pool := newPool(t, Config{idle: time.Millisecond})
	_, err := pool.Inspect(t.Context(), pngOf(16))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return pool.endsFor(endIdle) == 1 }, time.Minute, time.Millisecond)
	require.Zero(t, valueOf(pool.metrics.processes))
	_, err = pool.Inspect(t.Context(), pngOf(16))
	require.NoError(t, err)
	pool.Close()
	require.Eventually(t, func() bool { return valueOf(pool.metrics.processes) == 0 }, time.Minute, time.Millisecond)
}

// A decoder has nothing of its parent's that a picture could be after.
func TestADecoderIsConfined(t *testing.T) {
	t.Setenv("MINTLAKE_TEST_SECRET", "secret")
	pool := newPool(t, Config{})
	_, err := pool.Inspect(t.Context(), pngOf(16))
	require.NoError(t, err)
	of := "/proc/" + strconv.Itoa(pool.idle[0].cmd.Process.Pid)
	environment, err := os.ReadFile(of + "/environ")
	require.NoError(t, err)
	require.NotContains(t, string(environment), "secret")
	require.NotContains(t, string(environment), "PATH=")
	folder, err := os.Readlink(of + "/cwd")
	require.NoError(t, err)
	require.Equal(t, "/", folder)
	files, err := os.ReadDir(of + "/fd")
	require.NoError(t, err)
	for _, file := range files {
		target, err := os.Readlink(of + "/fd/" + file.Name())
		require.NoError(t, err)
		require.Regexp(t, `^(pipe:|/dev/null|anon_inode:|/sys/fs/cgroup/)`, target, "descriptor %s", file.Name())
	}
	limits, err := os.ReadFile(of + "/limits")
	require.NoError(t, err)
	require.Regexp(t, `Max file size +0 `, string(limits))
	require.NotRegexp(t, `Max address space +unlimited`, string(limits))
	require.Regexp(t, `Max cpu time +600 `, string(limits))
	threads, err := filepath.Glob(of + "/task/*/status")
	require.NoError(t, err)
	require.NotEmpty(t, threads)
	for _, thread := range threads {
		status, err := os.ReadFile(thread)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended
		}
		require.NoError(t, err)
		require.Regexp(t, `NoNewPrivs:\s+1`, string(status))
	}
}

func TestADecoderEndsWithItsParent(t *testing.T) {
	parent := exec.Command("/proc/self/exe")
	parent.Env = append(os.Environ(), orphanEnv+"=1")
	_, err := parent.StdinPipe()
	require.NoError(t, err)
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	var child int
	_, err = fmt.Fscan(out, &child)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(child, 0))
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	require.Eventually(t, func() bool {
		state, err := os.ReadFile("/proc/" + strconv.Itoa(child) + "/stat")
		// gone, or waiting for init to notice
		return err != nil || strings.Contains(string(state), ") Z ")
	}, time.Minute, time.Millisecond)
}

func FuzzReceive(f *testing.F) {
	var good bytes.Buffer
	require.NoError(f, send(&good, &reply{Kind: picture.PNG}, []byte("body")))
	f.Add(good.Bytes())
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var given reply
		body, err := receive(bytes.NewReader(data), &given)
		if err == nil {
			require.LessOrEqual(t, len(body), len(data))
		}
	})
}

func BenchmarkInspect(b *testing.B) {
	pool, body := newPool(b, Config{}), pngOf(64)
	for b.Loop() {
		if _, err := pool.Inspect(b.Context(), body); err != nil {
			b.Fatal(err)
		}
	}
}

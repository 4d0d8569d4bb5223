package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/replica/checkpoint"
)

type pair struct {
	A uint64
	B uint32
	C uint32
}

// content is what the tests write.
type content struct {
	texts   [][]byte
	numbers []uint32
	pairs   []pair
	raw     []byte
}

func (c *content) write(ctx context.Context, path string) error {
	_, err := checkpoint.Write(ctx, path, func(w *checkpoint.Writer) (any, error) {
		w.Section("texts")
		w.Number(uint64(len(c.texts)))
		for _, text := range c.texts {
			w.Bytes(text)
		}
		w.Section("lists")
		checkpoint.List(w, c.numbers)
		checkpoint.List(w, c.pairs)
		w.Section("nothing")
		w.Section("raw")
		_, _ = w.Write(c.raw)
		return map[string]int{"texts": len(c.texts)}, w.Err()
	})
	return err
}

func read(path string) (c content, err error) {
	file, err := checkpoint.Open(path)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var told map[string]int
	if err := file.About(&told); err != nil {
		return c, err
	}
	texts, err := file.Section("texts")
	if err != nil {
		return c, err
	}
	for count := texts.Number(); count > 0 && texts.Err() == nil; count-- {
		c.texts = append(c.texts, bytes.Clone(texts.Bytes()))
	}
	lists, err := file.Section("lists")
	if err != nil {
		return c, err
	}
	c.numbers, c.pairs = checkpoint.ListOf[uint32](lists), checkpoint.ListOf[pair](lists)
	nothing, err := file.Section("nothing")
	if err != nil {
		return c, err
	}
	raw, err := file.Section("raw")
	if err != nil {
		return c, err
	}
	c.raw = bytes.Clone(raw.Fixed(int(raw.Left())))
	if told["texts"] != len(c.texts) && texts.Err() == nil {
		return c, errors.New("not what was told")
	}
	return c, errors.Join(texts.End(), lists.End(), nothing.End(), raw.End())
}

func requireEqual(t require.TestingT, want, got *content) {
	require.Len(t, got.texts, len(want.texts))
	for i := range want.texts {
		require.True(t, bytes.Equal(want.texts[i], got.texts[i]))
	}
	require.Equal(t, len(want.numbers), len(got.numbers))
	for i := range want.numbers {
		require.Equal(t, want.numbers[i], got.numbers[i])
	}
	require.Equal(t, append([]pair{}, want.pairs...), append([]pair{}, got.pairs...))
	require.True(t, bytes.Equal(want.raw, got.raw))
}

func draw(t *rapid.T) content {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	c := content{numbers: make([]uint32, rapid.SampledFrom([]int{0, 1, 1000, 300_000}).Draw(t, "numbers"))}
	for i := range c.numbers {
		c.numbers[i] = random.Uint32()
	}
	for range rapid.IntRange(0, 20).Draw(t, "texts") {
		c.texts = append(c.texts, make([]byte, random.IntN(1<<rapid.IntRange(1, 21).Draw(t, "size"))))
	}
	for range rapid.IntRange(0, 5).Draw(t, "pairs") {
		c.pairs = append(c.pairs, pair{random.Uint64(), random.Uint32(), 3})
	}
	c.raw = make([]byte, rapid.SampledFrom([]int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1}).Draw(t, "raw"))
	for i := range c.raw {
		c.raw[i] = byte(random.Uint32())
	}
	return c
}

// TestWhatIsWrittenIsRead, and nothing else: a cut or a flipped bit is found, wherever it is.
func TestWhatIsWrittenIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	rapid.Check(t, func(t *rapid.T) {
		want := draw(t)
		require.NoError(t, want.write(context.Background(), path))
		got, err := read(path)
		require.NoError(t, err)
		requireEqual(t, &want, &got)

		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for range 5 {
			bad := bytes.Clone(whole)
			if rapid.Bool().Draw(t, "cut") {
				bad = bad[:rapid.IntRange(0, len(bad)-1).Draw(t, "length")]
			} else {
				bad[rapid.IntRange(0, len(bad)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			}
			require.NoError(t, os.WriteFile(path, bad, 0o600))
			_, err := read(path)
			require.ErrorIs(t, err, checkpoint.ErrDamaged)
		}
	})
}

// TestBlocksThatChangePlacesAreFound: each is good, but not where it is.
func TestBlocksThatChangePlacesAreFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	c := content{raw: make([]byte, 3<<20)}
	for i := range c.raw {
		c.raw[i] = byte(i >> 20)
	}
	require.NoError(t, c.write(t.Context(), path))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	first := bytes.Index(whole, bytes.Repeat([]byte{0}, 1<<20)) - 4
	const block = 1<<20 + 4
	swapped := append([]byte(nil), whole[:first]...)
	swapped = append(append(append(swapped, whole[first+block:first+2*block]...), whole[first:first+block]...), whole[first+2*block:]...)
	require.Len(t, swapped, len(whole))
	require.NoError(t, os.WriteFile(path, swapped, 0o600))
	_, err = read(path)
	require.ErrorIs(t, err, checkpoint.ErrDamaged)
}

func TestAStoppedWriteLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	old := content{raw: []byte("old")}
	require.NoError(t, old.write(t.Context(), path))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, (&content{raw: make([]byte, 8<<20)}).write(ctx, path), context.Canceled)
	got, err := read(path)
	require.NoError(t, err)
	requireEqual(t, &old, &got)
}

// TestAKillWhileWriting, at any moment, leaves a whole file: the one before, or the new one.
func TestAKillWhileWriting(t *testing.T) {
	if path := os.Getenv("MINTLAKE_TEST_CHECKPOINT"); path != "" {
		for i := byte(0); ; i++ { // until the parent kills this process
			c := content{raw: bytes.Repeat([]byte{i}, 1<<20+1)}
			if err := c.write(context.Background(), path); err != nil {
				panic(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "file")
	for range 20 {
		child := exec.Command(os.Args[0], "-test.run", "^TestAKillWhileWriting$")
		child.Env = append(os.Environ(), "MINTLAKE_TEST_CHECKPOINT="+path)
		require.NoError(t, child.Start())
		time.Sleep(time.Duration(50+rand.IntN(100)) * time.Millisecond)
		require.NoError(t, child.Process.Kill())
		_ = child.Wait() // it was killed
		got, err := read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		require.Len(t, got.raw, 1<<20+1)
		require.Equal(t, bytes.Repeat(got.raw[:1], len(got.raw)), got.raw, "of one file")
	}
	require.FileExists(t, path)
}

// FuzzRead: no bytes make the reader panic or allocate more than they are.
func FuzzRead(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed")
	c := content{texts: [][]byte{[]byte("a"), nil}, numbers: []uint32{1, 2}, pairs: []pair{{1, 2, 3}}, raw: []byte("raw")}
	require.NoError(f, c.write(f.Context(), path))
	seed, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add(seed)
	f.Add(seed[:len(seed)-1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, file []byte) {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, file, 0o600))
		if _, err := read(path); err != nil {
			return
		}
		if !bytes.Equal(file, seed) {
			t.Log("another good file") // whoever makes the checksums right has written it
		}
	})
}

package file

import (
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

type format int

const (
	jsonText format = iota
	confirmedBlock
	recording
)

// input is a file to read, as its name describes it.
type input struct {
	path   string
	size   int64
	format format
	gzip   bool
	// slot is the slot in the name; nil if there is none.
	slot *uint64
}

// refusal is a file that cannot be read, with the reason.
type refusal struct {
	name string
	err  error
}

var (
	errName     = errors.New("name tells no known format: want SLOT.json[.gz], *.json[.gz], SLOT.confirmedblock.pb or *.geyser.zst")
	errTooLarge = errors.New("too large")
)

// dataLike are endings of files that somebody probably wants to be read, so such a file of an
// unknown format is refused with a reason. Other unknown names in a folder, such as README.md, are
// silently ignored. A file that was itself named as a path is always refused with a reason.
var dataLike = []string{".json", ".gz", ".pb", ".zst", ".bin", ".bz2", ".xz", ".zip", ".car", ".jsonl", ".ndjson", ".parquet", ".csv"}

// list returns the files to read among paths and directly in the folders among them, and the files
// that it refuses. Inputs with a slot in the name come first, by slot, then the others by path.
func list(paths []string) (inputs []input, refused []refusal, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, nil, err
		}
		if !info.IsDir() {
			add(&inputs, &refused, path, info, true)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			full := filepath.Join(path, e.Name())
			info, err := os.Stat(full)
			switch {
			case err != nil:
				refused = append(refused, refusal{full, err})
			case !info.IsDir():
				add(&inputs, &refused, full, info, false)
			}
		}
	}
	slices.SortStableFunc(inputs, func(a, b input) int {
		if (a.slot == nil) != (b.slot == nil) {
			if a.slot == nil {
				return 1
			}
			return -1
		}
		if a.slot != nil {
			if c := cmp.Compare(*a.slot, *b.slot); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.path, b.path)
	})
	return inputs, refused, nil
}

// add adds a file to the inputs or the refusals. named means that the file itself was named as a
// path, not only its folder. If only the folder was named, add leaves out hidden files and names
// that do not look like data.
func add(inputs *[]input, refused *[]refusal, path string, info os.FileInfo, named bool) {
	name := filepath.Base(path)
	if strings.HasPrefix(name, ".") && !named {
		return
	}
	in, err := classify(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("not a regular file (%s)", info.Mode().Type())
	}
	in.path, in.size = path, info.Size()
	switch {
	case err == nil:
		*inputs = append(*inputs, in)
	case named || !errors.Is(err, errName) || slices.Contains(dataLike, strings.ToLower(filepath.Ext(name))):
		*refused = append(*refused, refusal{path, err})
	}
}

// classify determines format and slot from a file name. The name of a confirmed block must have the
// slot.
func classify(name string) (input, error) {
	var in input
	if strings.HasSuffix(name, ".geyser.zst") {
		in.format = recording
		return in, nil
	}
	stem, ok := strings.CutSuffix(name, ".confirmedblock.pb")
	if ok {
		in.format = confirmedBlock
		if in.slot = slotOf(stem); in.slot == nil {
			return in, fmt.Errorf("%w (a confirmed block does not hold its slot)", errName)
		}
		return in, nil
	}
	stem, in.gzip = strings.CutSuffix(name, ".gz")
	if stem, ok = strings.CutSuffix(stem, ".json"); !ok {
		return in, errName
	}
	in.slot = slotOf(stem)
	return in, nil
}

func slotOf(stem string) *uint64 {
	slot, err := strconv.ParseUint(stem, 10, 64)
	if err != nil {
		return nil
	}
	return &slot
}

// prefetch returns a function next. Each call of next returns the contents of one input, in order.
// Recordings are left out. While the caller uses the contents of one input, the next input is read
// and decompressed.
func (s *Source) prefetch(inputs []input) func() ([]byte, error) {
	type content struct {
		data []byte
		err  error
	}
	begin := func(in input) <-chan content {
		ready := make(chan content, 1) // buffered: if the run ends early, no goroutine stays behind
		go func() {
			data, err := s.readWhole(in)
			ready <- content{data, err}
		}()
		return ready
	}
	var coming <-chan content
	rest := slices.DeleteFunc(slices.Clone(inputs), func(in input) bool { return in.format == recording })
	advance := func() {
		coming = nil
		if len(rest) > 0 {
			coming, rest = begin(rest[0]), rest[1:]
		}
	}
	advance()
	return func() ([]byte, error) {
		if coming == nil {
			return nil, errors.New("no input is left")
		}
		now := <-coming
		advance()
		return now.data, now.err
	}
}

// readWhole reads a whole file and decompresses it. It refuses a file that has more than
// maxFileBytes before or after decompression.
func (s *Source) readWhole(in input) ([]byte, error) {
	f, err := os.Open(in.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if in.size > s.cfg.maxFileBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", errTooLarge, in.size, s.cfg.maxFileBytes)
	}
	var r io.Reader = f
	// guess is the size of the contents, for the buffer. gzip makes JSON about six times smaller.
	guess := in.size
	if in.gzip {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
		defer func() { _ = z.Close() }()
		r, guess = z, min(in.size*6, s.cfg.maxFileBytes)
	}
	buf := make([]byte, 0, guess+512)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > s.cfg.maxFileBytes:
			return nil, fmt.Errorf("%w: over %d bytes once decompressed", errTooLarge, s.cfg.maxFileBytes)
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, fmt.Errorf("read %d bytes, then: %w", len(buf), err)
		}
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf)/2)
		}
	}
}

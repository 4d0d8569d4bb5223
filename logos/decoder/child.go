package decoder

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/gen2brain/avif"
	"github.com/gen2brain/webp"
	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/logos/picture"
)

// childEnv is the environment variable that makes this program a decoder. Its value is a childSpec
// in JSON. A decoder gets only this variable and GOTRACEBACK.
const childEnv = "MINTLAKE_DECODER_CHILD"

// replyFD is the file descriptor that replies go to. Requests come from standard input; standard
// output and error are /dev/null.
const replyFD = 3

// childSpec is what the parent gives the child at its start.
type childSpec struct {
	Parent int `json:"parent"` // process id
	// MemoryBytes is how much the child may map besides what it has mapped at its start.
	MemoryBytes uint64 `json:"memory_bytes"`
}

// childCPUSeconds is the processor time after which the kernel ends a child. It matters only if the
// parent cannot end the child, for example because the parent is stopped. A running parent ends the
// child long before.
const childCPUSeconds = 600

// mainCalled says that main has called MaybeRunChild. Without that call a child would run the whole
// program once more.
var mainCalled atomic.Bool

// MaybeRunChild must be one of the first calls of main, and of TestMain in tests that decode
// pictures. In a decoder it serves the parent and never returns; elsewhere it only notes that it
// was called.
func MaybeRunChild() {
	mainCalled.Store(true)
	text := os.Getenv(childEnv)
	if text == "" {
		return
	}
	var spec childSpec
	err := json.Unmarshal([]byte(text), &spec)
	if err == nil {
		err = runChild(spec)
	}
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// runChild answers requests until the parent closes the pipe.
func runChild(spec childSpec) error {
	if os.Getppid() != spec.Parent {
		return errors.New("the parent is gone already")
	}
	runtime.GOMAXPROCS(1)
	if err := confine(spec); err != nil {
		return err
	}
	in, out := bufio.NewReader(os.Stdin), os.NewFile(replyFD, "replies")
	for {
		var asked request
		body, err := receive(in, &asked)
		if errors.Is(err, io.EOF) {
			return nil // the parent has closed the pipe or is gone
		}
		if err != nil {
			return err
		}
		if err := answer(out, &asked, body); err != nil {
			return err
		}
		tidy()
	}
}

// confine gives up what decoding does not need. After it this process can map only spec.MemoryBytes
// more, and cannot write files or leave a core dump. Its parent has seen to it that it cannot gain
// privileges: see process.run.
func confine(spec childSpec) error {
	// If the machine runs out of memory, the kernel is to end this process before others. Decoding
	// works without this setting too, so an error is ignored.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("900"), 0o600)
	mapped, err := mappedBytes()
	if err != nil {
		return err
	}
	for resource, most := range map[int]uint64{
		unix.RLIMIT_AS: mapped + spec.MemoryBytes, unix.RLIMIT_CPU: childCPUSeconds, unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: 32,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("set limit %d: %w", resource, err)
		}
	}
	// Collect garbage well before the kernel refuses memory.
	debug.SetMemoryLimit(int64(min(spec.MemoryBytes/2, math.MaxInt64)))
	return nil
}

// mappedBytes returns the size of the address space of this process. Go reserves much more of it
// than it uses.
func mappedBytes() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("read the size of the process: %w", err)
	}
	var pages uint64
	if _, err := fmt.Fscan(strings.NewReader(string(text)), &pages); err != nil {
		return 0, fmt.Errorf("read the size of the process: %w", err)
	}
	return pages * uint64(os.Getpagesize()), nil
}

// answer serves one request. It compiles the codecs that the request needs before it sends the byte
// begun. The parent counts the picture's processor time from that byte on, and compiling must not
// count.
func answer(out io.Writer, asked *request, body []byte) error {
	if picture.Sniff(body) == picture.AVIF {
		avif.InitDecoder()
	}
	if asked.Ask == askMake && asked.Kind != picture.SVG && (asked.Variant.Type == picture.WebP || asked.Variant.Type == "" && asked.Kind == picture.WebP) {
		webp.Init()
	}
	if _, err := out.Write([]byte{begun}); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	var given reply
	var made []byte
	var err error
	switch asked.Ask {
	case askInspect:
		given.Info, err = picture.Inspect(body, asked.Limits)
	case askMake:
		made, given.Kind, err = picture.Make(body, asked.Kind, asked.Variant, asked.Limits)
	default:
		return fmt.Errorf("asked for %q", asked.Ask)
	}
	if err != nil {
		given, made = reply{Failure: failureOf(err), Text: err.Error()}, nil
		given.Text = given.Text[:min(len(given.Text), maxText)]
	}
	return send(out, &given, made)
}

// tidyAbove is the heap size, in bytes, above which a child returns memory to the system after a
// picture: the child may be idle for minutes.
const tidyAbove = 48 << 20

func tidy() {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	if stats.HeapSys-stats.HeapReleased > tidyAbove {
		debug.FreeOSMemory()
	}
}

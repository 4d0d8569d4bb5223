// Package process starts the servers that benchmarks measure.
package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Start starts a command and waits for the line in which it tells its addresses, which it returns
// by name: URLs. What the command logs is seen with BENCH_LOG=1 in the environment. When it ends
// before it has told them, that is an error.
func Start(command *exec.Cmd) (addresses map[string]string, err error) {
	command.Stderr = io.Discard
	if os.Getenv("BENCH_LOG") != "" {
		command.Stderr = os.Stderr
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		rest, told := strings.CutPrefix(lines.Text(), "addresses ")
		if !told {
			continue
		}
		addresses = map[string]string{}
		for _, pair := range strings.Fields(rest) {
			name, url, _ := strings.Cut(pair, "=")
			addresses[name] = url
		}
		go func() { _, _ = io.Copy(io.Discard, out) }()
		return addresses, nil
	}
	_ = command.Wait()
	return nil, fmt.Errorf("%s told no addresses: set BENCH_LOG=1 to see its log", command.Path)
}

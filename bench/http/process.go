package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/gofiber/fiber/v2"
)

// process is a server that prints its address.
type process struct {
	command *exec.Cmd
	url     string
}

func start(binary string, args ...string) (*process, error) {
	command := exec.Command(binary, args...) //nolint:gosec // the operator's own binary
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	p := &process{command: command}
	line, err := bufio.NewReader(out).ReadString('\n')
	if p.url = strings.TrimSpace(line); err != nil || p.url == "" {
		p.stop()
		return nil, errors.New(binary + " did not say where it listens")
	}
	return p, nil
}

func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	_ = p.command.Wait()
}

var memoryLines = regexp.MustCompile(`(?m)^(VmRSS|VmHWM):\s+(\d+) kB`)

// memory returns a note with the resident memory of the process, now and at most.
func (p *process) memory() string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return ""
	}
	megabytes := map[string]int{}
	for _, m := range memoryLines.FindAllStringSubmatch(string(status), -1) {
		n, _ := strconv.Atoi(m[2]) // digits
		megabytes[m[1]] = n / 1024
	}
	return fmt.Sprintf(", %d MB (at most %d)", megabytes["VmRSS"], megabytes["VmHWM"])
}

// serveConstant serves one body of size bytes for every request, with plain fiber: the peer that a
// node is compared with.
func serveConstant(size int) error {
	body := []byte(`"` + strings.Repeat("x", max(size-2, 0)) + `"`)
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return c.Send(body)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Println("http://" + listener.Addr().String())
	return app.Listener(listener)
}
